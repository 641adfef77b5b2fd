"""Mutations of a request's bytes: its line, its headers, its framing. Such a request may be refused without a reply."""

import random
from collections.abc import Callable

from drills.content_mutations import some_bytes_changed

Mutation = Callable[[bytes, random.Random], bytes]


def mutated(raw: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2))):
        raw = rng.choice(MUTATIONS)(raw, rng)
    return raw


def _split(raw: bytes) -> tuple[list[bytes], bytes]:
    head, _, body = raw.partition(b"\r\n\r\n")
    return head.split(b"\r\n"), body


def _joined(lines: list[bytes], body: bytes) -> bytes:
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _request_line(raw: bytes, rng: random.Random) -> bytes:
    lines, body = _split(raw)
    method, _, rest = lines[0].partition(b" ")
    target = rest.rpartition(b" ")[0]
    lines[0] = rng.choice((
        method.lower() + b" " + target + b" HTTP/1.1",
        method + b"  " + target + b" HTTP/1.1",
        method + b"\t" + target + b" HTTP/1.1",
        method + b" " + target,
        method + b" " + target + b" HTTP/1.0",
        method + b" " + target + b" HTTP/0.9",
        method + b" " + target + b" HTTP/1.2",
        method + b" " + target + b" HTTP/2.0",
        method + b" " + target + b" HTTP/9999999999.1",
        method + b" " + target + b" http/1.1",
        method + b" " + target + b" HTTP/1.1 ",
        method + b" http://other.example" + target + b" HTTP/1.1",
        method + b" //other.example" + target + b" HTTP/1.1",
        method + b" " + target.lstrip(b"/") + b" HTTP/1.1",
        method + b" * HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"CONNECT localhost:1 HTTP/1.1",
        b"PRI * HTTP/2.0",
        method + b" " + target + b"#fragment HTTP/1.1",
        method + b" " + target + b"\x00 HTTP/1.1",
        method + b" " + target + b"\xff\xfe HTTP/1.1",
        method + b" " + target + b" x HTTP/1.1",
        method + b" " + target + b"/" + b"a" * rng.choice((8_000, 17_000, 70_000)) + b" HTTP/1.1",
        b"A" * rng.choice((20, 300, 20_000)) + b" " + target + b" HTTP/1.1",
        b"",
    ))  # fmt: skip
    return _joined(lines, body)


def _header_lines(raw: bytes, rng: random.Random) -> bytes:
    lines, body = _split(raw)
    at = rng.randrange(1, len(lines) + 1)
    odd = (
        b"no colon", b": no name", b"Name : space", b" folded: line", b"\tfolded", b"X\x00: nul", b"X: nul\x00", b"X: a\rb",
        b"X: a\nY: b", b"X: \xff\xfe\x80", b"X\xe9: non-ascii", b"X: " + b"y" * rng.choice((9_000, 17_000, 70_000)), b"",
        b"Host: other.example", b"Host:", b"Host: a b", b"Host: \xff", b"Connection: close", b"Connection: keep-alive, x",
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", b"Expect: 100-continue",
        b"Expect: something", b"Trailer: X", b"Proxy-Connection: keep-alive", b"Content-Encoding: gzip", b"Cookie: " + b"a=b; " * 3_000,
        b"Cookie: prshots_session=\xff; prshots_session=x", b"Authorization: Bearer", b"Authorization: Bearer \x01",
    )  # fmt: skip
    kind = rng.randrange(6)
    if kind == 0 and len(lines) > 1:
        lines.append(lines[rng.randrange(1, len(lines))])
    elif kind == 1:
        lines[at:at] = [f"X-{number}: 1".encode() for number in range(rng.choice((60, 101, 300, 3000)))]
    elif kind == 2 and len(lines) > 1:
        del lines[rng.randrange(1, len(lines))]
    else:
        lines.insert(at, rng.choice(odd))
    return _joined(lines, body)


def _framing(raw: bytes, rng: random.Random) -> bytes:
    """Lie about the length of the body, in every way that is known to confuse servers and proxies."""
    lines, body = _split(raw)
    lines = [line for line in lines if not line.lower().startswith((b"content-length", b"transfer-encoding"))]
    length = str(len(body)).encode()
    lengths = (
        [b"Content-Length: 0"], [b"Content-Length: " + str(len(body) + 5).encode()], [b"Content-Length: -1"], [b"Content-Length: +" + length],
        [b"Content-Length: 0x10"], [b"Content-Length: 1e1"], [b"Content-Length:"], [b"Content-Length: " + b"9" * 30], [b"Content-Length: 6000000000"],
        [b"Content-Length: " + length + b", " + length], [b"Content-Length: " + length, b"Content-Length: 1"], [b"Content-Length: 1 1"],
        [b"Content-Length: " + str(max(0, len(body) - 3)).encode()], [b"Content-Length: 007"], [b"Content-Length: \xb2"],
        [b"Transfer-Encoding: chunked", b"Content-Length: " + length], [b"Transfer-Encoding: chunked, chunked"], [b"Transfer-Encoding: gzip, chunked"],
        [b"Transfer-Encoding: chunked, identity"], [b"Transfer-Encoding: identity"], [b"Transfer-Encoding: xchunked"], [b"Transfer-Encoding:\x0bchunked"],
        [b"Transfer-Encoding: chunked", b"Transfer-Encoding: x"], [b"Transfer-Encoding:"], [b"Transfer-Encoding : chunked"],
    )  # fmt: skip
    return _joined(lines + rng.choice(lengths), body)


def _chunks(raw: bytes, rng: random.Random) -> bytes:
    """Send the body in chunks, and get them wrong."""
    lines, body = _split(raw)
    lines = [line for line in lines if not line.lower().startswith((b"content-length", b"transfer-encoding"))]
    size = f"{len(body):x}".encode()
    end = b"0\r\n\r\n"
    bodies = (
        size + b"\r\n" + body + b"\r\n" + end, size + b"\n" + body + b"\n0\n\n", size + b";ext=" + b"e" * 9_000 + b"\r\n" + body + b"\r\n" + end,
        b"-1\r\n" + body + b"\r\n" + end, b"fffffffffffffffff\r\n" + body, b"g\r\n" + body + end, size + b"\r\n" + body + b"xx\r\n" + end,
        b"0x" + size + b"\r\n" + body + b"\r\n" + end, b" " + size + b"\r\n" + body + b"\r\n" + end, size + b"\r\n" + body, b"",
        size + b"\r\n" + body + b"\r\n0\r\nTrailer: 1\r\n\r\n", size + b"\r\n" + body + b"\r\n0\r\n" + b"T: 1\r\n" * 3_000 + b"\r\n",
        b"".join(b"1\r\n" + body[at : at + 1] + b"\r\n" for at in range(min(len(body), 400))) + end, b"00000000000000000000" + end,
    )  # fmt: skip
    return _joined([*lines, b"Transfer-Encoding: chunked"], rng.choice(bodies))


def _line_ends(raw: bytes, rng: random.Random) -> bytes:
    head, _, body = raw.partition(b"\r\n\r\n")
    kind = rng.randrange(4)
    if kind == 0:
        return head.replace(b"\r\n", b"\n") + b"\n\n" + body
    if kind == 1:
        return head.replace(b"\r\n", b"\n", 1) + b"\r\n\r\n" + body
    if kind == 2:
        return head.replace(b"\r\n", b"\r") + b"\r\r" + body
    return b"\r\n" * rng.choice((1, 3, 2_000)) + raw


def _cut(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _pipelined(raw: bytes, rng: random.Random) -> bytes:
    """Send several requests at once, with something else between them or behind."""
    between = rng.choice((b"", b"", b"\r\n", b"x", b"\0", b"0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    return between.join([raw] * rng.randrange(2, 6))


def _other_protocol(_: bytes, rng: random.Random) -> bytes:
    return rng.choice((
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + rng.randbytes(161),
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"EHLO localhost\r\n",
        b"\x00" * rng.choice((1, 100, 20_000)),
        rng.randbytes(rng.choice((1, 50, 3_000))),
        b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"",
    ))  # fmt: skip


MUTATIONS: tuple[Mutation, ...] = (
    *(_request_line, _header_lines, _framing) * 2,
    *(_chunks, _line_ends, some_bytes_changed, _cut, _pipelined, _other_protocol),
)
