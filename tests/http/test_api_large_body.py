"""A body far too large is refused without being kept, and every client gets to read why."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from wire import MULTIPART, Memory, image_head

from conftest import Service, upload

GIGABYTE = 1024**3
CHUNK = bytes(1024**2)
CLIENTS = Path(__file__).parents[1] / "clients"
TOO_LARGE = (413, '{"error":"payload too large (max 5MB)"}')
UNAUTHORIZED = (401, '{"error":"unauthorized"}')

Refusal = tuple[int, str]


@pytest.fixture(scope="module")
def token(shared_service: Service) -> str:
    """Return a token that has been used, so that what the first upload allocates is there already."""
    made = shared_service.new_token()
    with shared_service.client(made) as client:
        assert upload(client).status_code == 200
    return made


@pytest.fixture(scope="module")
def gigabyte(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a file of 1 GB that takes no room on the disk."""
    path = tmp_path_factory.mktemp("large") / "shot.png"
    with path.open("wb") as file:
        file.truncate(GIGABYTE)
    return path


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def curl(*options: str) -> Callable[[str, str, Path], Refusal]:
    def send(url: str, token: str, file: Path) -> Refusal:
        form = ("-F", f"image=@{file};type=image/png", "-F", "name=large")
        said = run(
            *("curl", "--silent", "--show-error", "--write-out", "\n%{http_code}", *options, *form),
            *("-H", f"Authorization: Bearer {token}", url),
        )
        text, status = said.rsplit("\n", 1)
        return int(status), text

    return send


def gigabyte_of_form() -> Iterator[bytes]:
    yield image_head()
    for _ in range(GIGABYTE // len(CHUNK)):
        yield CHUNK


def httpx_with(headers: dict[str, str]) -> Callable[[str, str, Path], Refusal]:
    def send(url: str, token: str, _: Path) -> Refusal:
        reply = httpx.post(
            url,
            content=gigabyte_of_form(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": MULTIPART} | headers,
            timeout=120,
            trust_env=False,
        )
        return reply.status_code, reply.text

    return send


def node(*, length_is_known: bool) -> Callable[[str, str, Path], Refusal]:
    def send(url: str, token: str, file: Path) -> Refusal:
        said = json.loads(
            run("node", CLIENTS / "large.mjs", url, token, file if length_is_known else str(GIGABYTE))
        )
        return said["status"], said["text"]

    return send


SENDERS = {
    "curl": curl(),
    "curl that does not ask first": curl("-H", "Expect:"),
    "curl, chunked": curl("-H", "Transfer-Encoding: chunked"),
    "curl, chunked, that does not ask first": curl("-H", "Transfer-Encoding: chunked", "-H", "Expect:"),
    "httpx, chunked": httpx_with({}),
    "httpx": httpx_with({"Content-Length": str(GIGABYTE + len(image_head()))}),
    "Node's fetch, chunked": node(length_is_known=False),
    "Node's fetch": node(length_is_known=True),
}


@pytest.mark.parametrize("sender", SENDERS)
def test_a_gigabyte_is_refused_and_not_kept(shared_service, token, gigabyte, sender):
    before = shared_service.stored_files()
    with Memory.watched(shared_service) as memory:
        refusal = SENDERS[sender](f"{shared_service.base_url}/v1/upload", token, gigabyte)
    assert refusal == TOO_LARGE
    assert memory.growth < 40 * 1024**2
    assert shared_service.stored_files() == before


@pytest.mark.parametrize(
    "sender", ["curl that does not ask first", "httpx, chunked", "Node's fetch, chunked"]
)
def test_a_gigabyte_with_a_wrong_token(shared_service, gigabyte, sender):
    with Memory.watched(shared_service) as memory:
        refusal = SENDERS[sender](f"{shared_service.base_url}/v1/upload", "msr_" + "0" * 64, gigabyte)
    assert refusal == UNAUTHORIZED
    assert memory.growth < 40 * 1024**2


def test_a_gigabyte_where_none_is_expected(shared_service, token):
    with Memory.watched(shared_service) as memory:
        status, text = httpx_with({})(f"{shared_service.base_url}/v1/expire", token, Path())
    assert (status, text) == (400, '{"error":"pr_number required"}')
    assert memory.growth < 40 * 1024**2
