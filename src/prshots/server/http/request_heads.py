"""Reads the head of a request for an ASGI app."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httptools

MAX_HEAD_BYTES = 32 * 1024
"""A token of an identity provider and a browser's cookies take a few KB. Other servers allow 8 to 64 KB."""

_METHOD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ")
_KNOWN_METHODS = {
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"DELETE",
    b"OPTIONS",
    b"PATCH",
    b"TRACE",
    b"CONNECT",
    b"PRI",
}
_LENGTH, _ENCODING, _EXPECT = b"content-length", b"transfer-encoding", b"expect"


class BadHeadError(Exception):
    """The client gets this status and message."""

    def __init__(self, status: int = 400, message: str = "bad request") -> None:
        super().__init__(message)
        self.status = status


class RequestHead:
    """Collects what the parser finds. With `body_left` the body has this length, with `is_chunked` any."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._method = self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._on_body: Callable[[bytes], None] = lambda _: None
        self.body_left = 0
        self.is_chunked = self.asks_first = False
        self.keeps_alive = False
        self.is_complete = False
        self.has_ended = False  # a chunked body has

    def feed(self, data: bytes) -> None:
        """Take a part of the head that does not reach beyond its blank line. Raises BadHeadError."""
        if not self._method:
            self._method, data = _known_to_parser(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:  # we support no upgrade, so we ignore it
            self.keeps_alive = False
        except httptools.HttpParserError as error:
            raise BadHeadError from error

    def feed_chunked(self, data: bytes, on_body: Callable[[bytes], None]) -> None:
        """Take a part of a chunked body. Raises BadHeadError."""
        self._on_body = on_body
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self.has_ended:  # what follows the body is not read
                raise BadHeadError from error

    def scope(self) -> dict[str, Any]:
        """Return the request for an ASGI app. Raises BadHeadError."""
        path, query = _path_and_query(self._target)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": self._parser.get_http_version(),
            "method": self._method.decode("ascii"),
            "scheme": "http",
            "path": unquote(path.decode("ascii")) if b"%" in path else path.decode("ascii"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": None,
            "server": None,
        }
        if not self.is_chunked:
            del self._parser  # a cycle of references, which only the garbage collector would find
        return scope

    # Called by the parser, for a chunked body also with its trailers and with what follows it. Those must not
    # change the request, which the app already has.

    def on_url(self, part: bytes) -> None:
        if not self.is_complete:
            self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_complete:
            return
        name = name.lower()
        self._headers.append((name, value))
        if name == _LENGTH:
            self.body_left = int(value)  # the parser has refused anything but one number
        elif name == _ENCODING:
            self.is_chunked = True
        elif name == _EXPECT:
            self.asks_first = value.lower() == b"100-continue"

    def on_headers_complete(self) -> None:
        if not self.is_complete:
            self.is_complete = True
            self.keeps_alive = self._parser.should_keep_alive() and not self.is_chunked

    def on_body(self, data: bytes) -> None:
        if not self.has_ended:
            self._on_body(data)

    def on_message_complete(self) -> None:
        self.has_ended = True


def _known_to_parser(data: bytes) -> tuple[bytes, bytes]:
    """Return the method, and the same head with one that the parser knows. The app refuses unknown ones."""
    match = _METHOD.match(data)
    if match is None or match[1] in _KNOWN_METHODS:
        return (match[1] if match else b""), data
    return match[1], b"POST" + data[match.end(1) :]


def _path_and_query(target: bytes) -> tuple[bytes, bytes]:
    if not target.isascii():
        raise BadHeadError
    if not target.startswith(b"/"):  # http://host/path, as for a proxy
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError as error:
            raise BadHeadError from error
        return url.path or b"/", url.query or b""
    path, _, query = target.partition(b"?")
    return path, query
