"""The client asks which shots the service has, and uploads only the others."""

import hashlib
import json
import re
import socket
from base64 import b64decode
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from prshots.client import Client, find_shots, upload_all, upload_baselines
from support.forges.forge_fixtures import short_pauses  # noqa: F401 - a fixture of every test here
from support.http_server import Answer, answering, as_json
from support.vectors import cases, vectors

TOKEN = "msr_" + "a" * 64
SHA = "0" * 40
PNG = b64decode(vectors("cut_off_images")["images"]["png"])
UPLOADED = {"id": "0" * 32, "view_url": "https://img.example/i/0.png", "markdown": "![a](b)"}


class Recorder:
    """A service that replies as a case says. It records the questions, and the names and keys of uploads."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.place = {name: case[name] for name in ("pr_number", "branch") if name in case}
        self.questions: list[dict[str, Any]] = []
        self.attempts: list[tuple[str, str]] = []
        self._known_replies = iter(case.get("known_replies", []))
        self._upload_replies = iter(case.get("upload_replies", []))

    def answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> Answer | None:
        route = "/v1/upload" if "pr_number" in self.place else "/v1/baseline"
        if asked.path == f"{route}/known":
            self.questions.append(json.loads(body))
            status, said = next(self._known_replies, (200, {"missing": []}))
            return as_json(status, said) if isinstance(said, dict) else (status, {}, said.encode())
        if asked.path != route:
            return as_json(404, {"error": "not found"})
        name = re.search(rb'name="name"\r\n\r\n(.*)\r\n', body)
        assert name
        self.attempts.append((name[1].decode(), asked.headers["Idempotency-Key"]))
        status = next(self._upload_replies, 200)
        if not status:  # the reply is lost
            asked.connection.shutdown(socket.SHUT_RDWR)
        return as_json(status, UPLOADED) if status else None


@pytest.mark.parametrize("case", cases("known_shots", "uploads"))
def test_only_missing_shots_are_uploaded(case: dict[str, Any], tmp_path: Path) -> None:
    for file in case["files"]:
        (tmp_path / file).write_bytes(PNG)
    shots = find_shots([tmp_path]).shots
    recorder = Recorder(case)
    seen: list[str] = []
    options = recorder.place | {"commit_sha": SHA, "concurrency": 1}
    with answering(recorder.answer) as url, Client(url, TOKEN) as client:
        send = upload_all if "pr_number" in case else upload_baselines
        outcomes = send(client, shots, on_done=lambda outcome: seen.append(outcome.shot.name), **options)
    assert seen == [shot.name for shot in shots]
    for outcome, expected in zip(outcomes, case["outcomes"], strict=True):
        got = "known" if outcome.is_known else "uploaded" if outcome.uploaded else outcome.error
        assert expected in got
    hashed = [
        {
            "name": shot.name,
            "viewport": shot.viewport,
            "theme": shot.theme,
            "sha256": hashlib.sha256(PNG).hexdigest(),
        }
        for shot in shots
    ]
    asked = recorder.place | {"commit_sha": SHA, "shots": hashed}
    assert recorder.questions == [asked] * len(case["known_replies"])
    assert [name for name, _ in recorder.attempts] == case["attempts"]
    keys = {key for _, key in recorder.attempts}
    assert len(set(recorder.attempts)) == len(keys) == len(set(case["attempts"]))  # one key for each file
    assert all(re.fullmatch("[!-~]{1,64}", key) for key in keys)


@pytest.mark.parametrize("case", cases("known_shots", "batches"))
def test_client_asks_about_many_shots_in_batches(case: dict[str, Any]) -> None:
    shots = [
        {"name": str(number), "viewport": "", "theme": "", "sha256": ""} for number in range(case["shots"])
    ]
    recorder = Recorder({"pr_number": 7})
    with answering(recorder.answer) as url, Client(url, TOKEN) as client:
        assert client.missing_images(7, SHA, shots) == []
    assert [len(question["shots"]) for question in recorder.questions] == case["asked"]


def test_shrunk_image_is_asked_about_as_it_would_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prshots.client.upload.MAX_IMAGE_BYTES", len(PNG))
    monkeypatch.setattr("prshots.client.shrink.shrink", lambda *_: (b"small", "image/webp", "WebP"))
    (tmp_path / "cart.png").write_bytes(PNG)
    recorder = Recorder({"pr_number": 7})
    with answering(recorder.answer) as url, Client(url, TOKEN) as client:
        [outcome] = upload_all(client, find_shots([tmp_path]).shots, pr_number=7, commit_sha=SHA, shrink=True)
    assert (outcome.is_known, outcome.note) == (True, f"shrunk from {len(PNG)} B to 5 B as WebP")
    [[shot]] = [question["shots"] for question in recorder.questions]
    assert shot["sha256"] == hashlib.sha256(b"small").hexdigest()
