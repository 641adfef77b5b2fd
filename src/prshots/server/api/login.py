"""Sign-in over HTTP: `/auth/*`, the session cookie, and the origin check for changes."""

from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from prshots.contract.errors import ForbiddenError, InvalidInputError, SignInRefusedError
from prshots.server.api.request_body import STRANGER_SECONDS, json_object
from prshots.server.domain.people.login_flow import is_secret, new_secret
from prshots.server.domain.people.models import User
from prshots.server.domain.people.sign_in import SESSION_SECONDS, STATE_SECONDS, SignIn
from prshots.server.http.json_response import JSONResponse

_NO_STORE = {"Cache-Control": "no-store"}
_DEFAULT_PORT = {"http": 80, "https": 443}


class ProviderView(TypedDict):
    id: str
    label: str


class ProvidersView(TypedDict):
    providers: list[ProviderView]
    web_url: str
    """The dashboard's address. Sign-in must start there."""


def login_routes(signin: SignIn, *, web_url: str) -> list[Route]:
    async def providers(_: Request) -> JSONResponse:
        view: ProvidersView = {
            "providers": [
                {"id": provider.id, "label": provider.label} for provider in signin.providers.values()
            ],
            "web_url": web_url,
        }
        return JSONResponse(view, headers=_NO_STORE)

    return [
        Route("/auth/providers", providers, methods=["GET"]),
        *_provider_routes(signin, web_url),
        *_session_routes(signin, web_url),
    ]


def _provider_routes(signin: SignIn, web_url: str) -> list[Route]:
    """Return the routes to a login provider and back. A browser follows them, so a refusal is a page too."""
    login_cookie = _login_cookie(web_url)

    async def login(request: Request) -> RedirectResponse:
        provider, given = request.path_params["provider"], login_cookie.read(request)
        browser_secret = given if is_secret(given) else new_secret()  # shared by all tabs
        try:
            url = await signin.begin(
                provider,
                return_to=request.query_params.get("return_to", "/"),
                browser_secret=browser_secret,
                redirect_uri=f"{web_url}/auth/callback/{provider}",
            )
        except SignInRefusedError as refused:
            return _back_to_sign_in(web_url, refused)
        response = RedirectResponse(url, 302, _NO_STORE)
        login_cookie.give(response, browser_secret)
        return response

    async def callback(request: Request) -> RedirectResponse:
        provider, query = request.path_params["provider"], request.query_params
        try:
            secret, return_to = await signin.complete(
                provider,
                state=query.get("state", ""),
                code=query.get("code", ""),
                error=query.get("error", ""),
                browser_secret=login_cookie.read(request),
                redirect_uri=f"{web_url}/auth/callback/{provider}",
            )
        except SignInRefusedError as refused:
            return _back_to_sign_in(web_url, refused)
        response = RedirectResponse(f"{web_url}{return_to}", 303, _NO_STORE)
        _session_cookie(web_url).give(response, secret)
        return response

    return [
        Route("/auth/login/{provider}", login, methods=["GET"]),
        Route("/auth/callback/{provider}", callback, methods=["GET"]),
    ]


def _session_routes(signin: SignIn, web_url: str) -> list[Route]:
    cookie = _session_cookie(web_url)

    async def link(request: Request) -> JSONResponse:
        require_own_origin(request, web_url)
        code = (await json_object(request, seconds=STRANGER_SECONDS)).get("code")
        if not isinstance(code, str):
            raise InvalidInputError("code required")
        response = _done()
        cookie.give(response, await signin.redeem_link(code))
        return response

    async def sign_out(request: Request) -> JSONResponse:
        require_own_origin(request, web_url)
        await signin.sign_out(cookie.read(request))
        response = _done()
        cookie.take_back(response)
        return response

    async def sign_out_everywhere(request: Request) -> JSONResponse:
        require_own_origin(request, web_url)
        await signin.sign_out_everywhere(await find_signed_in(request, signin, web_url))
        response = _done()
        cookie.take_back(response)
        return response

    return [
        Route("/auth/link", link, methods=["POST"]),
        Route("/auth/sign-out", sign_out, methods=["POST"]),
        Route("/auth/sign-out-everywhere", sign_out_everywhere, methods=["POST"]),
    ]


async def find_signed_in(request: Request, signin: SignIn, web_url: str) -> User:
    """Return the user of the session cookie. Raises UnauthorizedError."""
    return await signin.user_of(_session_cookie(web_url).read(request))


def require_own_origin(request: Request, web_url: str) -> None:
    """Raise ForbiddenError if another site's page sent the request. Browsers send the page's origin.

    The origin must be the dashboard's configured address, or the address that the browser used to reach it,
    with the same scheme: anyone on the network can put a page on `http://` of an `https://` dashboard. New
    browsers also say whether the page has the same origin as the address.
    """
    headers = request.headers
    given, hosts = headers.getlist("origin"), headers.getlist("host")
    scheme = web_url.partition(":")[0]
    accepted = {_origin(web_url), *(_origin(f"{scheme}://{host}") for host in hosts if len(hosts) == 1)}
    origin = _origin(given[0]) if len(given) == 1 else None
    is_same = all(site == "same-origin" for site in headers.getlist("sec-fetch-site"))
    if origin is None or origin not in accepted or not is_same:
        raise ForbiddenError("this request did not come from the dashboard")


def _origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port; None if there is more or less in the text, as in the origin `null`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    is_bare = parts.netloc and url == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    if parts.scheme not in _DEFAULT_PORT or not parts.hostname or not is_bare:
        return None
    return parts.scheme, parts.hostname, port or _DEFAULT_PORT[parts.scheme]


@dataclass(frozen=True, slots=True)
class _Cookie:
    name: str
    seconds: int
    secure: bool

    def read(self, request: Request) -> str:
        """Return its value, or "" if there is none or more than one: then another site may have set one."""
        pairs = (
            pair.partition("=") for header in request.headers.getlist("cookie") for pair in header.split(";")
        )
        values = [value.strip() for name, _, value in pairs if name.strip() == self.name]
        return values[0] if len(values) == 1 else ""

    def give(self, response: Response, value: str) -> None:
        response.set_cookie(
            self.name, value, max_age=self.seconds, secure=self.secure, httponly=True, samesite="lax"
        )

    def take_back(self, response: Response) -> None:
        response.delete_cookie(self.name, secure=self.secure, httponly=True, samesite="lax")


def _session_cookie(web_url: str) -> _Cookie:
    return _cookie("prshots_session", SESSION_SECONDS, web_url)


def _login_cookie(web_url: str) -> _Cookie:
    """Return the cookie that ties a sign-in to the browser that started it."""
    return _cookie("prshots_login", STATE_SECONDS, web_url)


def _cookie(name: str, seconds: int, web_url: str) -> _Cookie:
    # With this prefix a browser accepts it only over https and only from this host, not from a sibling.
    secure = web_url.startswith("https://")
    return _Cookie(f"__Host-{name}" if secure else name, seconds, secure)


def _back_to_sign_in(web_url: str, refused: SignInRefusedError) -> RedirectResponse:
    return RedirectResponse(f"{web_url}/sign-in?problem={refused.refusal}", 303, _NO_STORE)


def _done() -> JSONResponse:
    return JSONResponse({"ok": True}, headers=_NO_STORE)
