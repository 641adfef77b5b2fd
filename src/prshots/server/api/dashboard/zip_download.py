"""Downloads the newest image of each shot in a pull request as a zip."""

from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from prshots.contract.errors import NotFoundError
from prshots.server.api.dashboard.routing import Call, pull_request_route
from prshots.server.api.request_body import refuse_body
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import Overview
from prshots.server.domain.images.service import Images
from prshots.server.domain.images.zip_archive import ZipWriter, file_paths, safe_file_name
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
    first = await anext(pieces)  # before the reply starts, so an unavailable store gets a 503
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
    """Yield the archive, with one image at a time in memory. Omits images deleted in the meantime.

    If the store fails later, the reply is cut off, so the browser reports a failed download.
    """
    writer = ZipWriter()
    for path, image in file_paths(newest):
        data = await images.content(image)
        if data is None:
            continue
        entry = memoryview(writer.file(path, data, image.uploaded_at))
        for start in range(0, len(entry), PIECE_BYTES):
            yield bytes(entry[start : start + PIECE_BYTES])
    for piece in writer.end():
        yield piece


def _attachment(name: str) -> str:
    """Return a Content-Disposition header. Browsers use the second name, which allows any character."""
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"


ROUTES = (pull_request_route("GET", "/zip", download_zip),)
