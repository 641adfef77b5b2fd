"""Delete, comment, expire."""

import asyncio
import itertools
import json
import re
import sqlite3
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import event

from prshots.server.adapters.sql.database import Database, open_sqlite
from prshots.server.adapters.sql.records import SqlRecords
from support.raw_requests import Reply, send
from support.service import SHA, Service, png, upload

NOBODYS_ID = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def stranger(shared_service: Service) -> Iterator[httpx.Client]:
    """Make a client of another project."""
    with shared_service.client(shared_service.new_token()) as made:
        yield made


@pytest.fixture(scope="module", params=[("manual",), ("retain_days", "30")], ids=lambda policy: policy[0])
def patient(shared_service: Service, request: pytest.FixtureRequest) -> Iterator[tuple[str, httpx.Client]]:
    """Make a client of a project whose images stay when a pull request closes; also name its policy."""
    options = dict(zip(("policy", "retain_days"), request.param, strict=False))
    with shared_service.client(shared_service.new_token(**options)) as made:
        yield request.param[0], made


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


def test_deleting_does_not_ask_for_the_policy(patient, pr_number):
    _, client = patient
    uploaded = upload(client, pr_number=pr_number).json()
    assert client.delete(f"/v1/images/{uploaded['id']}").status_code == 200
    assert not is_delivered(uploaded)


def test_not_yours_and_not_there_read_the_same(client, stranger, shared_service):
    theirs = upload(stranger).json()
    gone = upload(client).json()["id"]
    client.delete(f"/v1/images/{gone}")

    replies = [
        without_its_own(delete_raw(client, shared_service, image))
        for image in (theirs["id"], gone, NOBODYS_ID)
    ]

    assert replies[0] == replies[1] == replies[2]
    assert (replies[0].status, replies[0].body) == (404, b'{"error":"not found"}')
    assert is_delivered(theirs)


def delete_raw(client: httpx.Client, service: Service, image_id: str) -> Reply:
    authorization = client.headers["authorization"]
    head = (
        f"DELETE /v1/images/{image_id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {authorization}\r\n\r\n"
    )
    return send(service, head.encode())


def without_its_own(reply: Reply) -> Reply:
    """Leave out the two headers that no two replies share."""
    kept = {name: value for name, value in reply.headers.items() if name not in {"date", "x-request-id"}}
    return Reply(reply.status, kept, reply.body)


def test_not_yours_and_not_there_take_the_same_way_through_the_index(shared_service):
    """One search by both columns finds an image or does not; nothing is read first and judged later."""
    path = shared_service.data_dir / "prshots.db"
    asked = statements_of_looking_up_an_image(path)
    assert len(asked) == 1
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {asked[0]}")]
    database.close()
    assert plan == ["SEARCH images USING INDEX images_by_id (id=? AND project_id=?)"]


def statements_of_looking_up_an_image(path) -> list[str]:
    statements: list[str] = []
    engine = open_sqlite(path)
    event.listen(engine, "connect", lambda connection, _: connection.set_trace_callback(statements.append))

    async def look_up() -> None:
        records = SqlRecords(Database(engine))
        await records.image("any", NOBODYS_ID)
        await records.close()

    asyncio.run(look_up())
    return [statement for statement in statements if not statement.startswith("PRAGMA")]


@pytest.mark.parametrize(
    "image_id", ["0", "g" * 32, NOBODYS_ID + "0", NOBODYS_ID + ".png", "..", "%00", "%2e%2e", "%ff"]
)
def test_what_cannot_be_an_id_is_not_found(client, image_id):
    reply = client.delete(f"/v1/images/{image_id}")
    assert (reply.status_code, reply.content) == (404, b'{"error":"not found"}')


def test_an_id_in_upper_case_is_another_id(client):
    uploaded = upload(client).json()
    assert client.delete(f"/v1/images/{uploaded['id'].upper()}").status_code == 404
    assert is_delivered(uploaded)


# Comment


def test_the_comment_has_the_marker_the_count_and_every_image_in_upload_order(client, pr_number):
    shots = [
        upload(
            client,
            pr_number=pr_number,
            name=f"page {number}",
            viewport=f"{number}x800",
            commit_sha=f"{number}{SHA[1:]}",
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
        assert f"`page {number}` \N{MIDDLE DOT} {number}x800 \N{MIDDLE DOT} `{number}{SHA[1:7]}`" in text
    assert comment(client, pr_number) == text


def test_a_new_upload_adds_to_the_comment_and_changes_nothing_before(client, pr_number):
    upload(client, pr_number=pr_number, name="first")
    before = comment(client, pr_number)
    later = upload(client, pr_number=pr_number, name="second").json()
    after = comment(client, pr_number)
    assert after.startswith(before.replace("### 1 screenshot\n", "### 2 screenshots\n"))
    assert later["markdown"] in after


def test_a_commit_sha_is_shown_as_it_came(client, pr_number):
    upload(client, pr_number=pr_number, commit_sha="ABCDEF0123")
    assert "`ABCDEF0`" in comment(client, pr_number)


def test_the_comment_holds_only_the_project_s_own_images_of_the_pull_request(client, stranger, pr_number):
    others = [upload(stranger, pr_number=pr_number), upload(client, pr_number=pr_number + 1)]
    mine = upload(client, pr_number=pr_number).json()
    text = comment(client, pr_number)
    assert mine["id"] in text
    assert not any(other.json()["id"] in text for other in others)


def test_a_pull_request_without_images_has_a_comment_too(client):
    assert comment(client, 999) == "<!-- svc:pr-999 -->\n### 0 screenshots\n"


BAD_QUERIES = [
    "",
    "?",
    "?pr_number",
    "?pr_number=",
    "?pr_number=0",
    "?pr_number=-1",
    "?pr_number=1.5",
    "?pr_number=seven",
]
BAD_QUERIES += [
    "?pr_number=+7",
    "?pr_number=%207",
    "?pr_number=7%0a",
    "?pr_number=2147483648",
    "?pr_number=" + "9" * 5000,
]
BAD_QUERIES += [
    f"?pr_number={quote(chr(0x667))}",
    "?pr_number=%ff",
    "?pr_number=%00",
    "?PR_NUMBER=7",
    "?pr_number[]=7",
]
BAD_QUERIES += ["?pr_number=7&pr_number=8", "?pr_number=7&pr_number=7", "?pr_number=7&pr_number="]


@pytest.mark.parametrize("query", BAD_QUERIES)
def test_bad_queries_for_a_comment(client, query):
    reply = client.get(f"/v1/comment{query}")
    assert (reply.status_code, reply.content) == (400, b'{"error":"pr_number required"}')


def test_the_largest_pull_request_number(client):
    assert comment(client, 2_147_483_647).startswith("<!-- svc:pr-2147483647 -->\n")


# Expire


def expire(client: httpx.Client, pr_number: int) -> dict[str, object]:
    reply = client.post("/v1/expire", json={"pr_number": pr_number})
    assert reply.status_code == 200
    assert list(reply.json()) == ["pr_number", "policy", "marked", "expired"]
    return dict(reply.json())


def test_pr_close_expires_the_pull_request_s_images_at_once(client, stranger, pr_number):
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


def test_other_policies_only_mark(patient, pr_number):
    policy, client = patient
    marked_none = {"pr_number": pr_number, "policy": policy, "marked": 0, "expired": 0}
    images = [upload(client, pr_number=pr_number).json() for _ in range(2)]
    assert expire(client, pr_number) == marked_none | {"marked": 2}
    assert expire(client, pr_number) == marked_none
    images.append(upload(client, pr_number=pr_number).json())
    assert expire(client, pr_number) == marked_none | {"marked": 1}
    assert all(map(is_delivered, images))
    assert comment(client, pr_number).startswith(f"<!-- svc:pr-{pr_number} -->\n### 3 screenshots\n")


def test_expiring_nothing(client):
    assert expire(client, 998) == {"pr_number": 998, "policy": "pr_close", "marked": 0, "expired": 0}


@pytest.mark.parametrize("number", ["997", "997.0", "9.97e2", "2147483647"])
def test_json_has_one_kind_of_number(client, number):
    reply = client.post("/v1/expire", content=f'{{"pr_number": {number}, "more": null}}')
    assert (reply.status_code, reply.json()["pr_number"]) == (200, int(float(number)))


BAD_BODIES = {
    "empty": b"",
    "not JSON": b"pr_number=7",
    "cut short": b'{"pr_number": 7',
    "null": b"null",
    "number": b"7",
    "array": b"[7]",
    "another member": b'{"pr": 7}',
    "string": b'{"pr_number": "7"}',
    "true": b'{"pr_number": true}',
    "fraction": b'{"pr_number": 7.5}',
    "zero": b'{"pr_number": 0}',
    "negative": b'{"pr_number": -7}',
    "null member": b'{"pr_number": null}',
    "array member": b'{"pr_number": [7]}',
    "above the range": b'{"pr_number": 2147483648}',
    "large float": b'{"pr_number": 1e300}',
    "infinite": b'{"pr_number": 1e999}',
    "not a number": b'{"pr_number": NaN}',
    "5000 digits": b'{"pr_number": %b}' % (b"9" * 5000),
    "deeply nested": b"[" * 60_000,
    "deeply nested objects": b'{"pr_number":' * 4000,
    "invalid UTF-8": b'{"pr_number": 7, "\xff": 1}',
    "half a UTF-16": b"\xff\xfe{",
    "10 MB": b'{"pr_number": 7, "more": "%b"}' % (b"x" * 10 * 1024**2),
}


@pytest.mark.parametrize("body", BAD_BODIES)
def test_bad_bodies_for_expire(client, body):
    reply = client.post("/v1/expire", content=BAD_BODIES[body], headers={"Content-Type": "application/json"})
    assert (reply.status_code, reply.content) == (400, b'{"error":"pr_number required"}')


def test_a_bad_body_expires_nothing(client, pr_number):
    uploaded = upload(client, png(), pr_number=pr_number).json()
    client.post("/v1/expire", content=json.dumps({"pr_number": str(pr_number)}))
    assert is_delivered(uploaded)
    assert re.search(uploaded["id"], comment(client, pr_number))
