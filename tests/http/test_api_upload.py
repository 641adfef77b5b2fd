"""POST /v1/upload: every status, message, field and header, and the order of the checks."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import httpx
import pytest

from support.raw_requests import (
    TEXTS,
    Reply,
    body_of,
    image_part,
    part,
    post_body,
    text_part,
    text_parts,
)
from support.service import JPEG, MAX_BYTES, PNG, SHA, WEBP, Service, png, upload

YEAR = 365 * 86_400


# The reply


@pytest.mark.parametrize(
    ("content_type", "head", "ext"),
    [("image/png", PNG, "png"), ("image/jpeg", JPEG, "jpg"), ("image/webp", WEBP, "webp")],
)
def test_each_format_is_stored_and_delivered(client, shared_service, content_type, head, ext):
    image = head + png(5000)
    before = int(time.time())
    reply = upload(client, image, content_type=content_type)
    after = int(time.time())

    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    uploaded = reply.json()
    assert list(uploaded) == ["id", "view_url", "markdown"]
    assert re.fullmatch("[0-9a-f]{32}", uploaded["id"])
    url = re.escape(f"{shared_service.img_url}/i/{uploaded['id']}.{ext}")
    signed = re.fullmatch(rf"{url}\?exp=(\d+)&token=[A-Za-z0-9_-]+\.[0-9a-f]{{64}}", uploaded["view_url"])
    assert signed
    assert before + YEAR <= int(signed[1]) <= after + YEAR
    assert uploaded["markdown"] == f"![checkout/cart]({uploaded['view_url']})"
    delivered = httpx.get(uploaded["view_url"])
    assert (delivered.status_code, delivered.headers["content-type"]) == (200, content_type)
    assert delivered.content == image


# Each field


VALID: dict[str, list[str]] = {
    "name": ["x", "n" * 200, "\N{FIRE}" * 200, "\n" * 200, " ", "0", "a\tb\\\"'<>|"],
    "pr_number": ["1", "7", "007", "2147483647"],
    "commit_sha": [SHA, SHA.upper(), SHA[:7], "ABCdef1"],
    "viewport": ["1x1", "1280x800", "99999x99999"],
    "theme": ["", "light", "dark"],
}
MESSAGES = {
    "name": "name required",
    "pr_number": "pr_number required",
    "commit_sha": "commit_sha required",
    "viewport": "viewport must be like 1280x800",
    "theme": "theme must be light or dark",
}
INVALID: dict[str, list[str | None]] = {
    "name": [None, "", "n" * 201, "\N{FIRE}" * 201, "a\0b", "n" * 20_000, "x" + "\N{FIRE}" * 5000],
    "pr_number": [
        *(None, "", "0", "-1", "+7", "1.5", "7.0", "1e3", "0x7", "seven"),
        *(" 7", "7 ", "7\n", "\u0667", "\uff17"),
        *("2147483648", "9" * 10, "9" * 11, "9" * 5000, "9" * 20_000),
    ],
    "commit_sha": [None, "", SHA[:6], SHA + "0", "g" * 40, f" {SHA}"[:40], f"{SHA[:39]}\n", "\u0660" * 7],
    "viewport": [
        *(None, "", "1280", "x800", "1280x", "1x1x1", "1280X800", "1280 x 800", "1280x800\n"),
        *("1280\u00d7800", "\u0661x1"),
        *("0x800", "1280x0", "01x1", "100000x1", "1x100000", "-1x1", "1.5x1"),
    ],
    "theme": ["blue", "Dark", "light "],
}


@pytest.mark.parametrize("field", VALID)
def test_a_valid_field_is_accepted(client, field):
    for value in VALID[field]:
        assert upload(client, **{field: value}).status_code == 200, value


@pytest.mark.parametrize("field", INVALID)
def test_an_invalid_field_is_400(client, field):
    for value in INVALID[field]:
        assert_error(upload(client, **{field: value}), 400, MESSAGES[field])


@pytest.mark.parametrize("size", [MAX_BYTES, MAX_BYTES + 1, MAX_BYTES + 900_000, 3 * MAX_BYTES])
def test_an_image_of_5_mb_or_more_is_413(client, shared_service, size):
    before = shared_service.stored_files()
    assert_error(upload(client, png(size)), 413, "payload too large (max 5MB)")
    assert shared_service.stored_files() == before


def test_an_unsupported_content_type_is_415(client):
    for declared in ("image/gif", "image/jpg", "image/svg+xml", "text/plain", "png", ""):
        assert_error(upload(client, content_type=declared), 415, "unsupported content-type (png/jpeg/webp)")


@pytest.mark.parametrize(
    ("declared", "label", "others"),
    [
        ("Image/PNG; a=b", "PNG", [JPEG, WEBP, b"", PNG[:7], b"\0" * 12]),
        ("image/jpeg", "JPEG", [PNG, WEBP, b"", JPEG[:2]]),
        ("image/webp", "WEBP", [PNG, JPEG, b"", WEBP[:11], b"RIFF\0\0\0\0WAVE"]),
    ],
)
def test_content_that_does_not_match_its_declared_type_is_415(client, declared, label, others):
    message = f"declared image/{label.lower()}, but the file content is not a valid {label}"
    for image in others:
        assert_error(upload(client, image, content_type=declared), 415, message)


@pytest.mark.parametrize(
    "image",
    [
        [],
        [text_part("image", png())],
        [part('form-data; name="image"; filename=""', b"", "Content-Type: application/octet-stream")],
        [part('form-data; name="Image"; filename="a.png"', png(), "Content-Type: image/png")],
    ],
    ids=["missing", "a text field", "a file input left empty", "another field's file"],
)
def test_an_upload_without_an_image_file_is_400(shared_service, token, image):
    reply = post_body(shared_service, token, body_of([*image, *text_parts()]))
    assert (reply.status, reply.error) == (400, "image file required")


@pytest.mark.parametrize("name", [*TEXTS, "theme"])
def test_refuses_a_text_field_that_is_not_utf_8(shared_service, token, name):
    body = body_of([image_part(), *text_parts(name), text_part(name, b"\xff\xfe7")])
    reply = post_body(shared_service, token, body)
    assert (reply.status, reply.error) == (400, MESSAGES[name])


# The order of the checks


NOTHING_WRONG: dict[str, Any] = TEXTS | {
    "head": PNG,
    "size": 100,
    "content_type": "image/png",
    "has_image": True,
    "is_complete": True,
}
MISTAKES: dict[str, tuple[dict[str, Any], int, str]] = {
    "token": ({"token": "msr_" + "0" * 64}, 401, "unauthorized"),
    "multipart": ({"is_complete": False}, 400, "invalid multipart/form-data body"),
    "image": ({"has_image": False}, 400, "image file required"),
    "name": ({"name": ""}, 400, "name required"),
    "pr_number": ({"pr_number": "0"}, 400, "pr_number required"),
    "commit_sha": ({"commit_sha": "main"}, 400, "commit_sha required"),
    "viewport": ({"viewport": "wide"}, 400, "viewport must be like 1280x800"),
    "size": ({"size": MAX_BYTES}, 413, "payload too large (max 5MB)"),
    "type": ({"content_type": "image/gif"}, 415, "unsupported content-type (png/jpeg/webp)"),
    "leading bytes": (
        {"head": b"GIF89a"},
        415,
        "declared image/png, but the file content is not a valid PNG",
    ),
    # The upload itself is valid, but its project has used up the rate limit.
    "rate": ({}, 429, "rate limited"),
}


def attempt_with(service: Service, token: str, *mistakes: str) -> Reply:
    given = NOTHING_WRONG | {"token": token}
    for name in mistakes:
        given |= MISTAKES[name][0]
    image = image_part(given["head"].ljust(given["size"], b"\0"), given["content_type"])
    parts = [image] if given["has_image"] else []
    parts += [text_part(name, given[name]) for name in TEXTS]
    return post_body(service, given["token"], body_of(parts) if given["is_complete"] else b"".join(parts))


def test_of_two_mistakes_the_one_checked_first_is_reported(shared_service):
    """The project has used up its rate limit, and the store fails. These are checked last."""
    token = shared_service.new_token(uploads_per_minute=1)
    with shared_service.broken_store():
        failed = attempt_with(shared_service, token)
        assert (failed.status, failed.error) == (503, "storage unavailable, retry later")
        assert int(failed.headers["retry-after"]) > 0
        for earlier, later in pairwise(MISTAKES):
            reply = attempt_with(shared_service, token, earlier, later)
            assert (reply.status, reply.error) == MISTAKES[earlier][1:]
        limited = attempt_with(shared_service, token)
    assert (limited.status, limited.error, limited.headers["retry-after"]) == (429, "rate limited", "60")


# The rate limit


def test_of_140_concurrent_uploads_120_succeed_and_20_are_429(shared_service):
    crowded, quiet = shared_service.new_token(), shared_service.new_token()
    together = threading.Barrier(140)

    def upload_together(_: int) -> Reply:
        together.wait(timeout=90)
        return attempt_with(shared_service, crowded)

    with ThreadPoolExecutor(140) as clients:
        replies = list(clients.map(upload_together, range(140)))

    refused = [reply for reply in replies if reply.status != 200]
    assert len(refused) == 20
    for reply in refused:
        assert (reply.status, reply.error, reply.headers["retry-after"]) == (429, "rate limited", "60")
    assert attempt_with(shared_service, quiet).status == 200


# Idempotency-Key


@pytest.mark.parametrize(
    "target",
    [
        {"path": "/v1/upload"},
        {"path": "/v1/baseline", "branch": "main"},
        {"path": "/v1/staged", "branch": "fix"},
    ],
    ids=lambda target: target["path"],
)
def test_an_upload_with_the_same_key_gets_the_first_reply_and_is_not_stored(shared_service, target):
    with shared_service.client(shared_service.new_token()) as client:
        invalid = upload(client, name="", headers={"Idempotency-Key": "a"}, **target)
        assert_error(invalid, 400, "name required")
        with ThreadPoolExecutor(4) as pool:
            sending = [
                pool.submit(upload, client, png(99 + n), headers={"Idempotency-Key": "a"}, **target)
                for n in range(4)
            ]
            replies = [each.result() for each in sending]
        assert {reply.status_code for reply in replies} == {200}
        assert len({reply.content for reply in replies}) == 1
        again = upload(client, headers={"Idempotency-Key": "a"}, **target)
        assert again.content == replies[0].content
        assert "RateLimit" not in again.headers  # it isn't counted
        other = upload(client, headers={"Idempotency-Key": "~" * 64}, **target)
        assert other.json()["id"] != again.json()["id"]
        with shared_service.client(shared_service.new_token()) as stranger:
            theirs = upload(stranger, headers={"Idempotency-Key": "a"}, **target)
        assert theirs.json()["id"] != again.json()["id"]


@pytest.mark.parametrize("key", ["", "a" * 65, "a b", "é".encode()])
def test_a_bad_key_is_400(client, key):
    reply = upload(client, headers={"Idempotency-Key": key})
    assert_error(reply, 400, "Idempotency-Key must be 1 to 64 visible ASCII characters")


def assert_error(reply: httpx.Response, status: int, message: str) -> None:
    assert (reply.status_code, reply.json()) == (status, {"error": message})
    assert reply.headers["content-type"] == "application/json"
