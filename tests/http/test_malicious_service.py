"""A service that attacks its clients: too much data, and texts for terminals, CI logs and output files."""

import gzip
import json
from typing import Any

import pytest

from prshots.client import Client
from prshots.contract.errors import CallError
from prshots.contract.safe_text import printable, safe_json
from prshots.forges.sender import MAX_REPLY_BYTES
from support.command_in_process import run_here
from support.http_server import Answer, answering, as_json
from support.service import SHA
from support.vectors import cases

A_TOKEN = "msr_" + "a" * 64
COMPARISON = {
    "pr_number": 7,
    "commit_sha": SHA,
    "branch": "main",
    "base_commit": None,
    "state": "compared",
    "counts": {"changed": 1},
    "shots": [],
    "dashboard_url": "https://prshots.example/projects/1/prs/7",
}
SHOT = {"name": "cart", "viewport": "1x1", "theme": "", "verdict": "changed", "pixels": 1}
EVIL = "x\x1b[2J\n::set-output name=a::b\n##vso[task.complete]"


@pytest.mark.parametrize("case", cases("safe_text", "texts"))
def test_no_text_is_a_command_to_a_terminal_or_a_log(case: dict[str, str]) -> None:
    assert printable(case["text"]) == case["printable"]
    line = safe_json(json.dumps(case["text"], ensure_ascii=False))
    assert (json.loads(line), len(line.splitlines())) == (case["text"], 1)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b"{}")), "compressed or larger than 32 MB"),
        ((200, {}, b" " * (MAX_REPLY_BYTES + 1)), "compressed or larger than 32 MB"),
        (as_json(409, {"error": "://a:" * 10**6}), "answered 409: ://a:"),
        ((200, {}, b'{"a":' * 300 + b"1" + b"}" * 300), "is this the address of a prshots service"),
        (as_json(200, COMPARISON | {"counts": {"a\nurls=evil": 1}}), "answered without"),
        (as_json(200, COMPARISON | {"counts": {"changed": float("inf")}}), "answered without"),
        (as_json(200, COMPARISON | {"base_commit": 7}), "answered without base_commit"),
        (as_json(200, COMPARISON | {"pairs": 10**30}), "answered without pairs"),
        (as_json(200, COMPARISON | {"gate": None}), "answered without"),
        (as_json(200, COMPARISON | {"outdated_notes": [{"state": "rejected"}]}), "answered without name"),
        (as_json(200, COMPARISON | {"shots": [SHOT | {"review": None}]}), "answered without"),
        (as_json(200, COMPARISON | {"shots": [SHOT | {"closeups": None}]}), "answered without"),
    ],
    ids=[
        "compressed",
        "large",
        "long",
        "deep",
        "verdict",
        "infinite",
        "type",
        "number",
        "gate",
        "note",
        "review",
        "close-up",
    ],
)
def test_a_reply_that_no_client_can_use_is_an_error(reply: Answer, error: str) -> None:
    with (
        answering(lambda _asked, _body: reply) as url,
        Client(url, A_TOKEN) as client,
        pytest.raises(CallError, match=error),
    ):
        client.comparison(7)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ((200, COMPARISON | {"branch": EVIL, "dashboard_url": f"https://x.example/{EVIL}"}), 0),
        ((400, {"error": EVIL}), 1),
    ],
)
@pytest.mark.parametrize("output_format", ["table", "json", "github-output"])
def test_the_texts_of_a_reply_are_printed_safely(
    reply: tuple[int, dict[str, Any]], code: int, output_format: str
) -> None:
    with answering(lambda _asked, _body: as_json(*reply)) as url:
        env = {"PRSHOTS_URL": url, "PRSHOTS_TOKEN": A_TOKEN, "PATH": ""}
        done = run_here("compare", "--pr", "7", "--commit", SHA, "--format", output_format, env=env)
    assert done.returncode == code, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "##vso" not in done.stdout + done.stderr
    assert not any(line.strip().startswith("::") for line in (done.stdout + done.stderr).splitlines())
    if output_format == "github-output":
        assert done.stdout == ("" if code else "comparison=compared\nchanged=1\n")
    if output_format == "json" and not code:
        assert json.loads(done.stdout)["branch"] == EVIL
