"""The web component: serves the dashboard's files and relays the API on the same origin.

The browser sees only one origin, so it needs no CORS headers.
"""

import gzip
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Router

from prshots.server.http.error_boundary import App, ErrorBoundary, Message, Receive, Send
from prshots.server.http.headers import names_tag, origin_of
from prshots.server.http.llms import llms_route
from prshots.server.http.readiness import Readiness
from prshots.server.http.telemetry import NO_STORE, observer, service_routes
from prshots.server.web.relay import Relay

ASSETS = "/assets/"
"""Contains the build's files whose names change with their content."""

INDEX = "/index.html"
FOR_EVER = "public, max-age=31536000, immutable"
FOR_AN_HOUR = "public, max-age=3600"
NEVER = "no-store"

CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
COMPRESSED_ALREADY = {".png", ".woff2"}

_GZIP = re.compile(r"(?:^|,)\s*(gzip|\*)\s*(?:;\s*q=([01](?:\.\d*)?)\s*)?(?=,|$)", re.IGNORECASE)


class Form(NamedTuple):
    """A file's bytes as sent, compressed or not. Each form has its own ETag."""

    body: bytes
    tag: str


class WebFile(NamedTuple):
    content_type: str
    cache_control: str
    plain: Form
    gzipped: Form | None


def load_files(folder: Path) -> dict[str, WebFile]:
    """Return all files by URL path, or none if the folder doesn't exist."""
    paths = {f"/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*") if path.is_file()}
    return {url_path: _load(path, cache_control(url_path)) for url_path, path in paths.items()}


def _load(path: Path, caching: str) -> WebFile:
    body = path.read_bytes()
    compressed = body if path.suffix in COMPRESSED_ALREADY else gzip.compress(body, mtime=0)
    return WebFile(
        CONTENT_TYPES.get(path.suffix, "application/octet-stream"),
        caching,
        _form(body),
        _form(compressed) if len(compressed) < len(body) else None,
    )


def _form(body: bytes) -> Form:
    return Form(body, hashlib.sha256(body).hexdigest()[:32])


def cache_control(url_path: str) -> str:
    if url_path == INDEX:
        return NEVER
    return FOR_EVER if url_path.startswith(ASSETS) else FOR_AN_HOUR


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the client accepts gzip. An entry for gzip takes precedence over `*`."""
    weights = {name.lower(): float(q or 1) for name, q in _GZIP.findall(accept_encoding)}
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def file_response(file: WebFile, accept_encoding: str, if_none_match: str) -> Response:
    headers = {"Content-Type": file.content_type, "Cache-Control": file.cache_control}
    form = file.plain
    if file.gzipped:
        headers["Vary"] = "Accept-Encoding"
        if accepts_gzip(accept_encoding):
            form = file.gzipped
            headers["Content-Encoding"] = "gzip"
    if file.cache_control != NEVER:
        headers["ETag"] = f'"{form.tag}"'
        if names_tag(if_none_match, form.tag):
            return Response(status_code=304, headers=headers)
    return Response(form.body, headers=headers)


SHARED = "/shared"
"""The page behind a share link. Its secret is in the fragment, which browsers keep to themselves."""

OF_SHARED = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}
RELAYED = (b"/v1/", b"/auth/")
METHODS = ("GET", "HEAD")
NOT_BUILT = (
    "prshots was installed without the dashboard: install it again without PRSHOTS_WITHOUT_DASHBOARD, or use "
    "`make run` in a checkout"
)

_log = structlog.get_logger()


def security_headers(images: Sequence[str]) -> dict[str, str]:
    """Return headers that allow no inline code, no frames, and only these images from other origins."""
    return {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            f"img-src {' '.join(dict.fromkeys(images))}; "
            "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "same-origin",
    }


def _encode(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


class Web:
    """An ASGI app. Adds security headers to its own replies, and leaves the API's replies unchanged."""

    def __init__(
        self,
        *,
        files: Path,
        api_url: str,
        base_url: str,
        web_url: str,
        img_url: str,
        avatar_origins: Sequence[str],
        log_requests: bool = False,
    ) -> None:
        self._files, self._relay = load_files(files), Relay(api_url)
        if not self._files:  # start anyway, because the relay to the API still works
            _log.warning("no dashboard", reason=NOT_BUILT)
        # The favicon is the only image on this origin, and browsers apply img-src to it.
        headers = security_headers([origin_of(img_url), *avatar_origins, f"{web_url}/favicon.svg"])
        self._headers, self._of_shared = _encode(headers), _encode(headers | OF_SHARED)
        # Without the API, the pages still open and report the outage, unlike a load balancer's error page.
        readiness = Readiness({"api": self._relay.check}, optional=["api"])
        own = [*service_routes(readiness), llms_route(base_url, web_url)]
        self._service: App = Router(own, redirect_slashes=False)
        self._service_paths = {route.path for route in own}
        observe = observer("web", self._name_of, logs=log_requests)
        self._boundary = ErrorBoundary(self._answer, readiness, observe)
        self.drain = self._boundary.drain

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_finished(message: Message) -> None:
            if message["type"] == "http.response.start" and not message.pop("relayed", False):
                own = self._of_shared if scope["path"] == SHARED else self._headers
                message["headers"] = [*message["headers"], *own]
            await send(message)

        await self._boundary(scope, receive, send_finished)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["raw_path"].startswith(RELAYED):
            app: App = self._relay
        elif scope["method"] not in METHODS:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})
        else:
            app = self._service if scope["path"] in self._service_paths else self._file(scope)
        await app(scope, receive, send)

    def _file(self, scope: Message) -> Response:
        """Return the file at this path, or index.html, which renders all other paths as views."""
        path, headers = scope["path"], Headers(scope=scope)
        if path.startswith(ASSETS) and path not in self._files:
            # A page from an older build must not get HTML as a script.
            raise HTTPException(404, headers=NO_STORE)
        file = self._files.get(path) or self._files.get(INDEX)
        if file is None:
            raise HTTPException(503, NOT_BUILT, NO_STORE)
        return file_response(file, headers.get("accept-encoding", ""), headers.get("if-none-match", ""))

    async def close(self) -> None:
        self._relay.close()

    def _name_of(self, scope: Message) -> str:
        """Return the request's route label for metrics. A few labels cover all paths."""
        if scope["path"] in self._service_paths:
            return f"GET {scope['path']}"
        beginnings = ("/v1/", "/auth/", ASSETS, "/")
        return next((start for start in beginnings if scope["path"].startswith(start)), "/") + "*"
