"""People who are signed in to a running service, without a login provider."""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from prshots.server.domain.people.allow_list import AllowList
from prshots.server.domain.people.models import Session, User
from prshots.server.domain.people.sign_in import SignIn
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Organization, Role
from support.service import Service
from support.stores_and_records import open_all


class Person(httpx.Client):
    """A browser session: the cookie, and the Origin that the dashboard's pages send."""

    user_id: str
    login: str
    organization_id: str
    session_cookie: str

    @property
    def browser_cookies(self) -> list[Any]:
        """The session, for a browser's context."""
        return [{"name": "prshots_session", "value": self.session_cookie, "url": str(self.base_url)}]

    def ask(self, method: str, path: str, **body: Any) -> httpx.Response:
        """Call the dashboard's API with `body` as JSON."""
        return self.request(method, f"/v1/dashboard{path}", json=body if method != "GET" else None)

    def get_json(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def project(self, name: str = "") -> str:
        """Create a project in the person's own organization, and return its id."""
        name = name or f"project-{secrets.token_hex(4)}"
        reply = self.ask("POST", "/projects", name=name, organization_id=self.organization_id)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["id"])

    def organization(self, *members: "Person") -> str:
        """Create an organization with these maintainers, who accept the person's invitations, and return its id."""
        made = self.ask("POST", "/organizations", name=f"team-{secrets.token_hex(4)}").json()["id"]
        for member in members:
            self.add_member(made, member)
        return str(made)

    def add_member(self, organization_id: str, member: "Person", role: str = "maintainer") -> None:
        """Invite a person, who accepts."""
        path = f"/organizations/{organization_id}"
        invited = self.ask("POST", f"{path}/invitations", login=member.login, role=role)
        assert invited.status_code == 201, invited.text
        assert member.ask("POST", f"{path}/members").status_code == 201

    def token(self, project_id: str) -> str:
        reply = self.ask("POST", f"/projects/{project_id}/tokens", label="ci")
        assert reply.status_code == 201, reply.text
        return str(reply.json()["secret"])


def sign_in_operator(service: Service) -> Person:
    """Sign in with a one-time link, as `prshots login-link` creates it."""

    async def redeem() -> str:
        async with open_all(service.data_dir) as (_, people, _):
            signing_in = SignIn(people, {}, AllowList())
            return await signing_in.redeem_link(await signing_in.make_link())

    with ThreadPoolExecutor(1) as thread:  # as below
        secret = thread.submit(asyncio.run, redeem()).result()
    person = Person(
        base_url=service.web_url,
        headers={"Origin": service.web_url, "Cookie": f"prshots_session={secret}"},
        timeout=60,
        trust_env=False,
    )
    person.session_cookie = secret
    return person


def sign_in(
    service: Service, login: str = "", *, operator: bool = False, groups: Collection[str] | None = None
) -> Person:
    """Write a user and a session into the service's database, as a sign-in would."""
    now = int(time.time())
    identity, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    login = login or f"user-{identity}"
    user = User(identity, "github", f"subject-{identity}", login, login.title(), "", now)
    own = Organization(secrets.token_hex(8), login, personal=True, created_at=now)

    async def write() -> None:
        async with open_all(service.data_dir) as (_, people, _):
            await people.add_user(user, own)
            session = Session(hashlib.sha256(secret.encode()).hexdigest(), user.id, now, now)
            await people.add_session(session, groups, most=9)
            if operator:
                await people.set_member(LOCAL_ORGANIZATION, user.id, Role.OWNER)

    with ThreadPoolExecutor(1) as thread:  # browser tests already run an event loop in their thread
        thread.submit(asyncio.run, write()).result()
    person = Person(
        base_url=service.web_url,
        headers={"Origin": service.web_url, "Cookie": f"prshots_session={secret}"},
        timeout=60,
        trust_env=False,
    )
    person.user_id, person.login = user.id, login
    person.organization_id, person.session_cookie = own.id, secret
    return person
