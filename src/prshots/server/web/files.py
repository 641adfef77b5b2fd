"""The built dashboard: a few hundred kilobytes, loaded into memory and compressed once at startup."""

import gzip
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response

from prshots.server.http.headers import names_tag

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


def choose_file(files: Mapping[str, WebFile], url_path: str) -> WebFile | None:
    """Return the file at this path, or index.html, which renders all other paths as views.

    For a missing asset, return None, so a page from an older build gets a 404 instead of HTML as a script.
    """
    if url_path in files or url_path.startswith(ASSETS):
        return files.get(url_path)
    return files.get(INDEX)


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
