"""The API routes for delete, comment, limits and expire."""

import itertools
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from support.raw_requests import running_service
from support.service import SHA, Service, png, upload

NOBODYS_ID = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def stranger(shared_service: Service) -> Iterator[httpx.Client]:
    """Return a client of another project."""
    with shared_service.client(shared_service.new_token()) as made:
        yield made


@pytest.fixture(scope="module", params=["manual", "retain_days"])
def patient(shared_service: Service, request: pytest.FixtureRequest) -> Iterator[tuple[str, httpx.Client]]:
    """Return a policy that keeps images when a pull request closes, and a client of a project that has it."""
    with shared_service.client(shared_service.new_token(policy=request.param, retain_days="30")) as made:
        yield request.param, made


_pr_numbers = itertools.count(1000, step=10)


@pytest.fixture
def pr_number() -> int:
    """Return a pull request number that no other test uses."""
    return next(_pr_numbers)


def comment(client: httpx.Client, pr_number: int) -> str:
    reply = client.get("/v1/comment", params={"pr_number": pr_number})
    assert reply.status_code == 200
    return str(reply.json()["markdown"])


def is_delivered(uploaded: dict[str, str]) -> bool:
    status = httpx.get(uploaded["view_url"]).status_code
    assert status in {200, 410}
    return status == 200


# Delete


def test_deleting_removes_the_bytes_and_the_record(client, shared_service, pr_number):
    uploaded = upload(client, pr_number=pr_number).json()
    image_id = uploaded["id"]

    reply = client.delete(f"/v1/images/{image_id}")

    assert (reply.status_code, reply.json()) == (200, {"ok": True, "id": image_id})
    assert not is_delivered(uploaded)
    assert not any(image_id in key for key in shared_service.stored_files())
    assert image_id not in comment(client, pr_number)
    assert client.delete(f"/v1/images/{image_id}").status_code == 404


def test_another_projects_image_gets_the_same_404_as_a_missing_image(client, stranger):
    theirs = upload(stranger).json()
    gone = upload(client).json()["id"]
    client.delete(f"/v1/images/{gone}")

    replies = [client.delete(f"/v1/images/{image}") for image in (theirs["id"], gone, NOBODYS_ID)]

    for reply in replies:
        assert (reply.status_code, reply.content) == (404, b'{"error":"not found"}')
        del reply.headers["date"], reply.headers["x-request-id"]  # differ in every reply
    assert replies[0].headers == replies[1].headers == replies[2].headers
    assert is_delivered(theirs)


def test_deleting_with_a_malformed_id_is_404(client):
    uploaded = upload(client).json()
    malformed = ["0", "g" * 32, NOBODYS_ID + "0", NOBODYS_ID + ".png", "..", "%00", "%2e%2e", "%ff"]
    for image_id in [*malformed, uploaded["id"].upper()]:
        reply = client.delete(f"/v1/images/{image_id}")
        assert (reply.status_code, reply.content) == (404, b'{"error":"not found"}'), image_id
    assert is_delivered(uploaded)


# Comment


def test_the_comment_has_the_marker_the_count_and_every_image_in_upload_order(client, pr_number):
    shots = [
        upload(
            client,
            pr_number=pr_number,
            name=f"page {number}",
            viewport=f"{number}x800",
            commit_sha=f"{number}AbC{SHA[4:]}",
        )
        for number in (3, 1, 2)
    ]
    reply = client.get("/v1/comment", params={"pr_number": pr_number})

    assert reply.status_code == 200
    assert list(reply.json()) == ["pr_number", "markdown"]
    assert reply.json()["pr_number"] == pr_number
    text = reply.json()["markdown"]
    assert text.split("\n")[:2] == [f"<!-- svc:pr-{pr_number} -->", "### 3 screenshots"]
    entries = [text.index(shot.json()["markdown"]) for shot in shots]
    assert entries == sorted(entries)
    for number in (3, 1, 2):
        assert f"`page {number}` \N{MIDDLE DOT} {number}x800 \N{MIDDLE DOT} `{number}AbC{SHA[4:7]}`" in text
    assert comment(client, pr_number) == text


def test_the_comment_has_only_this_projects_images_of_this_pull_request(client, stranger, pr_number):
    others = [upload(stranger, pr_number=pr_number), upload(client, pr_number=pr_number + 1)]
    mine = upload(client, pr_number=pr_number).json()
    text = comment(client, pr_number)
    assert mine["id"] in text
    assert not any(other.json()["id"] in text for other in others)


BAD_QUERIES = [
    *("", "?", "?pr_number", "?pr_number=", "?PR_NUMBER=7", "?pr_number[]=7"),
    *("?pr_number=0", "?pr_number=-1", "?pr_number=1.5", "?pr_number=seven", "?pr_number=+7"),
    *("?pr_number=%207", "?pr_number=7%0a", "?pr_number=%ff", "?pr_number=%00"),
    *("?pr_number=2147483648", "?pr_number=" + "9" * 5000, f"?pr_number={quote(chr(0x667))}"),
    *("?pr_number=7&pr_number=8", "?pr_number=7&pr_number=7", "?pr_number=7&pr_number="),
]


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_a_comment_without_exactly_one_valid_pr_number_is_400(client, query):
    reply = client.get(f"/v1/comment{query}")
    assert (reply.status_code, reply.content) == (400, b'{"error":"pr_number required"}')


# Comment, with a limit and a marker


def sized_comment(client: httpx.Client, pr_number: int, **options: object) -> dict[str, Any]:
    reply = client.get("/v1/comment", params={"pr_number": pr_number, **options})
    assert reply.status_code == 200
    fields = ["pr_number", "markdown", "heading", "count", "shown", "listed", "omitted"]
    assert list(reply.json()) == fields
    return dict(reply.json())


def test_limit_and_marker_add_fields_and_only_the_link_marker_changes_the_markdown(client, pr_number):
    upload(client, pr_number=pr_number)
    upload(client, pr_number=pr_number)
    for options in ({"limit": 65536}, {"marker": "html"}, {"limit": 1024, "marker": "html"}):
        assert sized_comment(client, pr_number, **options) == {
            "pr_number": pr_number,
            "markdown": comment(client, pr_number),
            "heading": "### 2 screenshots",
            "count": 2,
            "shown": 2,
            "listed": 0,
            "omitted": 0,
        }
    without_html = sized_comment(client, pr_number, marker="link")["markdown"]
    assert without_html.startswith(f"[//]: # (svc:pr-{pr_number})\n\n### 2 screenshots\n\n`")
    assert "<" not in without_html


def test_a_limit_omits_the_oldest_images_and_links_to_the_dashboard(client, shared_service, pr_number):
    names = [f"{'日' * 198}{number:02}" for number in range(10)]
    images = [upload(client, pr_number=pr_number, name=name).json() for name in names]
    text = sized_comment(client, pr_number, limit=4000)
    assert len(text["markdown"].encode()) <= 4000
    assert (text["count"], text["shown"] + text["listed"] + text["omitted"]) == (10, 10)
    assert text["shown"] > 0
    assert text["omitted"] > 0
    assert images[-1]["markdown"] in text["markdown"]
    assert images[0]["id"] not in text["markdown"]
    assert f"only in the [dashboard]({shared_service.web_url}/projects/" in text["markdown"]
    assert images[0]["id"] in comment(client, pr_number)


BAD_LIMIT = "limit must be a whole number from 1024 to 65536"
BAD_MARKER = "marker must be html or link"
BAD_LIMITS = ["", "0", "1023", "65537", "-1", "1e4", "2000.0", "%2B2000", "9" * 5000, quote("٢٠٠٠")]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("limit=2000", "pr_number required"),
        ("pr_number=0&limit=1&marker=x", "pr_number required"),
        ("pr_number=7&limit=2000&limit=2000", BAD_LIMIT),
        ("pr_number=7&limit=1&marker=x", BAD_LIMIT),
        *((f"pr_number=7&limit={limit}", BAD_LIMIT) for limit in BAD_LIMITS),
        ("pr_number=7&marker=html&marker=html", BAD_MARKER),
        *((f"pr_number=7&marker={marker}", BAD_MARKER) for marker in ("", "HTML", "none", "link%0a")),
        ("pr_number=7&view=new", "view must be all, latest or changes"),
    ],
)
def test_the_first_bad_parameter_of_a_comment_is_reported(client, query, error):
    reply = client.get(f"/v1/comment?{query}")
    assert (reply.status_code, reply.json()) == (400, {"error": error})


def test_the_comment_reports_deleted_images_only_while_the_pull_request_is_closed(client, pr_number):
    assert sized_comment(client, pr_number, limit=1024)["heading"] == "### 0 screenshots"
    client.delete(f"/v1/images/{upload(client, pr_number=pr_number).json()['id']}")
    assert sized_comment(client, pr_number, limit=1024)["heading"] == "### 0 screenshots"
    upload(client, pr_number=pr_number)
    expire(client, pr_number)
    closed = sized_comment(client, pr_number, limit=1024)
    assert (closed["heading"], closed["count"]) == ("### Screenshots deleted", 0)
    assert "when the pull request closes" in closed["markdown"]
    assert comment(client, pr_number) == f"<!-- svc:pr-{pr_number} -->\n### 0 screenshots\n"
    upload(client, pr_number=pr_number)
    assert sized_comment(client, pr_number, limit=1024)["heading"] == "### 1 screenshot"


# Limits


def test_limits_need_no_token_and_may_be_cached(shared_service):
    for address in (shared_service.base_url, shared_service.web_url):
        reply = httpx.get(f"{address}/v1/limits")
        assert (reply.status_code, reply.headers["cache-control"]) == (200, "public, max-age=60")
        assert reply.json() == {
            "max_image_bytes": 5_242_880,
            "uploads_per_minute": 120,
            "max_name_characters": 200,
        }


@pytest.mark.slow
def test_limits_follow_the_settings(tmp_path):
    with running_service(tmp_path, MAX_IMAGE_BYTES="3000000", UPLOADS_PER_MINUTE="7") as service:
        limits = httpx.get(f"{service.base_url}/v1/limits").json()
        with service.client(service.new_token()) as client:
            assert upload(client, png(limits["max_image_bytes"] - 1)).status_code == 200
            assert upload(client, png(limits["max_image_bytes"])).status_code == 413
    assert (limits["max_image_bytes"], limits["uploads_per_minute"]) == (3_000_000, 7)


# Expire


def expire(client: httpx.Client, pr_number: int) -> dict[str, object]:
    reply = client.post("/v1/expire", json={"pr_number": pr_number})
    assert reply.status_code == 200
    assert list(reply.json()) == ["pr_number", "policy", "marked", "expired"]
    return dict(reply.json())


def test_expire_with_policy_pr_close_deletes_the_pull_requests_images(client, stranger, pr_number):
    closed = [upload(client, pr_number=pr_number).json() for _ in range(3)]
    kept = [upload(client, pr_number=pr_number + 1).json(), upload(stranger, pr_number=pr_number).json()]

    outcome = expire(client, pr_number)

    assert outcome == {"pr_number": pr_number, "policy": "pr_close", "marked": 3, "expired": 3}
    assert not any(map(is_delivered, closed))
    assert all(map(is_delivered, kept))
    assert comment(client, pr_number) == f"<!-- svc:pr-{pr_number} -->\n### 0 screenshots\n"
    assert expire(client, pr_number) == {
        "pr_number": pr_number,
        "policy": "pr_close",
        "marked": 0,
        "expired": 0,
    }


def test_expire_with_another_policy_keeps_the_images_until_they_are_deleted(patient, pr_number):
    policy, client = patient
    marked_none = {"pr_number": pr_number, "policy": policy, "marked": 0, "expired": 0}
    images = [upload(client, pr_number=pr_number).json() for _ in range(2)]
    assert expire(client, pr_number) == marked_none | {"marked": 2}
    assert expire(client, pr_number) == marked_none
    images.append(upload(client, pr_number=pr_number).json())
    assert expire(client, pr_number) == marked_none | {"marked": 1}
    assert all(map(is_delivered, images))
    assert comment(client, pr_number).startswith(f"<!-- svc:pr-{pr_number} -->\n### 3 screenshots\n")
    for image in images:
        assert client.delete(f"/v1/images/{image['id']}").status_code == 200
    assert not any(map(is_delivered, images))
    assert sized_comment(client, pr_number, limit=1024)["heading"] == "### Screenshots deleted"


@pytest.mark.parametrize("number", ["997", "997.0", "9.97e2", "2147483647"])
def test_expire_accepts_any_json_notation_of_a_whole_number(client, number):
    reply = client.post("/v1/expire", content=f'{{"pr_number": {number}, "more": null}}')
    assert (reply.status_code, reply.json()["pr_number"]) == (200, int(float(number)))


BAD_BODIES = [
    *(b"", b"pr_number=7", b'{"pr_number": 7', b"null", b"7", b"[7]", b'{"pr": 7}'),
    *(b'{"pr_number": "7"}', b'{"pr_number": true}', b'{"pr_number": null}', b'{"pr_number": [7]}'),
    *(b'{"pr_number": 7.5}', b'{"pr_number": 0}', b'{"pr_number": -7}', b'{"pr_number": 2147483648}'),
    *(b'{"pr_number": 1e300}', b'{"pr_number": 1e999}', b'{"pr_number": NaN}'),
    *(b'{"pr_number": %b}' % (b"9" * 5000), b"[" * 60_000, b'{"pr_number":' * 4000),
    *(b'{"pr_number": 7, "\xff": 1}', b"\xff\xfe{"),
    b'{"pr_number": 7, "more": "%b"}' % (b"x" * 10 * 1024**2),
]


def test_expire_with_an_invalid_body_is_400_and_deletes_nothing(client):
    uploaded = upload(client, pr_number=7).json()
    for body in BAD_BODIES:
        reply = client.post("/v1/expire", content=body, headers={"Content-Type": "application/json"})
        assert (reply.status_code, reply.content) == (400, b'{"error":"pr_number required"}'), body[:100]
    assert is_delivered(uploaded)
    assert uploaded["id"] in comment(client, 7)
