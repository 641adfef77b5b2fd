"""The newest image of each shot of a pull request, as a zip."""

import io
import re
import time
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import count
from pathlib import PurePosixPath
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from prshots.contract.errors import NotFoundError
from prshots.contract.natural_order import shot_key
from prshots.server.api.dashboard.routing import Call, pull_request_route
from prshots.server.api.request_body import refuse_body
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import Overview
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project

READ_AT_ONCE = 1000
PIECE_BYTES = 64 * 1024


async def download_zip(call: Call, project: Project, number: int) -> Response:
    await refuse_body(call.request)
    newest = await _newest_images(call.services.overview, project, number)
    if not newest:
        raise NotFoundError("not found")
    name = f"{safe_file_name(project.name)}-pr-{number}.zip"
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": _attachment(name),
        "Content-Type": "application/zip",
    }
    if call.request.method == "HEAD":
        return Response(headers=headers)
    pieces = _zip(newest, call.services.images)
    first = await anext(pieces)  # before the reply begins: a store that does not answer is a 503
    return StreamingResponse(_resume(first, pieces), headers=headers)


async def _newest_images(overview: Overview, project: Project, number: int) -> list[Image]:
    found: list[Image] = []
    while page := await overview.shots(project.id, number, found[-1].shot if found else None, READ_AT_ONCE):
        found += [shot.newest for shot in page]
    return found


async def _resume(first: bytes, others: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in others:
        yield piece


async def _zip(newest: list[Image], images: Images) -> AsyncIterator[bytes]:
    """Yield the archive, with one image at a time in memory. Leaves out those deleted in the meantime.

    If the store fails later, the reply breaks off, so that a browser reports a failed download.
    """
    writer = ZipWriter()
    for path, image in file_paths(newest):
        data = await images.content(image)
        if data is None:
            continue
        entry = memoryview(writer.file(path, data, image.uploaded_at))
        for start in range(0, len(entry), PIECE_BYTES):
            yield bytes(entry[start : start + PIECE_BYTES])
    yield writer.end()


def _attachment(name: str) -> str:
    """Return a Content-Disposition. Browsers take the second name, which can have any character."""
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"


ROUTES = (pull_request_route("GET", "/zip", download_zip),)


# A zip of a pull request's images, written piece by piece. Images are compressed already, so they are stored
# as they are. Each image's size and checksum are known before it is written, so every unzipper can read the
# archive while it arrives.

MAX_PART_BYTES = 180
"""The maximum length of a folder or a name. File systems take 255 bytes; a file also gets its viewport."""

_UNIX_FILE = 0o100644 << 16
_NOT_IN_FILE_NAMES = re.compile(r'[/\\:*?"<>|]')
_RESERVED_ON_WINDOWS = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
_LIKE_AN_IMAGE = re.compile(r"\.(png|jpg|webp)", re.IGNORECASE)


class ZipWriter:
    """Returns the bytes of a zip in their order. Keeps only the list of files."""

    def __init__(self, begins_at: int = 0) -> None:
        """Write a zip that begins at this offset of its file."""
        self._end = _FileEnd(begins_at)
        self._zip = _QuietZipFile(self._end, "w")

    def file(self, path: str, data: bytes, modified_at: int) -> bytes:
        """Return the file's header and bytes. `path` must be safe and unique: see `file_paths`."""
        at = time.gmtime(max(modified_at, 315_532_800))  # the format's time begins in 1980
        entry = zipfile.ZipInfo(path, at[:6])
        entry.external_attr = _UNIX_FILE
        self._zip.writestr(entry, data)
        return self._end.take()

    def end(self) -> bytes:
        """Return the list of files, which ends the archive."""
        self._zip.close()
        return self._end.take()


class _QuietZipFile(zipfile.ZipFile):
    def __del__(self) -> None:
        """Don't end the archive of an abandoned download: its file may already be closed."""


class _FileEnd(io.BytesIO):
    """The end of a file, whose beginning was taken away. `zipfile` goes back in the last entry only."""

    def __init__(self, begins_at: int) -> None:
        super().__init__()
        self._begins_at = begins_at

    def tell(self) -> int:
        return self._begins_at + super().tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._begins_at + super().seek(offset - self._begins_at, whence)

    def take(self) -> bytes:
        taken = self.getvalue()
        self._begins_at += len(taken)
        super().seek(0)
        self.truncate()
        return taken


def file_paths(images: Iterable[Image]) -> Iterator[tuple[str, Image]]:
    """Return each image with its path in the archive, in natural order.

    A path is like `checkout/cart@1280x800.dark.png`. It is safe to unpack on every system, and unique where
    upper and lower case are the same.
    """
    taken: set[str] = set()
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    for image in sorted(images, key=lambda each: shot_key(*each.shot)):
        path = _safe_path(image.name)
        suffix = f"@{image.viewport}{f'.{image.theme}' if image.theme else ''}.{image.ext}"
        left = numbers[_fold_case(path + suffix)]
        tries = (f"{path}{f' ({number})' if number > 1 else ''}{suffix}" for number in left)
        free = next(each for each in tries if _fold_case(each) not in taken)
        taken.add(_fold_case(free))
        yield free, image


def safe_file_name(name: str) -> str:
    """Return the name without what a file system refuses or a path gives a meaning."""
    visible = "".join("_" if unicodedata.category(each)[0] in "CZ" and each != " " else each for each in name)
    plain = _NOT_IN_FILE_NAMES.sub("_", visible).encode()[:MAX_PART_BYTES].decode(errors="ignore")
    plain = plain.lstrip().rstrip(" .") or "_"
    return f"_{plain}" if _RESERVED_ON_WINDOWS.fullmatch(plain) else plain


def _safe_path(name: str) -> str:
    *folders, last = [part for part in name.split("/") if part.strip(" .")] or ["_"]
    # A folder that is named like an image could take the place of one.
    safe = [_LIKE_AN_IMAGE.sub("_", safe_file_name(folder)) for folder in folders]
    return str(PurePosixPath(*safe, safe_file_name(last)))


def _fold_case(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
