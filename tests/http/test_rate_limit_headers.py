"""The `RateLimit` and `RateLimit-Policy` fields of replies to uploads, and a project's own limit."""

import re
from collections.abc import Iterator

import httpx
import pytest

from prshots.contract.rate_limits import WINDOW_SECONDS
from support.service import SHA, Service, png, upload

LIMIT = re.compile(r'"(uploads|project)";r=(\d+);t=(\d+)')
URL = {"name": "cart", "viewport": "1x1", "commit_sha": SHA, "content_type": "image/png"}


@pytest.fixture
def limited(shared_service: Service) -> Iterator[httpx.Client]:
    """Return a client of a project that may make three uploads per minute."""
    with shared_service.client(shared_service.new_token(uploads_per_minute=3)) as client:
        yield client


def left(reply: httpx.Response) -> tuple[str, int]:
    """Return the policy and how many uploads are left."""
    found = LIMIT.fullmatch(reply.headers["ratelimit"])
    assert found
    assert 1 <= int(found[3]) <= WINDOW_SECONDS
    return found[1], int(found[2])


def put(url: str) -> httpx.Response:
    return httpx.put(url, content=png(), headers={"Content-Type": "image/png"}, trust_env=False)


def test_a_reply_says_the_limit_of_the_service(shared_service: Service) -> None:
    with shared_service.client(shared_service.new_token()) as client:
        first, second = upload(client), upload(client, path="/v1/baseline", branch="main")
    assert [first.status_code, second.status_code] == [200, 200]
    assert first.headers["ratelimit-policy"] == '"uploads";q=120;w=60'
    assert first.headers["ratelimit"] == '"uploads";r=119;t=60'
    assert left(second) == ("uploads", 118)


def test_the_limit_of_the_project_applies_to_uploads_and_baselines(limited: httpx.Client) -> None:
    routes = ["/v1/upload", "/v1/baseline", "/v1/upload", "/v1/upload", "/v1/baseline"]
    replies = [upload(limited, path=path, branch="main") for path in routes]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 429, 429]
    assert [left(reply) for reply in replies] == [("project", count) for count in (2, 1, 0, 0, 0)]
    assert {reply.headers["ratelimit-policy"] for reply in replies} == {'"project";q=3;w=60'}
    assert replies[-1].headers["retry-after"] == "60"
    assert replies[-1].json() == {"error": "rate limited"}


def test_staged_images_and_one_time_urls_share_the_limit(limited: httpx.Client) -> None:
    staged = upload(limited, path="/v1/staged", branch="fix")
    made = limited.post("/v1/put-urls", json=URL | {"branch": "fix"})
    assert made.headers["ratelimit"] == '"put-urls";r=2;t=60'  # its image is counted when it comes
    sent = put(made.json()["put_url"])
    assert (staged.status_code, sent.status_code) == (200, 200)
    assert [left(staged), left(sent)] == [("project", 2), ("project", 1)]


def test_a_reply_that_was_not_counted_says_nothing(limited: httpx.Client) -> None:
    assert left(upload(limited)) == ("project", 2)
    refused = upload(limited, name="")
    assert refused.status_code == 400
    unrelated = limited.get("/v1/comment", params={"pr_number": "1"})
    for reply in (refused, unrelated):
        assert not {"ratelimit", "ratelimit-policy"} & set(reply.headers)
    assert left(upload(limited)) == ("project", 1)


def test_a_pair_counts_as_one_upload(limited: httpx.Client) -> None:
    assert left(upload(limited, before=png())) == ("project", 2)
    made = limited.post("/v1/put-urls", json=URL | {"pr_number": 7, "with_before": True})
    before, after = (put(made.json()[name]) for name in ("before_put_url", "put_url"))
    assert left(before) == ("project", 1)
    assert after.status_code == 200
    assert "ratelimit" not in after.headers


def test_one_time_urls_are_limited_like_uploads(limited: httpx.Client) -> None:
    made = [limited.post("/v1/put-urls", json=URL | {"branch": "fix"}) for _ in range(4)]
    assert [reply.status_code for reply in made] == [200, 200, 200, 429]
    assert made[-1].json() == {"error": "rate limited"}
    assert made[-1].headers["retry-after"] == "60"
    assert left(upload(limited)) == ("project", 2)


def test_comparisons_and_complete_baselines_have_their_own_limits(limited: httpx.Client) -> None:
    commit = {"branch": "main", "commit_sha": SHA}
    replies = {
        "compare": limited.post("/v1/compare", json=commit | {"pr_number": 7}),
        "poll": limited.get("/v1/compare", params={"pr_number": 7}),
        "complete": limited.post("/v1/baseline/complete", json=commit),
    }
    assert {name: reply.headers["ratelimit-policy"] for name, reply in replies.items()} == {
        "compare": '"compare";q=120;w=60',
        "poll": '"poll";q=6000;w=60',
        "complete": '"complete";q=120;w=60',
    }
    assert left(upload(limited)) == ("project", 2)
