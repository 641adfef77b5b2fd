"""The web component: the dashboard's files, and the API behind the same origin.

The browser sees one origin only, so no CORS header exists anywhere.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from prshots.http.edge import App, Edge, Message, Receive, Send
from prshots.http.origins import origin_of
from prshots.http.relay import Relay, resumable
from prshots.http.web_files import ASSETS, WebFile, choose_file, file_response, load_files

RELAYED = (b"/v1/", b"/auth/")
METHODS = ("GET", "HEAD")
NO_STORE = {"Cache-Control": "no-store"}
NOT_BUILT = "the dashboard is not built: run make run, or install prshots again"


def create_web(
    *, files: Path, api_url: str, web_url: str, img_url: str, avatar_origins: Sequence[str]
) -> App:
    # The page's own icon is an image too, to a browser; nothing else of ours is.
    images = [origin_of(img_url), *avatar_origins, f"{web_url}/favicon.svg"]
    return Web(load_files(files), Relay(api_url), security_headers(images))


def content_security_policy(images: Sequence[str]) -> str:
    """Return the policy: nothing inline, no frames, nothing from elsewhere but these images."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        f"img-src {' '.join(dict.fromkeys(images))}; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


def security_headers(images: Sequence[str]) -> dict[str, str]:
    return {
        "Content-Security-Policy": content_security_policy(images),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


class Web:
    """An ASGI app. Its own replies carry the security headers; the API's go out as they came."""

    def __init__(self, files: Mapping[str, WebFile], relay: Relay, headers: Mapping[str, str]) -> None:
        self._files, self._relay = files, relay
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._edge = Edge(self._answer)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return

        async def send_finished(message: Message) -> None:
            if message["type"] == "http.response.start":
                # A relayed reply has the API's request id, and not the edge's besides.
                own = [*message["headers"], *self._headers]
                message["headers"] = message.pop("relayed", own)
            await send(message)

        await self._edge(scope, resumable(receive), send_finished)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> None:
        reply = self._relay if scope["raw_path"].startswith(RELAYED) else self._own_reply(scope)
        await reply(scope, receive, send)

    def _own_reply(self, scope: Message) -> Response:
        if scope["method"] not in METHODS:
            raise HTTPException(405, headers={"Allow": ", ".join(METHODS)})
        if scope["path"] == "/healthz":
            return JSONResponse({"status": "ok"}, headers=NO_STORE)
        file, headers = choose_file(self._files, scope["path"]), Headers(scope=scope)
        if file:
            return file_response(file, headers.get("accept-encoding", ""), headers.get("if-none-match", ""))
        if scope["path"].startswith(ASSETS):
            raise HTTPException(404, headers=NO_STORE)
        raise HTTPException(503, NOT_BUILT, NO_STORE)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._relay.close()
        await send({"type": "lifespan.shutdown.complete"})
