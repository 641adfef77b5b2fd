"""Hostile requests, from the tests of parsers and collections of smuggling attacks, with our replies.

SMUGGLED, the last part of many, stands for a request that must never be executed, and LENGTH for its length.
"""

from dataclasses import dataclass

SMUGGLED, LENGTH = b"<smuggled>", b"<length>"
HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
POST = b"POST /healthz HTTP/1.1\r\n" + HOST
END = b"\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Hostile:
    name: str
    raw: bytes
    statuses: tuple[int, ...]
    """Of the replies of the API and web: 200 to GET /healthz, 405 to another method."""

    of_delivery: tuple[int, ...]


def case(name: str, raw: bytes, *statuses: int, delivery: tuple[int, ...] | None = None) -> Hostile:
    return Hostile(name, raw, statuses, statuses if delivery is None else delivery)


def line(name: str, raw: bytes, *statuses: int, delivery: tuple[int, ...] | None = None) -> Hostile:
    return case(f"line: {name}", raw + b"\r\n" + HOST + END, *statuses, delivery=delivery)


def field(name: str, raw: bytes, *statuses: int) -> Hostile:
    return case(f"field: {name}", GET + raw + b"\r\n\r\n", *statuses)


def framing(name: str, fields: bytes, *statuses: int, body: bytes = SMUGGLED) -> Hostile:
    return case(f"framing: {name}", POST + fields + b"\r\n\r\n" + body, *statuses)


def chunks(name: str, raw: bytes) -> Hostile:
    """Return a case with a chunked body. It ends its connection, broken or not."""
    return case(f"chunks: {name}", CHUNKED + raw + SMUGGLED, 405)


LINES = [
    line("two spaces", b"GET  /healthz HTTP/1.1", 400),
    line("two spaces before the version", b"GET /healthz  HTTP/1.1", 400),
    line("tabs", b"GET\t/healthz\tHTTP/1.1", 400),
    line("a space before it", b" GET /healthz HTTP/1.1", 400),
    line("a space after it", b"GET /healthz HTTP/1.1 ", 400),
    line("no target", b"GET HTTP/1.1", 400),
    line("an empty target", b"GET  HTTP/1.1", 400),
    line("no version", b"GET /healthz", 400),
    line("version 0.9", b"GET /healthz HTTP/0.9", 400),
    line("version 1.2", b"GET /healthz HTTP/1.2", 400),
    line("version 1.10", b"GET /healthz HTTP/1.10", 400),
    line("version 11", b"GET /healthz HTTP/11", 400),
    line("version 2.0", b"GET /healthz HTTP/2.0", 400),
    line("lower-case version", b"GET /healthz http/1.1", 400),
    line("another protocol", b"GET /healthz RTSP/1.0", 400),
    line("a version twice", b"GET /healthz HTTP/1.1 HTTP/1.1", 400),
    line("a NUL", b"GET /healthz\0 HTTP/1.1", 400),
    line("a control character", b"GET /healthz\x0b HTTP/1.1", 400),
    line("DEL", b"GET /healthz\x7f HTTP/1.1", 400),
    line("a byte above ASCII", b"GET /healthz\xe9 HTTP/1.1", 400),
    line("a fragment", b"GET /healthz#a HTTP/1.1", 400),
    line("a relative target", b"GET healthz HTTP/1.1", 400),
    line("a whole URL", b"GET http://localhost/healthz HTTP/1.1", 200, delivery=(404,)),
    line("a URL without a path", b"GET http://localhost HTTP/1.1", 400),
    line("an authority", b"GET localhost:80 HTTP/1.1", 400),
    line("CONNECT", b"CONNECT localhost:80 HTTP/1.1", 400, delivery=(405,)),
    line("CONNECT with a path", b"CONNECT /healthz HTTP/1.1", 405),
    line("an asterisk", b"OPTIONS * HTTP/1.1", 400, delivery=(405,)),
    line("an unknown method", b"BREW /healthz HTTP/1.1", 405),
    line("a method in lower case", b"get /healthz HTTP/1.1", 405),
    line("a method that begins with another", b"GETS /healthz HTTP/1.1", 405),
    line("PRI", b"PRI /healthz HTTP/1.1", 405),
    line("a method with a bad character", b"G(T /healthz HTTP/1.1", 400),
    line("too long", b"GET /" + b"a" * 40_000 + b" HTTP/1.1", 414),
    case("line: ends with a line feed", b"GET /healthz HTTP/1.1\n" + HOST + END, 400),
    case("line: ends with a carriage return", b"GET /healthz HTTP/1.1\r" + HOST + END, 400),
    case("line: HTTP/0.9", b"GET /healthz\r\n\r\n", 400),
    case("line: the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    case("line: TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    case("line: blank lines before it", b"\r\n\r\n" + GET + END, 200),
    case("line: too long and never ending", b"GET /" + b"a" * 40_000, 414),
    case("line: nothing but letters", b"a" * 40_000, 400),
]

FIELDS = [
    case("field: no Host", b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    case("field: no Host, version 1.0", b"GET /healthz HTTP/1.0\r\n\r\n", 200),
    case("field: no Host, but another field", b"GET /healthz HTTP/1.1\r\nX-Host: a\r\n\r\n", 400),
    case("field: only line feeds", b"GET /healthz HTTP/1.1\nHost: localhost\n\n", 400),
    case("field: two Hosts, version 1.0", b"GET /healthz HTTP/1.0\r\n" + HOST + HOST + END, 400),
    *(
        case(f"field: Host {host!r}", b"GET /healthz HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", status)
        for host, status in (
            (b"", 200),
            (b"[::1]:80", 200),
            (b"a, b", 400),
            (b"a b", 400),
            (b"a@b", 400),
            (b"a/b", 400),
            (b"a\0", 400),
        )
    ),
    field("a second Host", b"Host: elsewhere", 400),
    field("the same Host again", b"host: localhost", 400),
    field("a space before the colon", b"X : a", 400),
    field("a tab before the colon", b"X\t: a", 400),
    field("no colon", b"X", 400),
    field("no name", b": a", 400),
    field("a folded line", b"X: a\r\n b", 400),
    field("a line folded with a tab", b"X: a\r\n\tb", 400),
    field("a name with a space", b"X Y: a", 400),
    field("a name with a bad character", b"X(Y): a", 400),
    field("a name with a NUL", b"X\0: a", 400),
    field("a name above ASCII", b"X\xe9: a", 400),
    field("a value with a NUL", b"X: a\0b", 400),
    field("a value with a control character", b"X: a\x01b", 400),
    field("a value with DEL", b"X: a\x7fb", 400),
    field("a value with a carriage return", b"X: a\rb", 400),
    field("a value with a line feed", b"X: a\nY: b", 400),
    field("a value above ASCII", b"X: \xc3\xbc", 200),
    field("an empty value", b"X:", 200),
    field("many", b"\r\n".join(b"X%d: a" % number for number in range(5000)), 431),
    field("a long one", b"X: " + b"a" * 40_000, 431),
    case("field: folded before the first", b"GET /healthz HTTP/1.1\r\n X: a\r\n" + HOST + END, 400),
    case("field: an end that never comes", GET, *()),
]

FRAMING = [
    framing("both lengths, CL.TE", b"Content-Length: 6\r\nTransfer-Encoding: chunked", 400, body=b"0\r\n\r\n" + SMUGGLED),
    framing("both lengths, TE.CL", b"Transfer-Encoding: chunked\r\nContent-Length: 3", 400, body=b"8\r\n" + SMUGGLED),
    framing("both lengths, the coding unknown", b"Transfer-Encoding: x\r\nContent-Length: 3", 400),
    *(
        framing(f"Transfer-Encoding:{coding!r}", b"Transfer-Encoding:" + coding, 501)
        for coding in (
            b" xchunked",
            b" chunk",
            b" chunked, identity",
            b" identity, chunked",
            b" gzip, chunked",
            b" chunked, chunked",
            b" chunked;q=1",
            b' "chunked"',
            b" 'chunked'",
            b" identity",
            b" gzip",
            b"",
            b" ,chunked",
            b" chunked,",
            b" chunked x",
            b" chunked\r\nTransfer-Encoding: x",
            b" x\r\nTransfer-Encoding: chunked",
            b" chunked\r\nTransfer-Encoding: chunked",
            b" chunked\xff",
        )
    ),
    *(
        framing(f"{fields!r}", fields, 400)
        for fields in (
            b"Transfer-Encoding : chunked",
            b" Transfer-Encoding: chunked",
            b"Transfer-Encoding: \x0bchunked",
            b"Transfer-Encoding: \x0cchunked",
            b"Transfer-Encoding: chunked\0",
            b"Transfer-Encoding:\r\n chunked",
            b"Transfer-Encoding\r\n: chunked",
            b"X: a\nTransfer-Encoding: chunked",
            b"X: a\rTransfer-Encoding: chunked",
            b"Transfer-Encoding: chunked\r X: a",
            b"\0Transfer-Encoding: chunked",
            b"Content-Length: 3\r\nContent-Length: 4",
            b"Content-Length: 3\r\nContent-Length: 3",
            b"Content-Length: 3, 3",
            b"Content-Length: 3, 4",
            b"Content-Length: +3",
            b"Content-Length: -3",
            b"Content-Length: 0x3",
            b"Content-Length: 3 3",
            b"Content-Length: 3;",
            b"Content-Length: 3.0",
            b"Content-Length: 1e1",
            b"Content-Length: a",
            b"Content-Length:",
            b"Content-Length: \xd9\xa3",
            b"Content-Length : 3",
            b"Content-Length: 3\r\n 4",
            b"Content-Length: 18446744073709551619",
            b"Content-Length: 99999999999999999999999999999999",
        )
    ),
    case("framing: chunks in version 1.0", b"POST /healthz HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", 400),
    framing("a length with spaces around it", b"Content-Length:  \t" + LENGTH + b" \t", 405),
    framing("a length with zeros", b"Content-Length: 00" + LENGTH, 405),
    framing("a length that a field of the connection names", b"Connection: Content-Length, Host\r\nContent-Length: " + LENGTH, 405),
    framing("a body that ends early", b"Content-Length: 1000000", 405),
    framing("Expect", b"Expect: 100-continue\r\nContent-Length: " + LENGTH, 405),
    framing("an unknown Expect", b"Expect: nonsense\r\nContent-Length: " + LENGTH, 405),
    framing("an upgrade with a body", b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: " + LENGTH, 405),
    case("framing: GET with a body", GET + b"Content-Length: " + LENGTH + b"\r\n\r\n" + SMUGGLED, 200),
    case("framing: GET with chunks", GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED, 200),
    case("framing: HEAD with a body", b"HEAD /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: " + LENGTH + b"\r\n\r\n" + SMUGGLED, 200),
    case("framing: an upgrade", GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" + SMUGGLED, 200),
    case("framing: HTTP/2 in plain text", GET + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 200),
    case("framing: after the last request", GET + b"Connection: close\r\n\r\n" + SMUGGLED, 200),
    case("framing: after version 1.0", b"GET /healthz HTTP/1.0\r\n" + HOST + END + SMUGGLED, 200),
    case("framing: requests at once", (GET + END) * 3, 200, 200, 200),
    case("framing: a request after a body", POST + b"Content-Length: 3\r\n\r\nabc" + GET + END, 405, 200, delivery=(405,)),
    case("framing: a request after a body of no length", POST + b"Content-Length: 0\r\n\r\n" + GET + END, 405, 200, delivery=(405,)),
    case("framing: a bad request after a good one", GET + END + b"GET  / HTTP/1.1\r\n" + HOST + END, 200, 400),
]  # fmt: skip

CHUNKS = [
    chunks("none", b"0\r\n\r\n"),
    chunks("one", b"3\r\nabc\r\n0\r\n\r\n"),
    chunks("an extension", b"3;a=b\r\nabc\r\n0\r\n\r\n"),
    chunks("an extension with a line feed", b"3;a\nb\r\nabc\r\n0\r\n\r\n"),
    chunks("an extension with a quote", b'3;a="b\r\nabc\r\n0\r\n\r\n'),
    chunks("a size with a sign", b"+3\r\nabc\r\n0\r\n\r\n"),
    chunks("a negative size", b"-1\r\nabc\r\n0\r\n\r\n"),
    chunks("a size with 0x", b"0x3\r\nabc\r\n0\r\n\r\n"),
    chunks("a size with a space before it", b" 3\r\nabc\r\n0\r\n\r\n"),
    chunks("a size with a space after it", b"3 \r\nabc\r\n0\r\n\r\n"),
    chunks("no size", b"\r\nabc\r\n0\r\n\r\n"),
    chunks("a size that is not hexadecimal", b"g\r\nabc\r\n0\r\n\r\n"),
    chunks("a size over 64 bits", b"10000000000000003\r\nabc\r\n0\r\n\r\n"),
    chunks("a size that ends with a line feed", b"3\nabc\r\n0\r\n\r\n"),
    chunks("data that ends with a line feed", b"3\r\nabc\n0\r\n\r\n"),
    chunks("data that is too long", b"3\r\nabcdef\r\n0\r\n\r\n"),
    chunks("data that is too short", b"5\r\nabc\r\n0\r\n\r\n"),
    chunks("an end with a line feed", b"0\n\n"),
    chunks("an end without a blank line", b"0\r\nX"),
    chunks("a last size of many zeros", b"000000000000000000000000\r\n\r\n"),
    chunks(
        "trailers", b"0\r\nContent-Length: 3\r\nHost: a\r\nTransfer-Encoding: x\r\nAuthorization: a\r\n\r\n"
    ),
    chunks("a broken trailer", b"0\r\nX : a\r\n\r\n"),
]

HOSTILE = [*LINES, *FIELDS, *FRAMING, *CHUNKS]


def smuggling(one: Hostile, image_id: str, token: str) -> bytes:
    """Return the request with the deletion of an image in its place."""
    deletion = (
        f"DELETE /v1/images/{image_id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    length = str(len(deletion)).encode()
    return one.raw.replace(SMUGGLED, deletion.encode()).replace(LENGTH, length)
