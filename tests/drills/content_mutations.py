"""Mutations of a request's content. The request stays well framed, so it must always get a reply."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from drills import hostile_values as hostile
from drills.drafts import Draft, Part, multipart
from support.raw_requests import BOUNDARY

Mutation = Callable[[Draft, random.Random], Draft]
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
SAFE_PATH = "/%:@!$&'()*+,;=-._~"
HEADER_BYTES = bytes({*range(0x20, 0x7F), *range(0x80, 0x100), 0x09})


def mutated(draft: Draft, rng: random.Random) -> Draft:
    """Return the draft with one to three mutations."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        options = _mutations_of(draft)
        draft = rng.choice(options)(draft, rng)
    return draft


def _mutations_of(draft: Draft) -> list[Mutation]:
    found: list[Mutation] = [_method, _path, _query, _header, _credentials]
    if draft.json is not None:
        found += [_json_field, _json_field, _json_field, _json_text, _json_bytes]
    if draft.parts is not None:
        found += [_part_value, _part_value, _part_value, _part_head, _part_list, _boundary, _multipart_bytes]
    if draft.port == "delivery":
        found += [_condition, _condition]
    return found


def _method(draft: Draft, rng: random.Random) -> Draft:
    return replace(draft, method=rng.choice(METHODS))


def _escaped(text: str, rng: random.Random) -> str:
    """Return the text as it can appear in a target: percent-encoded, here and there too much or wrongly."""
    encoded = quote(
        text.encode("utf-8", "surrogatepass")[:3000], safe=SAFE_PATH if rng.random() < 0.3 else ""
    )
    if rng.random() < 0.1:
        encoded += rng.choice(("%", "%2", "%GG", "%ff%fe", "%c0%af", "%ed%a0%80"))
    return encoded


def _path(draft: Draft, rng: random.Random) -> Draft:
    pieces = f"/{draft.path.lstrip('/')}".split("/")
    at = rng.randrange(1, len(pieces))
    kind = rng.randrange(5)
    if kind == 0:
        pieces[at] = _escaped(hostile.text(rng), rng)
    elif kind == 1:
        pieces.insert(at, rng.choice(("", ".", "..", "%2e%2e", "%2f", "x")))
    elif kind == 2:
        del pieces[at]
    elif kind == 3:
        pieces[at] = "".join(f"%{ord(char):02x}" if ord(char) < 256 else char for char in pieces[at])
    else:
        pieces[at] = pieces[at].swapcase()
    return replace(draft, path="/".join(pieces) or "/")


def _query(draft: Draft, rng: random.Random) -> Draft:
    pairs = list(draft.query)
    kind = rng.randrange(4) if pairs else 3
    at = rng.randrange(len(pairs)) if pairs else 0
    if kind == 0:
        pairs[at] = (pairs[at][0], _escaped(hostile.text(rng), rng))
    elif kind == 1:
        pairs.append(pairs[at])
    elif kind == 2:
        del pairs[at]
    else:
        names = ("pr_number", "after", "limit", "marker", "q", "days", "return_to", "x", "")
        pairs.append((rng.choice(names), _escaped(hostile.text(rng), rng)))
    return replace(draft, query=tuple(pairs))


def _header_value(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        raw = hostile.text(rng).encode("utf-8", "surrogatepass")
    else:
        raw = bytes(rng.choice(HEADER_BYTES) for _ in range(rng.randrange(60)))
    return bytes(byte for byte in raw[:7000] if byte in HEADER_BYTES).strip(b" \t")


def _header(draft: Draft, rng: random.Random) -> Draft:
    names = (
        b"Content-Type", b"Accept", b"Accept-Encoding", b"If-None-Match", b"If-Modified-Since", b"Origin", b"Referer",
        b"X-Request-Id", b"X-Forwarded-For", b"X-Forwarded-Proto", b"Forwarded", b"User-Agent", b"Sec-Fetch-Site",
        b"X-" + b"a" * rng.randrange(1, 200), b"Via", b"Cookie2", b"Range", b"TE", b"Prefer",
    )  # fmt: skip
    if rng.random() < 0.15:
        many = tuple((f"X-{number}".encode(), b"1") for number in range(rng.randrange(90)))
        return replace(draft, headers=(*draft.headers, *many))
    name, value = rng.choice(names), _header_value(rng)
    if rng.random() < 0.3:
        return replace(draft, headers=(*draft.headers, (name, value)))
    return draft.with_header(name, value)


def _credentials(draft: Draft, rng: random.Random) -> Draft:
    """Change the token, the cookie or the origin, or leave one out."""
    names = [name for name, _ in draft.headers if name in (b"Authorization", b"Cookie", b"Origin")]
    if not names:
        return draft.with_header(b"Authorization", b"Bearer " + _header_value(rng))
    name = rng.choice(names)
    value = next(value for each, value in draft.headers if each == name)
    kind = rng.randrange(6)
    if kind == 0:
        return replace(draft, headers=tuple(header for header in draft.headers if header[0] != name))
    if kind == 1:
        return replace(draft, headers=(*draft.headers, (name, value)))
    if kind == 2:
        return draft.with_header(name, value + _header_value(rng))
    if kind == 3:
        return draft.with_header(name, value.swapcase())
    if kind == 4:
        return draft.with_header(name, value[: rng.randrange(len(value) + 1)].strip())
    return draft.with_header(name, _header_value(rng))


def _condition(draft: Draft, rng: random.Random) -> Draft:
    name = rng.choice((b"Range", b"If-Range", b"If-None-Match", b"If-Match", b"If-Modified-Since"))
    values = (
        b"bytes=", b"bytes=-", b"bytes=0-", b"bytes=-0", b"bytes=-1", b"bytes=5-2", b"bytes=0-0,2-3", b"bytes=99999-",
        b"bytes=0-" + b"9" * 40, b"bytes=" + b"9" * 40 + b"-", b"bytes=-" + b"9" * 29, b"Bytes=0-1", b"bytes = 0-1",
        b"bytes=0-1 ", b"lines=0-1", b"bytes=\xb2-\xb3", b"*", b'"', b'W/"x"', b'"a", "b"', b",,,", b"bytes=" + b"0-1," * 1500,
    )  # fmt: skip
    value = rng.choice(values) if rng.random() < 0.8 else _header_value(rng)
    return replace(draft, headers=(*draft.headers, (name, value.strip())))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) in a JSON value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [pair for key in keys for pair in [(value, key), *_places(value[key])]]


def _json_field(draft: Draft, rng: random.Random) -> Draft:
    """Replace, remove or add a field somewhere in the JSON."""
    if not isinstance(draft.json, dict):
        return draft
    changed = json.loads(json.dumps(draft.json))
    places = _places(changed)
    kind = rng.random()
    if not places or kind < 0.1:
        names = ("name", "pr_number", "ids", "claims", "role", "login", hostile.text(rng))
        changed[rng.choice(names)] = hostile.value(rng)
    else:
        container, key = rng.choice(places)
        if kind < 0.2 and isinstance(container, dict):
            del container[key]
        elif kind < 0.3 and isinstance(container, dict):
            container[hostile.text(rng)] = container.pop(key)
        else:
            container[key] = hostile.value(rng)
    return replace(draft, json=changed, raw_body=None)


def _json_text(draft: Draft, rng: random.Random) -> Draft:
    return replace(draft, raw_body=rng.choice(hostile.RAW_JSON))


def _json_bytes(draft: Draft, rng: random.Random) -> Draft:
    return replace(draft, raw_body=some_bytes_changed(draft.body or b"", rng))


def some_bytes_changed(raw: bytes, rng: random.Random) -> bytes:
    """Return the bytes with a few of them flipped, removed, repeated, or cut off."""
    changed = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            changed[at:at] = bytes([rng.randrange(256)])
        elif kind == 1:
            del changed[at : at + rng.choice((1, 1, 4, 30))]
        elif kind == 2:
            changed[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 3:
            changed[at:at] = changed[at : at + rng.choice((1, 10, 100))]
        elif rng.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def _with_a_part(draft: Draft, rng: random.Random, change: Callable[[Part], Part]) -> Draft:
    parts = list(draft.parts or ())
    if parts:
        at = rng.randrange(len(parts))
        parts[at] = change(parts[at])
    return replace(draft, parts=tuple(parts), raw_body=None)


def _part_value(draft: Draft, rng: random.Random) -> Draft:
    body = hostile.text(rng).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        body = rng.randbytes(rng.randrange(50))
    return _with_a_part(draft, rng, lambda part: replace(part, body=body))


def _part_head(draft: Draft, rng: random.Random) -> Draft:
    dispositions = (
        "form-data", 'form-data; name=""', "form-data; name=name", "form-data; name*=utf-8''name", 'attachment; name="name"',
        'form-data; name="name"; name="image"', 'form-data; name="image"; filename=""', 'form-data; name="image"; filename="a\\"b.png"',
        'form-data; name="image"; filename*=utf-8\'\'%ff.png', 'form-data; name="\x00"', 'form-data; name="' + "n" * 9000 + '"',
        "", ";", 'form-data; name="__proto__"', 'form-data; name="pr_number"; filename="x"',
    )  # fmt: skip
    headers = (
        "Content-Type: image/png", "Content-Type: image/svg+xml", "Content-Type: multipart/mixed; boundary=x", "Content-Type:",
        "Content-Type: image/jpeg; charset=\x00", "Content-Transfer-Encoding: base64", "Content-Length: 99999", "X: " + "y" * 9000,
        " folded: 1", "no colon", "Content-Type: IMAGE/PNG", "Content-Type: image/webp", ": empty",
    )  # fmt: skip
    if rng.random() < 0.5:
        return _with_a_part(draft, rng, lambda part: replace(part, disposition=rng.choice(dispositions)))
    chosen = tuple(rng.choices(headers, k=rng.choice((0, 1, 1, 2, 40))))
    return _with_a_part(draft, rng, lambda part: replace(part, headers=chosen))


def _part_list(draft: Draft, rng: random.Random) -> Draft:
    parts = list(draft.parts or ())
    if not parts:
        return draft
    at, kind = rng.randrange(len(parts)), rng.randrange(5)
    if kind == 0:
        del parts[at]
    elif kind == 1:
        parts.append(parts[at])
    elif kind == 2:
        rng.shuffle(parts)
    elif kind == 3:
        parts += [Part(f'form-data; name="x{number}"', b"1") for number in range(rng.choice((1, 50, 2000)))]
    else:
        parts[at] = Part(
            'form-data; name="image"', multipart(tuple(parts)), ("Content-Type: multipart/mixed",)
        )
    return replace(draft, parts=tuple(parts), raw_body=None)


def _boundary(draft: Draft, rng: random.Random) -> Draft:
    boundaries = (
        "", "boundary", "boundary=", "boundary=other", f'boundary="{BOUNDARY}"', f"boundary={BOUNDARY}; boundary=x", "boundary=" + "b" * 300,
        f"BOUNDARY={BOUNDARY}", f"charset=utf-16; boundary={BOUNDARY}", 'boundary="', "boundary=\xff", f"boundary={BOUNDARY[:-1]}", "boundary=a b",
    )  # fmt: skip
    kind = rng.choice(
        ("multipart/form-data", "multipart/mixed", "application/x-www-form-urlencoded", "text/plain", "")
    )
    return draft.with_header(b"Content-Type", f"{kind}; {rng.choice(boundaries)}".encode("latin-1").strip())


def _multipart_bytes(draft: Draft, rng: random.Random) -> Draft:
    raw = draft.body or b""
    endings = (b"", b"--\r\n", f"--{BOUNDARY}".encode(), b"\r\n", b"\n", b"\0")
    kind = rng.randrange(4)
    if kind == 0:
        raw = raw.removesuffix(f"--{BOUNDARY}--\r\n".encode()) + rng.choice(endings)
    elif kind == 1:
        raw = raw.replace(b"\r\n", b"\n")
    elif kind == 2:
        raw += raw
    else:
        raw = some_bytes_changed(raw, rng)
    return replace(draft, raw_body=raw)
