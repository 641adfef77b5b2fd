"""Valid requests of every route of the API, the dashboard, the web component and delivery."""

import json
import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from PIL import Image

from prshots.server.api.dashboard.routes import ROUTES
from support.nasty_pictures import encoded
from support.raw_requests import MULTIPART, body_of, part
from support.service import SHA, UNTRUSTED_ISSUER, Service, upload
from support.signed_in_people import sign_in

PORTS = ("api", "web", "delivery")
SMALL_PNG = encoded(Image.new("RGB", (8, 8), "teal"))
EXPIRE = {"pr_number": 9, "merged_as": SHA, "branch": "main"}
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Part:
    """A part of a multipart body."""

    disposition: str
    body: bytes
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Draft:
    """A request that is not yet bytes. A mutation changes its pieces, and its length stays right."""

    port: str
    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[bytes, bytes], ...] = ()
    json: Any = None
    parts: tuple[Part, ...] | None = None
    raw_body: bytes | None = None
    """Replaces the JSON or the parts, if set."""

    @property
    def body(self) -> bytes | None:
        if self.raw_body is not None:
            return self.raw_body
        if self.parts is not None:
            return multipart(self.parts)
        return None if self.json is None else json.dumps(self.json).encode()

    @property
    def target(self) -> bytes:
        query = "&".join(f"{name}={value}" for name, value in self.query)
        return (f"{self.path}?{query}" if query else self.path).encode("utf-8", "surrogatepass")

    def with_header(self, name: bytes, value: bytes) -> "Draft":
        """Return the draft with this header instead of others of the same name."""
        kept = tuple(header for header in self.headers if header[0].lower() != name.lower())
        return replace(self, headers=(*kept, (name, value)))

    def wire(self) -> bytes:
        """Return the bytes to send."""
        body = self.body
        headers: Headers = [(b"Host", b"localhost"), *self.headers]
        if self.parts is not None and not any(name.lower() == b"content-type" for name, _ in headers):
            headers.append((b"Content-Type", MULTIPART.encode()))
        if body is not None:
            headers.append((b"Content-Length", str(len(body)).encode()))
        lines = [self.method.encode() + b" " + self.target + b" HTTP/1.1"]
        lines += [name + b": " + value for name, value in headers]
        return b"\r\n".join([*lines, b"", b""]) + (body or b"")


def multipart(parts: tuple[Part, ...]) -> bytes:
    return body_of(part(each.disposition, each.body, *each.headers) for each in parts)


State = Mapping[str, str]
"""What the requests name: a signed-in session, a project and its contents."""


def new_state(service: Service) -> State:
    """Create a person, a project with two images, a token and a trust. Requests of the old state may have broken it."""
    with sign_in(service) as person, sign_in(service) as leaver:
        project = person.project(f"drill-{secrets.token_hex(8)}")
        token = person.token(project)
        trust = person.ask(
            "POST", f"/projects/{project}/trusts", issuer=UNTRUSTED_ISSUER, claims={"repository": "o/r"}
        )
        with service.client(token) as client:
            shots = [upload(client, SMALL_PNG, pr_number=7).json() for _ in range(2)]
        view = urlsplit(shots[0]["view_url"])
        return {
            "web": service.web_url,
            "session": person.session_cookie,
            "leaving_session": leaver.session_cookie,
            "organization": person.organization_id,
            "project": project,
            "token": token,
            "trust": trust.json()["id"],
            "view": f"{view.path}?{view.query}",
            "image": shots[0]["id"],
            "image2": shots[1]["id"],
        }


QUERIES: dict[str, dict[str, str]] = {
    "/projects": {"after": ""},
    "/projects/{project_id}/would-expire": {"policy": "retain_days", "retain_days": "3"},
    "/projects/{project_id}/usage": {"days": "30"},
    "/projects/{project_id}/pulls": {"state": "open", "q": "7", "after": ""},
    "/projects/{project_id}/pulls/{pr_number}/shots": {"after": ""},
    "/projects/{project_id}/pulls/{pr_number}/images": {"name": "checkout/cart", "viewport": "1280x800"},
    "/projects/{project_id}/tokens": {"after": ""},
    "/organizations/{organization_id}/members": {"after": ""},
}


def dashboard_body(path: str, state: State) -> dict[str, Any]:
    """Return a body with every field that a dashboard route takes. Others ignore it."""
    bodies: dict[str, dict[str, Any]] = {
        "/projects": {"name": "drill-new", "organization_id": state["organization"]},
        "/projects/{project_id}": {"name": "drill-renamed", "policy": "retain_days", "retain_days": 30},
        "/projects/{project_id}/delete": {"name": "not its name"},
        "/projects/{project_id}/thumbnails": {"ids": [state["image"], state["image2"]]},
        "/projects/{project_id}/tokens": {"label": "ci"},
        "/projects/{project_id}/trusts": {"issuer": UNTRUSTED_ISSUER, "claims": {"repository": "o/r", "ref": "main"}},
        "/organizations": {"name": "drill-team"},
        "/organizations/{organization_id}/invitations": {"login": "someone", "role": "member"},
        "/organizations/{organization_id}/members/{member_id}": {"role": "owner"},
    }  # fmt: skip
    return bodies.get(path, {})


def drafts(state: State) -> dict[str, list[Draft]]:
    """Return every valid request, by the port it goes to."""
    api = [*_public(state), *_comparison(state), *_sign_in(state), *_dashboard(state)]
    return {
        "api": api,
        "web": [*(replace(draft, port="web") for draft in api), *_pages(state)],
        "delivery": _delivery(state),
    }


def _shot(**texts: str) -> tuple[Part, ...]:
    """Return the parts of an upload: an image, and these fields."""
    image = Part('form-data; name="image"; filename="shot.png"', SMALL_PNG, ("Content-Type: image/png",))
    return (image, *(Part(f'form-data; name="{name}"', text.encode()) for name, text in texts.items()))


def _public(state: State) -> list[Draft]:
    bearer = ((b"Authorization", f"Bearer {state['token']}".encode()),)
    shot = _shot(name="checkout/cart", pr_number="7", commit_sha=SHA, viewport="1280x800", theme="dark")
    comment = (("pr_number", "7"), ("limit", "60000"), ("marker", "html"), ("view", "changes"))
    uploads = [Draft("api", "POST", "/v1/upload", headers=bearer, parts=shot)] * 6
    open_ = ("/v1/limits", "/openapi.json", "/docs", "/healthz", "/readyz", "/auth/providers")
    return [
        *uploads,
        Draft("api", "DELETE", f"/v1/images/{state['image2']}", headers=bearer),
        *[Draft("api", "GET", "/v1/comment", comment, bearer)] * 2,
        *[Draft("api", "POST", "/v1/expire", headers=bearer, json=EXPIRE)] * 3,
        *[Draft("api", "POST", "/v1/oidc/token", json={"id_token": _jwt(), "project": state["project"]})] * 2,
        *(Draft("api", "GET", path) for path in open_),
    ]


def _comparison(state: State) -> list[Draft]:
    bearer = ((b"Authorization", f"Bearer {state['token']}".encode()),)
    baseline = _shot(name="checkout/cart", branch="main", commit_sha=SHA, viewport="1280x800")
    commit = {"branch": "main", "commit_sha": SHA}
    shot = {"name": "checkout/cart", "viewport": "1280x800", "theme": "", "sha256": "0" * 64}
    compare = commit | {"pr_number": 7, "commits": [SHA], "complete": True}
    repository = "https://forge.example/acme/shop"
    pull = {"pr_number": 7, "repository": repository, "url": f"{repository}/pull/7", "title": "Fix the cart"}
    return [
        *[Draft("api", "POST", "/v1/baseline", headers=bearer, parts=baseline)] * 2,
        Draft("api", "POST", "/v1/baseline/known", headers=bearer, json=commit | {"shots": [shot]}),
        Draft("api", "POST", "/v1/upload/known", headers=bearer, json=compare | {"shots": [shot]}),
        Draft("api", "POST", "/v1/baseline/complete", headers=bearer, json=commit),
        *[Draft("api", "POST", "/v1/compare", headers=bearer, json=compare)] * 2,
        Draft("api", "GET", "/v1/compare", (("pr_number", "7"),), bearer),
        Draft("api", "POST", "/v1/pull", headers=bearer, json=pull),
    ]


def _sign_in(state: State) -> list[Draft]:
    own = ((b"Origin", state["web"].encode()),)
    leaving = (*own, _cookie(state["leaving_session"]))
    return [
        Draft("api", "GET", "/auth/login/github", (("return_to", "/"),)),
        Draft("api", "GET", "/auth/callback/github", (("state", "s" * 43), ("code", "c"), ("error", ""))),
        Draft("api", "POST", "/auth/link", headers=own, json={"code": "c" * 43}),
        Draft("api", "POST", "/auth/sign-out", headers=leaving, json={}),
        Draft("api", "POST", "/auth/sign-out-everywhere", headers=leaving, json={}),
    ]


def _dashboard(state: State) -> list[Draft]:
    headers = ((b"Origin", state["web"].encode()), _cookie(state["session"]))
    named = {
        "{project_id}": state["project"], "{pr_number}": "7", "{image_id}": state["image2"],
        "{token_id}": "0" * 16, "{trust_id}": state["trust"], "{organization_id}": state["organization"],
        "{member_id}": "0" * 16,
    }  # fmt: skip
    made = []
    for route in ROUTES:
        path = route.path
        for name, value in named.items():
            path = path.replace(name, value)
        query = tuple(QUERIES.get(route.path, {}).items()) if route.method == "GET" else ()
        body = None if route.method == "GET" else dashboard_body(route.path, state)
        made.append(Draft("api", route.method, f"/v1/dashboard{path}", query, headers, json=body))
    return made


def _pages(state: State) -> list[Draft]:
    paths = (
        "/",
        "/index.html",
        "/sign-in",
        f"/projects/{state['project']}",
        "/assets/missing.js",
        "/favicon.ico",
        "/healthz",
    )
    return [Draft("web", "GET", path, (("after", "x"),)) for path in paths]


def _delivery(state: State) -> list[Draft]:
    path, _, query = state["view"].partition("?")
    parameters = tuple(tuple(pair.split("=", 1)) for pair in query.split("&"))
    conditions: Mapping[bytes, bytes] = {
        b"Range": b"bytes=0-9",
        b"If-None-Match": f'"{state["image"]}"'.encode(),
        b"If-Range": f'"{state["image"]}"'.encode(),
    }
    made = [Draft("delivery", method, path, parameters) for method in ("GET", "GET", "HEAD")]
    made += [Draft("delivery", "GET", path, parameters, (pair,)) for pair in conditions.items()]
    made.append(Draft("delivery", "GET", path, parameters, tuple(conditions.items())))
    made.append(Draft("delivery", "GET", f"/check{path}", parameters))
    made.append(Draft("delivery", "GET", "/healthz"))
    return made


def _cookie(secret: str) -> tuple[bytes, bytes]:
    return b"Cookie", f"prshots_session={secret}".encode()


def _jwt() -> str:
    """Return an ID token that nobody signed."""
    return "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjkiLCJhdWQiOiJhIn0.c2ln"


def pick(rng: random.Random, made: Mapping[str, list[Draft]]) -> Draft:
    """Pick a request. Delivery is the quickest of the three, and web asks the API again."""
    port = rng.choices(PORTS, (4, 2, 4))[0]
    return rng.choice(made[port])
