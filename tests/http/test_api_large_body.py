"""An oversized body is refused without being stored, and every client can read the error."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from support.processes import completed
from support.raw_requests import MULTIPART, curl, image_head, watched_memory
from support.service import Service, upload

GIGABYTE = 1024**3
LARGE = GIGABYTE // 16
"""Enough to see whether the body is kept in memory. Only slow tests send a whole gigabyte."""

CHUNK = bytes(1024**2)
CLIENTS = Path(__file__).parents[1] / "support" / "node_clients"
TOO_LARGE = (413, '{"error":"payload too large (max 5MB)"}')

Refusal = tuple[int, str]


@pytest.fixture(scope="module")
def token(shared_service: Service) -> str:
    """Return a token that has been used once, so that the memory for a first upload is already allocated."""
    made = shared_service.new_token()
    with shared_service.client(made) as client:
        assert upload(client).status_code == 200
    return made


def file_of(size: int, folder: Path) -> Path:
    """Create a sparse file, which takes no space on the disk."""
    path = folder / f"{size}.png"
    with path.open("wb") as file:
        file.truncate(size)
    return path


def with_curl(*options: str) -> Callable[[str, str, Path], Refusal]:
    def send(url: str, token: str, file: Path) -> Refusal:
        return curl(url, token, *options, "-F", f"image=@{file};type=image/png", "-F", "name=large")

    return send


def form_of(size: int) -> Iterator[bytes]:
    yield image_head()
    for _ in range(size // len(CHUNK)):
        yield CHUNK


def send_with_httpx(url: str, token: str, file: Path) -> Refusal:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": MULTIPART}
    body = form_of(file.stat().st_size)
    reply = httpx.post(url, content=body, headers=headers, timeout=120, trust_env=False)
    return reply.status_code, reply.text


def node(*, length_is_known: bool) -> Callable[[str, str, Path], Refusal]:
    def send(url: str, token: str, file: Path) -> Refusal:
        what = file if length_is_known else str(file.stat().st_size)
        done = completed(["node", CLIENTS / "large.mjs", url, token, what])
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        return said["status"], said["text"]

    return send


SENDERS = {
    "curl": with_curl(),
    "curl that does not ask first": with_curl("-H", "Expect:"),
    "curl, chunked": with_curl("-H", "Transfer-Encoding: chunked"),
    "curl, chunked, that does not ask first": with_curl("-H", "Transfer-Encoding: chunked", "-H", "Expect:"),
    "httpx, chunked": send_with_httpx,
    "Node's fetch, chunked": node(length_is_known=False),
    "Node's fetch": node(length_is_known=True),
}


@pytest.mark.parametrize(
    ("sender", "size"),
    [
        ("curl that does not ask first", LARGE),
        *(
            pytest.param(sender, LARGE, marks=pytest.mark.slow)
            for sender in SENDERS
            if sender != "curl that does not ask first"
        ),
        pytest.param("curl that does not ask first", GIGABYTE, marks=pytest.mark.nightly),
        pytest.param("httpx, chunked", GIGABYTE, marks=pytest.mark.nightly),
    ],
)
def test_an_oversized_upload_is_413_and_is_neither_stored_nor_buffered(
    shared_service, token, tmp_path, sender, size
):
    before = shared_service.stored_files()
    with watched_memory(shared_service) as growth:
        refusal = SENDERS[sender](f"{shared_service.base_url}/v1/upload", token, file_of(size, tmp_path))
    assert refusal == TOO_LARGE
    assert growth() < 40 * 1024**2
    assert shared_service.stored_files() == before


def test_an_oversized_body_to_expire_is_400_and_not_buffered(shared_service, token, tmp_path):
    file = file_of(LARGE, tmp_path)
    with watched_memory(shared_service) as growth:
        status, text = SENDERS["httpx, chunked"](f"{shared_service.base_url}/v1/expire", token, file)
    assert (status, text) == (400, '{"error":"pr_number required"}')
    assert growth() < 40 * 1024**2
