"""The upload form: split at any point, with any error in it, and of any size."""

import asyncio
import json
import socket
import tracemalloc
from collections.abc import AsyncIterator, Iterable, Iterator

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.contract.errors import InvalidInputError, PayloadTooLargeError
from prshots.server.api.upload_form import MAX_FIELD_BYTES, MAX_PARTS, UploadForm, read_upload_form
from support.raw_requests import (
    BOUNDARY,
    MULTIPART,
    TEXTS,
    body_of,
    connect,
    curl,
    image_head,
    image_part,
    part,
    post_body,
    read_reply,
    request_head,
    send,
    text_part,
    text_parts,
)
from support.service import MAX_BYTES, Service, png
from support.service_processes import records
from support.waiting import wait_until

MEGABYTE = 1024**2
END = f"--{BOUNDARY}--\r\n".encode()
DELIMITER = f"\r\n--{BOUNDARY}".encode()


def read(chunks: Iterable[bytes], content_type: str = MULTIPART, max_bytes: int = MAX_BYTES) -> UploadForm:
    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return asyncio.run(read_upload_form(content_type, None, body(), max_bytes))


# A body split at any point gives the same form

# Bytes that a parser might mistake for a boundary, or for the start of one.
PIECES = [
    b"\r",
    b"\n",
    b"\r\n",
    b"-",
    b"--",
    b"\r\n--",
    DELIMITER[:-1],
    END,
    BOUNDARY.encode(),
    b"\0",
    b"\xff",
    b"x",
]
CONTENTS = (
    st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join).filter(lambda body: DELIMITER not in body)
)
NAMES = st.text(max_size=50).filter(lambda text: DELIMITER.decode() not in text)


@st.composite
def forms(draw: st.DrawFn) -> tuple[bytes, bytes, str]:
    """Draw a body, with the image and the name that are in it."""
    image, name = draw(CONTENTS), draw(NAMES)
    unknown = part('form-data; name="thumbnail"; filename="t"', draw(CONTENTS), "Content-Type: image/png")
    parts = [image_part(image), text_part("name", name), *text_parts("name"), unknown]
    preamble = draw(st.sampled_from([b"", b"\r\n", b"This is a form.\r\n", b"-\r\n--\r\n"]))
    epilogue = draw(st.sampled_from([b"", b"\r\n", b"more", END]))
    return preamble + body_of(draw(st.permutations(parts))) + epilogue, image, name


@given(form=forms(), cuts=st.lists(st.integers(0, 1200), max_size=30))
def test_a_body_split_at_any_points_gives_the_same_form(form, cuts):
    body, image, name = form
    places = sorted({min(cut, len(body)) for cut in [0, *cuts, len(body)]})
    parsed = read(body[begin:end] for begin, end in zip(places, [*places[1:], len(body)], strict=True))
    assert parsed.image is not None
    assert (b"".join(parsed.image.chunks), parsed.image.size) == (image, len(image))
    assert parsed.image.content_type == "image/png"
    assert parsed.fields == TEXTS | {"name": name.replace("\r\n", "\n")}
    assert not parsed.oversized


# Any other body is refused, as invalid or as too large

LINES = [
    *(f"--{BOUNDARY}", f"--{BOUNDARY}--", "", 'Content-Disposition: form-data; name="image"; filename="a"'),
    *(f'Content-Disposition: form-data; name="{name}"' for name in [*TEXTS, "", "other"]),
    *("Content-Disposition: form-data", "Content-Disposition:", "Content-Type: image/png"),
    *("Content-Length: 3", "Content-Length: -1", "Content-Transfer-Encoding: base64"),
    *(": x", " folded", "\t", "no colon", "x" * 5000),
]
FRAGMENTS = st.sampled_from([f"{line}\r\n".encode() for line in LINES]) | st.binary(max_size=40)


@given(
    body=st.lists(FRAGMENTS, max_size=25),
    content_type=st.just(MULTIPART) | st.text(st.characters(max_codepoint=255)),
)
def test_arbitrary_bytes_are_parsed_or_refused(body, content_type):
    try:
        parsed = read(body, content_type, max_bytes=1000)
    except (InvalidInputError, PayloadTooLargeError):
        return
    assert set(parsed.fields) <= set(TEXTS)


@given(image=st.integers(0, 3000), name=st.integers(0, 3 * MAX_FIELD_BYTES), cut=st.integers(100, 5000))
def test_the_parser_keeps_no_more_than_a_valid_upload_needs(image, name, cut):
    body = body_of(
        [image_part(b"i" * image), text_part("name", b"n" * name), text_part("unknown", b"u" * 500)]
    )
    chunks = [body[at : at + cut] for at in range(0, len(body), cut)]
    parsed = read(chunks, max_bytes=len(body))
    assert len(parsed.fields["name"]) == min(name, MAX_FIELD_BYTES)
    assert "unknown" not in parsed.fields

    if len(body) <= 4 * 2000:
        small = read(chunks, max_bytes=2000)
        assert small.image is not None
        assert small.image.size == image
        assert sum(map(len, small.image.chunks)) == (image if image < 2000 else 0)


ENDLESS = {
    "image": image_head(),
    "name": text_part("name", b"").removesuffix(b"\r\n"),
    "unknown field": text_part("unknown", b"").removesuffix(b"\r\n"),
    "preamble": b"",
    "epilogue": body_of([image_part(), *text_parts()]),
    "header": f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=".encode(),
}


@pytest.mark.parametrize("where", ENDLESS)
def test_memory_does_not_grow_with_the_body(where):
    """At most the size limit of one image is held, and only while the body may still be a valid image."""
    tracemalloc.start()
    try:
        with pytest.raises((InvalidInputError, PayloadTooLargeError)):
            read(endless(ENDLESS[where]))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < (MAX_BYTES if where == "image" else 0) + MEGABYTE


def endless(head: bytes) -> Iterator[bytes]:
    yield head
    for _ in range(30 * 16):
        yield bytes(MEGABYTE // 16)


# Over the wire


INVALID = (400, "invalid multipart/form-data body")
TOO_LARGE = (413, "payload too large (max 5MB)")
IMAGE = image_part()
ALL = [IMAGE, *text_parts()]
NAMED_X = part('form-data; name="x"', b"")


def numbered_parts(count: int) -> list[bytes]:
    return [text_part(f"x{number}", "") for number in range(count)]


UNREADABLE = {
    "a field twice": body_of([*ALL, text_part("name", "again")]),
    "the image twice": body_of([*ALL, IMAGE]),
    "the image as a file and as text": body_of([*ALL, text_part("image", "x")]),
    "no final boundary": body_of(ALL, end=b""),
    "half a final boundary": body_of(ALL, end=END[:-5]),
    "a final boundary that goes on as another": body_of(ALL, end=END[:-3] + b"x--\r\n"),
    "a part without a name": body_of([*ALL, part("form-data", b"x")]),
    "a part with an empty name": body_of([*ALL, part('form-data; name=""', b"x")]),
    "a part of another kind": body_of([*ALL, part('attachment; name="x"', b"x")]),
    "a part without headers": body_of([*ALL, f"--{BOUNDARY}\r\n\r\nx\r\n".encode()]),
    "10,000 parts": body_of([*ALL, *numbered_parts(10_000)]),
    "a part too many": body_of([*ALL, *numbered_parts(MAX_PARTS - len(ALL) + 1)]),
    "a giant part header": body_of([*ALL, part('form-data; name="x"', b"", "X: " + "x" * 100_000)]),
    "a giant name of a part": body_of([*ALL, part(f'form-data; name="{"x" * 100_000}"', b"")]),
    "100 part headers": body_of([*ALL, part('form-data; name="x"', b"", *["X: x"] * 100)]),
    "a part header that is not text": body_of([*ALL, NAMED_X.replace(b'"x"', b'"\xff"')]),
    "a part header without a colon": body_of([*ALL, part('form-data; name="x"', b"", "nonsense")]),
    "line feeds alone": body_of(ALL).replace(b"\r\n", b"\n"),
    "base64": body_of([*ALL, part('form-data; name="x"', b"eA==", "Content-Transfer-Encoding: base64")]),
    "nothing": b"",
    "no multipart": b"name=x&pr_number=7",
    "another boundary": body_of(ALL).replace(BOUNDARY.encode(), b"other"),
}


@pytest.mark.parametrize("what", UNREADABLE)
def test_an_invalid_form_is_refused(what):
    with pytest.raises(InvalidInputError, match=r"^invalid multipart/form-data body$"):
        read([UNREADABLE[what]])


LARGE = bytes(10 * MEGABYTE)


@pytest.mark.parametrize(
    "body",
    [body_of([*ALL, text_part("unknown", LARGE)]), LARGE + b"\r\n" + body_of(ALL), body_of(ALL) + LARGE],
    ids=["an unknown field", "preamble", "epilogue"],
)
def test_a_form_that_is_too_large_without_its_image_is_413(shared_service, token, body):
    reply = post_body(shared_service, token, body)
    assert (reply.status, reply.error) == TOO_LARGE


BAD_CONTENT_TYPES = [
    *("", "multipart/form-data", "multipart/form-data; boundary=", 'multipart/form-data; boundary=""'),
    *("multipart/form-data; boundary=other", f"multipart/form-data; boundary={'b' * 71}"),
    *(f"multipart/mixed; boundary={BOUNDARY}", f"text/plain; boundary={BOUNDARY}", "application/json"),
    *(f"application/x-www-form-urlencoded; boundary={BOUNDARY}", f"boundary={BOUNDARY}", "\u00ff;\u00ff"),
]


@pytest.mark.parametrize("content_type", BAD_CONTENT_TYPES)
def test_a_wrong_content_type_is_refused(content_type):
    with pytest.raises(InvalidInputError, match=r"^invalid multipart/form-data body$"):
        read([body_of(ALL)], content_type)


@pytest.mark.parametrize("headers", [["Content-Length: 0"], []], ids=["a length of 0", "no length"])
def test_a_request_without_body_and_content_type_is_400(shared_service, token, headers):
    reply = send(shared_service, request_head(token, *headers))
    assert (reply.status, reply.error) == INVALID


ACCEPTED = {
    "no line end after the final boundary": body_of(ALL, end=END.removesuffix(b"\r\n")),
    "a preamble and an epilogue": b"A form:\r\n" + body_of(ALL) + b"\r\nThat was it.",
    "unknown fields": body_of(
        [*ALL, text_part("tag", "a"), text_part("tag", "b"), text_part("raw", b"\xff\0")]
    ),
    "as many parts as allowed": body_of([*ALL, *numbered_parts(MAX_PARTS - len(ALL))]),
    "binary as the transfer encoding": body_of(
        [*text_parts(), IMAGE.replace(b"Content-Type", b"Content-Transfer-Encoding: Binary\r\nContent-Type")]
    ),
    "a filename only in its extended form": body_of(
        [*text_parts(), IMAGE.replace(b'filename="shot.png"', b"filename*=UTF-8''%c3%a4.png")]
    ),
    "an image without a filename": body_of([*text_parts(), IMAGE.replace(b'; filename="shot.png"', b"")]),
    "headers in another case": body_of(ALL).replace(b"Content-", b"CONTENT-"),
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_an_unusual_but_valid_form_is_accepted(what):
    form = read([ACCEPTED[what]])
    assert form.fields == TEXTS
    assert form.image is not None
    assert (form.image.content_type, form.image.size) == ("image/png", 1000)


@pytest.mark.parametrize(
    ("boundary", "content_type"),
    [
        (BOUNDARY, f"Multipart/Form-Data; Boundary={BOUNDARY}"),
        (BOUNDARY, f'multipart/form-data; charset=utf-8; boundary="{BOUNDARY}"'),
        ("b" * 70, f"multipart/form-data; boundary={'b' * 70}"),
    ],
    ids=["another case", "in quotes", "the longest"],
)
def test_an_unusual_but_valid_boundary_is_accepted(boundary, content_type):
    body = body_of(ALL).replace(BOUNDARY.encode(), boundary.encode())
    assert read([body], content_type).fields == TEXTS


def test_a_chunked_body_is_accepted(shared_service, token):
    body = body_of(ALL)
    head = request_head(token, f"Content-Type: {MULTIPART}", "Transfer-Encoding: chunked")
    pieces = [body[at : at + 97] for at in range(0, len(body), 97)]
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""]]
    assert send(shared_service, head, *chunks).status == 200


# Bodies that end early

BROKEN_OFF = {
    "known length": (["Content-Length: 100000"], body_of(ALL)[:500], INVALID),
    "known length, nothing sent": (["Content-Length: 100000"], b"", INVALID),
    "known length, after the form": (["Content-Length: 100000"], body_of(ALL), INVALID),
    "known length, far too large": (["Content-Length: 100000000"], body_of(ALL)[:500], TOO_LARGE),
    "chunked": (["Transfer-Encoding: chunked"], b"1000\r\n" + body_of(ALL)[:500], INVALID),
    "chunked, at a chunk's end": (["Transfer-Encoding: chunked"], b"5\r\n--0f1\r\n", INVALID),
    "chunked, no number": (["Transfer-Encoding: chunked"], b"what\r\n", INVALID),
}


def settled_log(service: Service) -> str:
    """Return the log as soon as it says that the service runs, which may be a moment after it is ready."""
    wait_until(lambda: "is running" in service.log, "the end of the start")
    return service.log


@pytest.mark.parametrize("how", BROKEN_OFF)
def test_an_incomplete_body_is_refused_and_stores_nothing(shared_service, token, how):
    """The client closes only its half of the connection, so it can still read the reply."""
    headers, beginning, refusal = BROKEN_OFF[how]
    stored, log = shared_service.stored_files(), settled_log(shared_service)
    with connect(shared_service) as connection:
        connection.sendall(request_head(token, f"Content-Type: {MULTIPART}", *headers) + beginning)
        connection.shutdown(socket.SHUT_WR)
        reply = read_reply(connection)
    assert (reply.status, reply.error) == refusal
    assert shared_service.stored_files() == stored
    assert shared_service.log == log


@pytest.mark.parametrize("how", ["known length, after the form", "chunked"])
def test_a_client_that_disconnects_stores_and_logs_nothing(shared_service, token, how):
    headers, beginning, _ = BROKEN_OFF[how]
    stored, log = shared_service.stored_files(), settled_log(shared_service)
    with connect(shared_service) as connection:
        connection.sendall(request_head(token, f"Content-Type: {MULTIPART}", *headers) + beginning)
    assert post_body(shared_service, token, body_of(ALL, end=b"")).status == 400
    assert shared_service.stored_files() == stored
    assert shared_service.log == log


def test_an_incomplete_expire_request_is_400(shared_service, token):
    with connect(shared_service) as connection:
        head = request_head(token, "Content-Length: 100", line="POST /v1/expire HTTP/1.1")
        connection.sendall(head + b'{"pr_number": 7}')
        connection.shutdown(socket.SHUT_WR)
        reply = read_reply(connection)
    assert (reply.status, reply.error) == (400, "pr_number required")


# The form of curl, which the docs show. Other tests send those of our clients and of a browser.

COLUMNS = "id, name, CAST(pr_number AS TEXT), commit_sha, viewport"
CURL_NAMES = [
    "checkout/cart",
    "Gr\u00f6\u00dfen\u00fcbersicht",
    "\N{FIRE}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{PERSONAL COMPUTER}",
    "she said \"yes\", he said 'no'",
    "two\nlines\n",
    "a; name=b\\c %22 %0A &amp; --",
    "\N{FIRE}" * 199 + "\n",
]
FILENAMES = ["shot.png", "gr\u00fc\u00dfe \N{FIRE}.png", 'a "b"; c\\d.png']


def test_the_form_of_curl_is_stored_unchanged(shared_service, token, tmp_path):
    image = tmp_path / "image.png"
    image.write_bytes(png(20_000) + b"\r\n--\r\n--boundary--\r\n")
    forms = [("shot.png", TEXTS | {"name": name}) for name in CURL_NAMES]
    forms += [(filename, TEXTS) for filename in FILENAMES]
    for filename, texts in forms:
        quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
        fields = (part for name, value in texts.items() for part in ("--form-string", f"{name}={value}"))
        file = f'image=@{image};type=image/png;filename="{quoted}"'
        status, text = curl(f"{shared_service.base_url}/v1/upload", token, "-F", file, *fields)
        assert status == 200, text
        uploaded = json.loads(text)
        assert records(shared_service, COLUMNS)[-1] == (uploaded["id"], *texts.values())
        delivered = httpx.get(uploaded["view_url"])
        assert delivered.headers["content-type"] == "image/png"
        assert delivered.content == image.read_bytes()
