"""The forms of curl, httpx, requests, Node's fetch, undici and a browser parse the same way."""

import base64
import contextlib
import hashlib
import json
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import requests

from support.chromium import chromium
from support.raw_requests import TEXTS
from support.service import Service, png

CLIENTS = Path(__file__).parents[1] / "support" / "node_clients"
NAMES = [
    "checkout/cart",
    "Gr\u00f6\u00dfen\u00fcbersicht",
    "\N{FIRE}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}",
    "she said \"yes\", he said 'no'",
    "two\nlines\n",
    "a; name=b\\c %22 %0A &amp; --",
    "\N{FIRE}" * 199 + "\n",
]
FILENAMES = ["shot.png", "gr\u00fc\u00dfe \N{FIRE}.png", 'a "b"; c\\d.png']


@dataclass(frozen=True)
class Form:
    """What a client sends: its fields, and the file with its path and its file name."""

    image: Path
    filename: str
    fields: dict[str, str]


Sender = Callable[[Service, str, list[Form]], list[httpx.Response]]


def by_curl(service: Service, token: str, forms: list[Form]) -> list[httpx.Response]:
    def send(form: Form) -> httpx.Response:
        quoted = form.filename.replace("\\", "\\\\").replace('"', '\\"')
        image = ("-F", f'image=@{form.image};type=image/png;filename="{quoted}"')
        texts = [part for name, value in form.fields.items() for part in ("--form-string", f"{name}={value}")]
        said = run("curl", "-sS", "-w", "\n%{http_code}", *image, *texts, *bearer(token), upload_url(service))
        text, status = said.rsplit("\n", 1)
        return httpx.Response(int(status), text=text)

    return [send(form) for form in forms]


def by_httpx(service: Service, token: str, forms: list[Form]) -> list[httpx.Response]:
    with service.client(token) as client:
        return [
            client.post(
                "/v1/upload",
                data=form.fields,
                files={"image": (form.filename, form.image.read_bytes(), "image/png")},
            )
            for form in forms
        ]


def by_requests(service: Service, token: str, forms: list[Form]) -> list[httpx.Response]:
    replies = []
    with requests.Session() as session:
        session.trust_env = False
        session.headers["Authorization"] = f"Bearer {token}"
        for form in forms:
            files = {"image": (form.filename, form.image.read_bytes(), "image/png")}
            reply = session.post(upload_url(service), data=form.fields, files=files, timeout=60)
            replies.append(httpx.Response(reply.status_code, text=reply.text))
    return replies


def by_node(client: str) -> Sender:
    def send(service: Service, token: str, forms: list[Form]) -> list[httpx.Response]:
        task = {
            "url": upload_url(service),
            "token": token,
            "image": str(forms[0].image),
            "shots": [{"filename": form.filename, "fields": form.fields} for form in forms],
        }
        said = run("node", CLIENTS / "upload.mjs", client, given=json.dumps(task))
        return [httpx.Response(reply["status"], text=reply["text"]) for reply in json.loads(said)]

    return send


IN_THE_BROWSER = """async ([token, image, filename, fields]) => {
    const body = new FormData();
    const bytes = Uint8Array.from(atob(image), (char) => char.charCodeAt(0));
    body.append("image", new File([bytes], filename, { type: "image/png" }));
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    const headers = { Authorization: `Bearer ${token}` };
    const reply = await fetch("/v1/upload", { method: "POST", headers, body });
    return [reply.status, await reply.text()];
}"""


def by_browser(service: Service, token: str, forms: list[Form]) -> list[httpx.Response]:
    with chromium() as browser:
        # Any page of the same origin works. Its policy forbids scripts to send requests, so bypass it.
        page = browser.new_context(bypass_csp=True).new_page()
        page.goto(f"{service.base_url}/docs")
        replies = []
        for form in forms:
            image = base64.b64encode(form.image.read_bytes()).decode()
            status, text = page.evaluate(IN_THE_BROWSER, [token, image, form.filename, form.fields])
            replies.append(httpx.Response(status, text=text))
        return replies


SENDERS: dict[str, Sender] = {
    "curl": by_curl,
    "httpx": by_httpx,
    "requests": by_requests,
    "fetch": by_node("fetch"),
    "undici": by_node("undici"),
    "browser": by_browser,
}


@pytest.mark.parametrize("sender", SENDERS)
def test_the_form_of_every_client_is_stored_unchanged(shared_service, token, tmp_path, sender):
    image = tmp_path / "image.png"
    image.write_bytes(png(20_000) + b"\r\n--\r\n--boundary--\r\n")
    forms = [Form(image, "shot.png", TEXTS | {"name": name}) for name in NAMES]
    forms += [Form(image, filename, TEXTS) for filename in FILENAMES]

    replies = SENDERS[sender](shared_service, token, forms)

    assert [reply.status_code for reply in replies] == [200] * len(forms), [reply.text for reply in replies]
    assert [stored_fields(shared_service, reply.json()["id"]) for reply in replies] == [
        form.fields for form in forms
    ]
    sent = hashlib.sha256(image.read_bytes()).hexdigest()
    for reply in replies:
        delivered = httpx.get(reply.json()["view_url"])
        assert delivered.headers["content-type"] == "image/png"
        assert hashlib.sha256(delivered.content).hexdigest() == sent


@pytest.mark.parametrize("folder", ["tests/support/node_clients", "tests/support/providers", "web"])
def test_npm_packages_are_pinned_by_hash_without_a_registry_url(folder: str):
    lock = json.loads((CLIENTS.parents[2] / folder / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages.values())


def stored_fields(service: Service, image_id: str) -> dict[str, str]:
    query = "SELECT name, CAST(pr_number AS TEXT), commit_sha, viewport FROM images WHERE id = ?"
    with contextlib.closing(
        sqlite3.connect(f"file:{service.data_dir}/prshots.db?mode=ro", uri=True)
    ) as database:
        return dict(zip(TEXTS, database.execute(query, (image_id,)).fetchone(), strict=True))


def upload_url(service: Service) -> str:
    return f"{service.base_url}/v1/upload"


def bearer(token: str) -> tuple[str, str]:
    return "-H", f"Authorization: Bearer {token}"


def run(*command: str | Path, given: str = "") -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
