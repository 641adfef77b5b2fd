"""The Starlette app to compare with: one route, one FileResponse."""

import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route

FILES = Path(os.environ["BENCH_FILES"])


async def image(request: Request) -> FileResponse:
    return FileResponse(FILES / request.path_params["name"])


app = Starlette(routes=[Route("/i/{name}", image)])
