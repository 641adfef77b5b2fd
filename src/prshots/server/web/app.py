"""The web component: serves the dashboard's files and relays the API on the same origin.

The browser sees only one origin, so it needs no CORS headers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route, Router

from prshots.server.http.error_boundary import App, ErrorBoundary, Message, Receive, Send
from prshots.server.http.headers import origin_of
from prshots.server.http.llms import llms_route
from prshots.server.http.readiness import Readiness
from prshots.server.http.telemetry import NO_STORE, observer, service_routes
from prshots.server.web.files import ASSETS, WebFile, choose_file, file_response, load_files
from prshots.server.web.relay import Relay

RELAYED = (b"/v1/", b"/auth/")
METHODS = ("GET", "HEAD")
NOT_BUILT = (
    "prshots was installed without the dashboard: install it again without PRSHOTS_WITHOUT_DASHBOARD, or use "
    "`make run` in a checkout"
)

_log = structlog.get_logger()


def create_web(
    *,
    files: Path,
    api_url: str,
    base_url: str,
    web_url: str,
    img_url: str,
    avatar_origins: Sequence[str],
    log_requests: bool = False,
) -> "Web":
    # The favicon is the only image on this origin, and browsers apply img-src to it.
    images = [origin_of(img_url), *avatar_origins, f"{web_url}/favicon.svg"]
    loaded = load_files(files)
    if not loaded:  # start anyway, because the relay to the API still works
        _log.warning("no dashboard", reason=NOT_BUILT)
    llms = llms_route(base_url, web_url)
    return Web(loaded, Relay(api_url), security_headers(images), [llms], log_requests=log_requests)


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
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


class Web:
    """An ASGI app. Adds security headers to its own replies, and leaves the API's replies unchanged."""

    def __init__(
        self,
        files: Mapping[str, WebFile],
        relay: Relay,
        headers: Mapping[str, str],
        routes: Sequence[Route],
        *,
        log_requests: bool = False,
    ) -> None:
        self._files, self._relay = files, relay
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        # Without the API, the pages still open and report the outage, unlike a load balancer's error page.
        readiness = Readiness({"api": relay.check}, optional=["api"])
        own = [*service_routes(readiness), *routes]
        self._service: App = Router(own, redirect_slashes=False)
        self._service_paths = {route.path for route in own}
        observe = observer("web", self._name_of, logs=log_requests)
        self._boundary = ErrorBoundary(self._answer, readiness, observe)
        self.drain = self._boundary.drain

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_finished(message: Message) -> None:
            if message["type"] == "http.response.start" and not message.pop("relayed", False):
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._boundary(scope, receive, send_finished)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        await self._app_for(scope)(scope, receive, send)

    def _app_for(self, scope: Message) -> App:
        if scope["raw_path"].startswith(RELAYED):
            return self._relay
        if scope["method"] not in METHODS:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})
        return self._service if scope["path"] in self._service_paths else self._file(scope)

    def _file(self, scope: Message) -> Response:
        file, headers = choose_file(self._files, scope["path"]), Headers(scope=scope)
        if file:
            return file_response(file, headers.get("accept-encoding", ""), headers.get("if-none-match", ""))
        if scope["path"].startswith(ASSETS):
            raise HTTPException(404, headers=NO_STORE)
        raise HTTPException(503, NOT_BUILT, NO_STORE)

    async def close(self) -> None:
        self._relay.close()

    def _name_of(self, scope: Message) -> str:
        """Return the request's route label for metrics. A few labels cover all paths."""
        if scope["path"] in self._service_paths:
            return f"GET {scope['path']}"
        beginnings = ("/v1/", "/auth/", ASSETS, "/")
        return next((start for start in beginnings if scope["path"].startswith(start)), "/") + "*"
