"""The client's calls through an unreliable proxy: what it retries, waits for, gives up on, and reports."""

import io
import re
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from prshots.client import Client, ShotFile, UploadOutcome, upload_all
from prshots.client.upload import NOT_TRIED
from prshots.contract.errors import (
    CallError,
    ExpireFailedError,
    InvalidInputError,
    NotFoundError,
    PayloadTooLargeError,
    UnauthorizedError,
    UnreachableError,
    UnsupportedTypeError,
)
from prshots.contract.replies import Uploaded
from prshots.forges.sender import TRIES, Sender
from support.forges.forge_fixtures import short_pauses  # noqa: F401 - a fixture of every test here
from support.http_server import answering, as_json
from support.service import SHA, Service, png
from support.unreliable_proxy import CUT, Misbehaviour, UnreliableProxy, refuse

A_TOKEN = "msr_" + "a" * 64
UPLOAD = "POST /v1/upload "
LIMITS_ROUTE = "GET /v1/limits"
HTML_502 = Misbehaviour(502, {"Content-Type": "text/html"}, b"<html><h1>502 Bad Gateway</h1></html>")


@pytest.fixture
def front(shared_service: Service) -> Iterator[UnreliableProxy]:
    with UnreliableProxy(shared_service.base_url) as running:
        yield running


@pytest.fixture
def waits() -> list[str]:
    return []


@pytest.fixture
def client(front: UnreliableProxy, token: str, waits: list[str]) -> Iterator[Client]:
    with Client(front.url, token, on_wait=waits.append) as made:
        yield made


def upload(client: Client, image: Any = None, pr_number: int = 1) -> Uploaded:
    about = {"name": "cart", "commit_sha": SHA, "viewport": "1x1", "content_type": "image/png"}
    return client.upload(image or png(), pr_number=pr_number, **about)


def shots(folder: Path, count: int) -> list[ShotFile]:
    made = []
    for number in range(count):
        path = folder / f"{number}.png"
        path.write_bytes(png())
        made.append(ShotFile(path, f"shot {number}", "1x1", "image/png", 1000))
    return made


def uploaded(
    client: Client, some: list[ShotFile], pr_number: int = 1, concurrency: int = 4
) -> list[UploadOutcome]:
    return upload_all(client, some, pr_number=pr_number, commit_sha=SHA, concurrency=concurrency)


class TestRetries:
    def test_failed_upload_is_sent_again(
        self, front: UnreliableProxy, client: Client, waits: list[str]
    ) -> None:
        for trouble in (CUT, refuse(503), HTML_502, refuse(507)):
            front.will(trouble, when=UPLOAD)
        assert upload(client, pr_number=11)
        host = front.url.removeprefix("http://")
        assert [re.sub(r"in \d+ s", "in N s", words) for words in waits] == [
            f"lost the connection to {host}; retrying in N s, 1 of 5",
            f"{host} answered 503; retrying in N s, 2 of 5",
            f"{host} answered 502; retrying in N s, 3 of 5",
            f"{host} answered 507; retrying in N s, 4 of 5",
        ]
        assert client.comment(11).markdown.count("cart") == 2  # one image: its caption and its alt text

    def test_file_is_sent_again_from_its_start_and_closed(
        self, front: UnreliableProxy, client: Client, tmp_path: Path
    ) -> None:
        path = tmp_path / "cart.png"
        path.write_bytes(png(300_000))
        opened: list[io.BufferedReader] = []

        def open_it() -> io.BufferedReader:
            opened.append(path.open("rb"))
            return opened[-1]

        front.will(CUT, when=UPLOAD, times=2)
        made = upload(client, open_it)
        assert [file.closed for file in opened] == [True]
        assert httpx.get(made.view_url, trust_env=False).content == path.read_bytes()

    @pytest.mark.parametrize(
        ("status", "error"),
        [
            (400, InvalidInputError),
            (413, PayloadTooLargeError),
            (415, UnsupportedTypeError),
            (409, CallError),
        ],
    )
    def test_a_refusal_is_not_retried(
        self, front: UnreliableProxy, client: Client, status: int, error: type[Exception]
    ) -> None:
        front.will(refuse(status, body={"error": f"no, token={A_TOKEN}"}), when=UPLOAD)
        with pytest.raises(error, match=rf"answered {status}: no, token=\[hidden\]"):
            upload(client)
        assert front.count(UPLOAD) == 1

    def test_comment_delete_and_expire_are_retried(self, front: UnreliableProxy, client: Client) -> None:
        image_id = upload(client, pr_number=13).id
        for method in ("GET", "POST /v1/expire", "DELETE"):
            front.will(CUT, when=method)
        assert image_id in client.comment(13).markdown
        client.delete(image_id)
        assert client.expire(13).expired == 0
        with pytest.raises(NotFoundError):
            client.delete(image_id)
        front.will(refuse(503, body={"error": "expire failed, retry later"}), when="DELETE", times=TRIES)
        with pytest.raises(ExpireFailedError):
            client.delete(image_id)
        front.will(
            refuse(503, body={"error": "database unavailable, retry later"}), when="DELETE", times=TRIES
        )
        with pytest.raises(CallError, match="answered 503: database unavailable"):  # no sweep will finish it
            client.delete(image_id)
        with pytest.raises(InvalidInputError, match="32 hexadecimal"):
            client.delete("../expire")


class TestRateLimits:
    def test_all_threads_wait_and_then_continue(
        self, front: UnreliableProxy, client: Client, waits: list[str], tmp_path: Path
    ) -> None:
        front.will(refuse(429, {"Retry-After": "1"}), when=UPLOAD)
        outcomes = uploaded(client, shots(tmp_path, 8), pr_number=14)
        assert [outcome.error for outcome in outcomes] == [""] * 8
        host = front.url.removeprefix("http://")
        assert waits == [f"{host} limits the rate; waiting 1 s"]  # reported once, not by each thread
        assert "### 8 screenshots" in client.comment(14).markdown

    def test_closing_the_client_ends_the_wait(
        self, front: UnreliableProxy, token: str, tmp_path: Path
    ) -> None:
        front.will(refuse(429, {"Retry-After": "600"}), when=UPLOAD)
        told = threading.Event()
        with Client(front.url, token, on_wait=lambda *_: told.set()) as other:
            closer = threading.Thread(target=lambda: (told.wait(), other.close()))
            closer.start()
            outcomes = uploaded(other, shots(tmp_path, 2), concurrency=1)
            closer.join()
        assert [outcome.error for outcome in outcomes] == ["stopped", NOT_TRIED]

    def test_equal_waits_are_reported_once(self) -> None:
        told: list[str] = []
        with httpx.Client() as bare:
            sender = Sender(bare, told.append)
            for reason, seconds in (("a", 60), ("a", 60), ("b", 0), ("b", 0), ("a", 60)):
                sender._tell_wait(reason, seconds)
        assert told == ["a; waiting 60 s", "b; waiting 0 s"]


class Renewing:
    """A token source that moves on to its next token when one is refused."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)
        self.refused: list[str] = []

    def token(self) -> str:
        return self.tokens[0]

    def renew(self, refused: str) -> str | None:
        self.refused.append(refused)
        self.tokens = self.tokens[1:]
        return self.tokens[0] if self.tokens else None


class TestTokens:
    def test_a_refused_token_is_renewed_once(self, front: UnreliableProxy, token: str) -> None:
        source = Renewing(A_TOKEN, token)
        with Client(front.url, source) as client:
            assert upload(client)
            assert upload(client)
        assert source.refused == [A_TOKEN]
        source = Renewing(A_TOKEN, A_TOKEN, token)
        with Client(front.url, source) as client, pytest.raises(UnauthorizedError):
            upload(client)

    def test_a_token_that_stays_refused_is_an_error_that_does_not_show_it(
        self, front: UnreliableProxy
    ) -> None:
        with (
            Client(front.url, A_TOKEN) as client,
            pytest.raises(UnauthorizedError, match="refused the token") as told,
        ):
            upload(client)
        assert A_TOKEN not in f"{told.value!r}{client!r}{vars(client)!r}"
        assert front.count(UPLOAD) == 1


class TestUploadAll:
    def test_outcomes_are_in_the_order_of_the_shots(self, client: Client, tmp_path: Path) -> None:
        seen: list[str] = []
        some = shots(tmp_path, 10)
        outcomes = upload_all(
            client, some, pr_number=15, commit_sha=SHA, on_done=lambda outcome: seen.append(outcome.shot.name)
        )
        assert [outcome.shot for outcome in outcomes] == some
        assert sorted(seen) == sorted(shot.name for shot in some)
        assert len({outcome.uploaded.id for outcome in outcomes if outcome.uploaded}) == 10
        assert upload_all(client, [], pr_number=15, commit_sha=SHA) == []

    def test_a_bad_file_does_not_stop_the_rest(self, client: Client, tmp_path: Path) -> None:
        some = shots(tmp_path, 6)
        some[0].path.unlink()
        some[1].path.write_bytes(b"no image any more")
        outcomes = uploaded(client, some)
        assert outcomes[0].error == "cannot read: No such file or directory"
        assert "answered 415" in outcomes[1].error
        assert [outcome.error for outcome in outcomes[2:]] == [""] * 4

    def test_an_image_too_large_for_the_service_is_not_sent(
        self, front: UnreliableProxy, client: Client, tmp_path: Path
    ) -> None:
        limits = {"max_image_bytes": 1001, "uploads_per_minute": 120, "max_name_characters": 200}
        front.will(refuse(200, body=limits), when=LIMITS_ROUTE)
        some = shots(tmp_path, 3)
        some[1] = replace(some[1], size=1001)
        outcomes = uploaded(client, some)
        uploaded(client, some[:1])
        assert [outcome.error for outcome in outcomes] == [
            "",
            "is 1001 B: the service takes less than 1001 B",
            "",
        ]
        assert [outcome.is_too_large for outcome in outcomes] == [False, True, False]
        assert front.count(UPLOAD) == 2
        assert front.count(LIMITS_ROUTE) == 1  # once per client

    @pytest.mark.parametrize(
        "reply",
        [refuse(404), CUT, refuse(503), HTML_502, refuse(200, body={"max_image_bytes": "5"}), refuse(401)],
        ids=["404", "cut", "503", "502", "invalid body", "401"],
    )
    def test_without_a_known_size_limit_the_service_decides(
        self, front: UnreliableProxy, client: Client, waits: list[str], tmp_path: Path, reply: Misbehaviour
    ) -> None:
        front.will(reply, when=LIMITS_ROUTE)
        front.will(refuse(413, body={"error": "payload too large (max 1MB)"}), when=UPLOAD)
        some = [replace(shot, size=10**9) for shot in shots(tmp_path, 2)]
        refused, good = uploaded(client, some, concurrency=1)
        assert refused.error.endswith("answered 413: payload too large (max 1MB)")
        assert refused.is_too_large
        assert good.error == ""
        assert front.count(LIMITS_ROUTE) == 1
        assert waits == []

    def test_programming_errors_are_raised(self, client: Client, tmp_path: Path) -> None:
        some = shots(tmp_path, 2)
        broken = ShotFile(None, "x", "1x1", "image/png", 1)  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            uploaded(client, [*some, broken])

    @pytest.mark.parametrize("change", [-5_000, 5_000], ids=["shrinks", "grows"])
    def test_a_file_that_changes_during_the_upload_is_an_error(
        self, client: Client, tmp_path: Path, change: int
    ) -> None:
        [shot] = shots(tmp_path, 1)
        shot.path.write_bytes(png(200_000))
        original = Path.open

        class Changing(io.FileIO):
            def read(self, size: int | None = -1, /) -> bytes:
                data = super().read(size)
                if self.tell() == 65_536:
                    with original(shot.path, "r+b") as file:
                        file.truncate(200_000 + change)
                return data

        with pytest.raises(CallError, match="the file changed during the upload"):
            upload(client, lambda: Changing(shot.path))
        assert upload(client)  # the half-used connection is not reused


class TestAddresses:
    @pytest.mark.parametrize(
        ("location", "said"),
        [
            (
                "https://shots.example.com/v1/upload",
                "redirects to https://shots.example.com: set --url (PRSHOTS_URL) to that address",
            ),
            ("/elsewhere/v1/upload", "/elsewhere: set --url (PRSHOTS_URL) to that address"),
            (
                "https://login.example.com/in?state=abc123",
                "redirects to https://login.example.com/in: a sign-in proxy seems to be in front of it. Let",
            ),
        ],
    )
    def test_a_redirect_is_reported_but_not_followed(
        self, front: UnreliableProxy, client: Client, location: str, said: str
    ) -> None:
        front.will(refuse(301, {"Location": location}), when=UPLOAD)
        with pytest.raises(CallError) as told:
            upload(client)
        assert said in str(told.value)
        assert front.seen == [UPLOAD.strip()]

    @pytest.mark.parametrize(
        "reply",
        [
            Misbehaviour(200, {"Content-Type": "text/html"}, b"<html>"),
            Misbehaviour(404, {}, b"404 page not found"),
            Misbehaviour(200, {}, b"[]"),
            Misbehaviour(200, {}, b"[" * 100_000),
            Misbehaviour(200, {}, b"\xff{"),
            refuse(404, body={"message": "no route"}),
            refuse(200, body={"id": "x"}),
            refuse(200, body={"id": 7, "view_url": "x", "markdown": "x"}),
        ],
        ids=[
            "HTML",
            "plain text",
            "JSON list",
            "deeply nested JSON",
            "invalid UTF-8",
            "other JSON",
            "incomplete",
            "wrong type",
        ],
    )
    def test_a_reply_that_is_not_from_prshots_is_an_error(
        self, front: UnreliableProxy, client: Client, reply: Misbehaviour
    ) -> None:
        front.will(reply, when=UPLOAD)
        with pytest.raises(CallError, match=r"address of a prshots service|not a prshots service"):
            upload(client)

    @pytest.mark.parametrize(
        "url", ["", "prshots.example.com", "ftp://x", "http://", "http://a:b@c", "http://a:0x"]
    )
    def test_an_invalid_service_url_is_refused(self, url: str) -> None:
        with pytest.raises(InvalidInputError, match="an address such as"):
            Client(url, A_TOKEN)

    def test_a_service_url_can_have_a_path(self, front: UnreliableProxy) -> None:
        front.will(refuse(400), when="POST /shots/v1/upload")
        with Client(f"{front.url}/shots/", A_TOKEN) as client, pytest.raises(InvalidInputError):
            upload(client)

    def test_the_proxy_from_the_environment_is_used(
        self, front: UnreliableProxy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", front.url)
        front.will(refuse(401), when="POST http://prshots.test/v1/upload")
        with Client("http://prshots.test", A_TOKEN) as client, pytest.raises(UnauthorizedError):
            upload(client)

    def test_an_invalid_proxy_is_refused_without_showing_its_password(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTPS_PROXY", "gopher://me:s3cret@proxy")
        with pytest.raises(InvalidInputError, match="HTTPS_PROXY or ALL_PROXY is invalid") as told:
            Client("https://prshots.test", A_TOKEN)
        assert "s3cret" not in str(told.value)


class TestTls:
    def test_an_unknown_certificate_is_refused_unless_in_ssl_cert_file(
        self, waits: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "own.pem"  # a self-signed certificate with its key
        command = (
            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x "
            f"-addext subjectAltName=IP:127.0.0.1 -keyout {file} -out {file}"
        )
        subprocess.run(command.split(), check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        with answering(lambda _asked, _body: as_json(401, {}), context) as url:
            secured = url.replace("http:", "https:")
            with (
                Client(secured, A_TOKEN, on_wait=waits.append) as client,
                pytest.raises(UnreachableError, match=r"is not trusted: self.signed.*SSL_CERT_FILE"),
            ):
                client.comment(1)
            assert waits == []  # a retry would not help
            monkeypatch.setenv("SSL_CERT_FILE", str(file))
            with Client(secured, A_TOKEN) as client, pytest.raises(UnauthorizedError):
                client.comment(1)
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
        with pytest.raises(InvalidInputError, match=r"cannot read SSL_CERT_FILE .*: No such file"):
            Client(secured, A_TOKEN)

    def test_https_to_a_plain_http_server_is_an_error(self, front: UnreliableProxy) -> None:
        with (
            Client(front.url.replace("http:", "https:"), A_TOKEN) as client,
            pytest.raises(UnreachableError, match="does not speak TLS"),
        ):
            client.comment(1)
