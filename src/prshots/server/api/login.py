"""Sign-in over HTTP: `/auth/*`, the session cookie, and the origin check for changes."""

from typing import TypedDict
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from prshots.contract.errors import ForbiddenError, InvalidInputError, SignInRefusedError
from prshots.server.api.request_body import STRANGER_SECONDS, json_object
from prshots.server.domain.audit.models import ActorKind, act_as
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
    login = _Login(signin, web_url)
    return [
        Route("/auth/providers", login.list_providers, methods=["GET"]),
        Route("/auth/login/{provider}", login.go_to_provider, methods=["GET"]),
        Route("/auth/callback/{provider}", login.return_from_provider, methods=["GET"]),
        Route("/auth/link", login.redeem_link, methods=["POST"]),
        Route("/auth/sign-out", login.sign_out, methods=["POST"]),
        Route("/auth/sign-out-everywhere", login.sign_out_everywhere, methods=["POST"]),
    ]


class _Login:
    def __init__(self, signin: SignIn, web_url: str) -> None:
        self._signin, self._web_url = signin, web_url
        self._session_cookie = _session_cookie(web_url)
        # Binds a sign-in to the browser that started it.
        self._login_cookie = _Cookie("prshots_login", STATE_SECONDS, web_url)

    async def list_providers(self, _: Request) -> JSONResponse:
        providers: list[ProviderView] = [
            {"id": provider.id, "label": provider.label} for provider in self._signin.providers.values()
        ]
        view: ProvidersView = {"providers": providers, "web_url": self._web_url}
        return JSONResponse(view, headers=_NO_STORE)

    # A browser navigates to the next two routes, so even a refusal must be a page.

    async def go_to_provider(self, request: Request) -> RedirectResponse:
        given = self._login_cookie.read(request)
        browser_secret = given if is_secret(given) else new_secret()  # all tabs share it
        try:
            url = await self._signin.begin(
                request.path_params["provider"],
                return_to=request.query_params.get("return_to", "/"),
                browser_secret=browser_secret,
                redirect_uri=self._callback(request),
            )
        except SignInRefusedError as refused:
            return self._back_to_sign_in(refused)
        response = RedirectResponse(url, 302, _NO_STORE)
        self._login_cookie.give(response, browser_secret)
        return response

    async def return_from_provider(self, request: Request) -> RedirectResponse:
        query = request.query_params
        try:
            secret, return_to = await self._signin.complete(
                request.path_params["provider"],
                state=query.get("state", ""),
                code=query.get("code", ""),
                error=query.get("error", ""),
                browser_secret=self._login_cookie.read(request),
                redirect_uri=self._callback(request),
            )
        except SignInRefusedError as refused:
            return self._back_to_sign_in(refused)
        response = RedirectResponse(f"{self._web_url}{return_to}", 303, _NO_STORE)
        self._session_cookie.give(response, secret)
        return response

    def _callback(self, request: Request) -> str:
        return f"{self._web_url}/auth/callback/{request.path_params['provider']}"

    def _back_to_sign_in(self, refused: SignInRefusedError) -> RedirectResponse:
        return RedirectResponse(f"{self._web_url}/sign-in?problem={refused.refusal}", 303, _NO_STORE)

    async def redeem_link(self, request: Request) -> JSONResponse:
        require_own_origin(request, self._web_url)
        code = (await json_object(request, seconds=STRANGER_SECONDS)).get("code")
        if not isinstance(code, str):
            raise InvalidInputError("code required")
        response = JSONResponse({"ok": True}, headers=_NO_STORE)
        self._session_cookie.give(response, await self._signin.redeem_link(code))
        return response

    async def sign_out(self, request: Request) -> JSONResponse:
        require_own_origin(request, self._web_url)
        await self._signin.sign_out(self._session_cookie.read(request))
        return self._signed_out()

    async def sign_out_everywhere(self, request: Request) -> JSONResponse:
        require_own_origin(request, self._web_url)
        await self._signin.sign_out_everywhere(await find_signed_in(request, self._signin, self._web_url))
        return self._signed_out()

    def _signed_out(self) -> JSONResponse:
        response = JSONResponse({"ok": True}, headers=_NO_STORE)
        self._session_cookie.take_back(response)
        return response


async def find_signed_in(request: Request, signin: SignIn, web_url: str) -> User:
    """Return the user of the request's session. Raises UnauthorizedError."""
    user = await signin.user_of(_session_cookie(web_url).read(request))
    act_as(ActorKind.PERSON, user.id, user.login)
    return user


def require_own_origin(request: Request, web_url: str) -> None:
    """Raise ForbiddenError if a page on another site sent the request. Browsers send the page's origin.

    The origin must be the dashboard's configured address or the address that the browser used, with the
    scheme of the configured one: anyone on the network can serve a page at `http://` for an `https://`
    dashboard. Newer browsers also send whether the page and the address have the same origin.
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
    """Return the scheme, host and port, or None if the text isn't exactly an origin, such as `null`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    is_bare = parts.netloc and url == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    if parts.scheme not in _DEFAULT_PORT or not parts.hostname or not is_bare:
        return None
    return parts.scheme, parts.hostname, port or _DEFAULT_PORT[parts.scheme]


class _Cookie:
    def __init__(self, name: str, seconds: int, web_url: str) -> None:
        self._seconds, self._is_secure = seconds, web_url.startswith("https://")
        # With this prefix, browsers accept the cookie only over https and only from this host, not a sibling.
        self._name = f"__Host-{name}" if self._is_secure else name

    def read(self, request: Request) -> str:
        """Return the cookie's value, or "" if it is missing or repeated.

        Another site may have set a second one.
        """
        pairs = (
            pair.partition("=") for header in request.headers.getlist("cookie") for pair in header.split(";")
        )
        values = [value.strip() for name, _, value in pairs if name.strip() == self._name]
        return values[0] if len(values) == 1 else ""

    def give(self, response: Response, value: str) -> None:
        response.set_cookie(
            self._name, value, max_age=self._seconds, secure=self._is_secure, httponly=True, samesite="lax"
        )

    def take_back(self, response: Response) -> None:
        response.delete_cookie(self._name, secure=self._is_secure, httponly=True, samesite="lax")


def _session_cookie(web_url: str) -> _Cookie:
    return _Cookie("prshots_session", SESSION_SECONDS, web_url)
