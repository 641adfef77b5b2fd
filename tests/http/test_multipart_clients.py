"""The form of curl, which the docs show. Our own clients, a browser and raw bytes send theirs in other tests."""

import json
import subprocess
from pathlib import Path

import httpx
import pytest

from support.raw_requests import TEXTS
from support.service import Service, png
from support.service_processes import records

ROOT = Path(__file__).parents[2]
COLUMNS = "id, name, CAST(pr_number AS TEXT), commit_sha, viewport"
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


def send(service: Service, token: str, image: Path, filename: str, texts: dict[str, str]) -> httpx.Response:
    quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
    command = [
        *("curl", "-sS", "-w", "\n%{http_code}", "-H", f"Authorization: Bearer {token}"),
        *("-F", f'image=@{image};type=image/png;filename="{quoted}"'),
        *(part for name, value in texts.items() for part in ("--form-string", f"{name}={value}")),
        f"{service.base_url}/v1/upload",
    ]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    text, status = said.rsplit("\n", 1)
    return httpx.Response(int(status), text=text)


def test_the_form_of_curl_is_stored_unchanged(shared_service, token, tmp_path):
    image = tmp_path / "image.png"
    image.write_bytes(png(20_000) + b"\r\n--\r\n--boundary--\r\n")
    forms = [("shot.png", TEXTS | {"name": name}) for name in NAMES]
    forms += [(filename, TEXTS) for filename in FILENAMES]
    for filename, texts in forms:
        reply = send(shared_service, token, image, filename, texts)
        assert reply.status_code == 200, reply.text
        assert records(shared_service, COLUMNS)[-1] == (reply.json()["id"], *texts.values())
        delivered = httpx.get(reply.json()["view_url"])
        assert delivered.headers["content-type"] == "image/png"
        assert delivered.content == image.read_bytes()


@pytest.mark.parametrize("folder", ["tests/support/node_clients", "tests/support/providers", "web"])
def test_npm_packages_are_pinned_by_hash_without_a_registry_url(folder: str):
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
