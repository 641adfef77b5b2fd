"""One-time URLs: an upload with a plain PUT, without a token."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from support.drawn_pages import sha
from support.service import Service, png

IMAGE, BEFORE = png(), png()
PNG = {"Content-Type": "image/png"}
ABOUT = {"name": "cart", "viewport": "320x240", "commit_sha": sha("1"), "content_type": "image/png"}


class Project:
    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def asked(self, **changes: object) -> httpx.Response:
        body = ABOUT | {"pr_number": 7} | changes
        return self.client.post("/v1/put-urls", json={k: v for k, v in body.items() if v is not None})

    def urls(self, **changes: object) -> dict[str, Any]:
        reply = self.asked(**changes)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def count(self, pr_number: int = 7) -> int:
        reply = self.client.get("/v1/comment", params={"pr_number": pr_number, "view": "all"})
        return int(reply.json()["count"])


@pytest.fixture
def project(shared_service: Service) -> Iterator[Project]:
    with shared_service.client(shared_service.new_token()) as client:
        yield Project(client)


def put(url: str, image: bytes = IMAGE, **headers: str) -> httpx.Response:
    return httpx.put(url, content=image, headers=PNG | headers)


def test_put_has_the_reply_of_an_upload(project, shared_service):
    before = int(time.time())
    urls = project.urls(theme="dark")
    assert set(urls) == {"put_url", "expires_at"}
    assert urls["put_url"].startswith(f"{shared_service.base_url}/v1/put/")
    assert before + 600 <= urls["expires_at"] <= int(time.time()) + 600
    reply = put(urls["put_url"]).json()
    assert set(reply) == {"id", "view_url", "markdown"}
    assert httpx.get(reply["view_url"]).content == IMAGE
    assert project.count() == 1


def test_url_stores_one_of_several_concurrent_puts(project):
    url = project.urls()["put_url"]
    with ThreadPoolExecutor(4) as threads:
        replies = list(threads.map(put, [url] * 4))
    assert sorted(reply.status_code for reply in replies) == [200, 404, 404, 404]
    assert put(url).json() == {"error": "not found"}
    assert project.count() == 1


@pytest.mark.parametrize(
    ("image", "kind", "status", "error"),
    [
        (png(5 * 1024 * 1024), "image/png", 413, "payload too large (max 5MB)"),
        (b"x" * (21 * 1024 * 1024), "image/png", 413, "payload too large (max 5MB)"),
        (b"text", "image/png", 415, "declared image/png, but the file content is not a valid PNG"),
        (IMAGE, "image/webp", 415, "Content-Type must be image/png, which the URL is for"),
        (IMAGE, "", 415, "Content-Type must be image/png, which the URL is for"),
    ],
    ids=["too large", "absurdly large", "not an image", "another type", "no type"],
)
def test_refused_put_does_not_use_up_the_url(project, image, kind, status, error):
    url = project.urls()["put_url"]
    reply = httpx.put(url, content=image, headers={"Content-Type": kind})
    assert (reply.status_code, reply.json()) == (status, {"error": error})
    assert put(url).status_code == 200


def test_url_can_stage_an_image(project):
    urls = project.urls(pr_number=None, branch="fix", repository="acme/shop")
    reply = put(urls["put_url"]).json()
    assert set(reply) == {"id", "view_url", "markdown", "expires_at", "dashboard_url"}
    staged = project.client.get("/v1/staged", params={"branch": "fix", "repository": "acme/shop"}).json()
    assert [shot["id"] for shot in staged["staged"]] == [reply["id"]]


def test_a_pair_takes_two_puts(project):
    urls = project.urls(with_before=True)
    early = put(urls["put_url"])
    assert (early.status_code, early.json()) == (409, {"error": "put the before first"})
    assert put(urls["before_put_url"], BEFORE).status_code == 200
    assert put(urls["before_put_url"], BEFORE).status_code == 404
    reply = put(urls["put_url"]).json()
    assert httpx.get(reply["before_url"]).content == BEFORE
    assert httpx.get(reply["view_url"]).content == IMAGE
    assert project.count() == 1
    assert project.client.delete(f"/v1/images/{reply['id']}").status_code == 200
    assert httpx.get(reply["before_url"]).status_code == 410


@pytest.mark.parametrize(
    ("changes", "status", "error"),
    [
        ({"name": "", "pr_number": None}, 400, "name required"),
        ({"pr_number": None, "commit_sha": ""}, 400, "pr_number or branch required, and not both"),
        ({"branch": "fix"}, 400, "pr_number or branch required, and not both"),
        ({"pr_number": 0}, 400, "pr_number required"),
        ({"pr_number": None, "branch": ""}, 400, "branch required"),
        ({"commit_sha": 7, "viewport": ""}, 400, "commit_sha required"),
        ({"viewport": "wide", "theme": "blue"}, 400, "viewport must be like 1280x800"),
        ({"theme": "blue"}, 400, "theme must be light or dark"),
        ({"content_type": "image/gif"}, 415, "unsupported content-type (png/jpeg/webp)"),
        ({"content_type": ["image/png"]}, 415, "unsupported content-type (png/jpeg/webp)"),
        ({"with_before": "yes"}, 400, "with_before must be true or false"),
    ],
)
def test_bad_input_is_refused(project, changes, status, error):
    reply = project.asked(**changes)
    assert (reply.status_code, reply.json()) == (status, {"error": error})
