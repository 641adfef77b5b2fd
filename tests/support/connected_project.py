"""A project that is connected to a forge look-alike: its jobs, the person who decides, and what arrives there."""

import asyncio
import hashlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import Policy
from prshots.server.adapters.forges.token_encryption import encrypt
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.people.models import Session, User
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Role
from prshots.server.wiring import existing_keys, projects_in, use_database
from support.drawn_pages import drawn_page, sha
from support.forges.forge_server import Answer, Asked
from support.forges.gitea_look_alike import GiteaLookAlike
from support.service import Service, upload
from support.signed_in_people import Person
from support.waiting import wait_for

BASE = sha("base")
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
FORGE_SETTINGS = {"FORGE_HOSTS": "127.0.0.1"}
"""The service only reaches look-alikes if the operator allows their host."""


class ConnectedForge(GiteaLookAlike):
    """A Gitea with any number of pull requests, which may refuse its token."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: list[tuple[str, str, str]] = []
        """Commit, state and description of every status `prshots`, in order of arrival."""

        self.unknown: dict[str, int] = {}
        """Pull requests that don't exist, by their commit."""

        self.refused: Counter[tuple[int, str]] = Counter()
        """How many requests there were for each of them, by kind."""

        self.retry_after = ""
        """If set, the forge answers nothing else."""

    def answer(self, asked: Asked) -> Answer:
        if self.retry_after:
            return Answer(429, {}, {"Retry-After": self.retry_after})
        if (number := self._unknown(asked.path)) is not None:
            self.refused[number, asked.path.split("/")[4]] += 1
            return Answer(404, self.shape("not_found"))
        if found := re.search(r"/issues/(\d+)/comments", asked.path):
            self.pr_number = int(found[1])  # all share one list: the marker tells their comments apart
        answer = super().answer(asked)
        if answer.status == 201 and "/statuses/" in asked.path and asked.body["context"] == "prshots":
            commit_sha = asked.path.rpartition("/")[2]
            self.arrived.append((commit_sha, asked.body["state"], asked.body["description"]))
        return answer

    def _unknown(self, path: str) -> int | None:
        name = path.split("/")[5] if path.count("/") >= 5 else ""
        return int(name) if name in set(map(str, self.unknown.values())) else self.unknown.get(name)

    def revoke_token(self) -> None:
        self._revoked = self.accounts.pop(self.token)

    def restore_token(self) -> None:
        self.accounts[self.token] = self._revoked


class ConnectedProject:
    """Calls the replicas in turn, each time with a new connection: any of their workers may answer."""

    def __init__(
        self,
        replicas: Sequence[Service],
        forge: ConnectedForge,
        policy: Policy = Policy.PR_CLOSE,
        *,
        name: str = "connected",
    ) -> None:
        """`name` is the beginning of the project's name. Projects with a forge in common are siblings."""
        self.replicas, self.forge, self.name = replicas, forge, f"{name}-{secrets.token_hex(4)}"
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self._set_up(policy)).result()

    async def _set_up(self, policy: Policy) -> None:
        settings, now = self.replicas[0].parsed_settings, int(time.time())
        name, secret = self.name, secrets.token_urlsafe(32)
        user = User(secrets.token_hex(8), "github", name, name, "Ann", "", now)
        async with use_database(settings) as database:
            accounts, people = projects_in(database), SqlPeople(database)
            project = await accounts.create_project(name, policy)
            await accounts.change_project(project, repository=f"{self.forge.public_url}/acme/shop")
            self.id, self.token = project.id, (await accounts.create_token(project, ""))[1]
            plain = Connection(project.id, ForgeKind.GITEA, self.forge.url, self.forge.repository, "", now)
            connection = encrypt(plain, self.forge.token, existing_keys(settings).ring())
            await SqlConnections(database).put(connection)
            await people.add_user(user, None)
            await people.set_member(LOCAL_ORGANIZATION, user.id, Role.OWNER)
            await people.add_session(Session(hashlib.sha256(secret.encode()).hexdigest(), user.id, now, now))
        self._cookie = f"prshots_session={secret}"

    def ci(self) -> httpx.Client:
        return secrets.choice(self.replicas).client(self.token)

    def person(self) -> Person:
        web_url = secrets.choice(self.replicas).web_url
        headers = {"Origin": web_url, "Cookie": self._cookie}
        return Person(base_url=web_url, headers=headers, timeout=60, trust_env=False)

    def upload_baselines(self, names: Sequence[str]) -> None:
        with self.ci() as ci:
            for name in names:
                fields = {"pr_number": None, "branch": "main", "commit_sha": BASE, "name": name}
                upload(ci, drawn_page(name), path="/v1/baseline", **fields).raise_for_status()
            ci.post("/v1/baseline/complete", json={"branch": "main", "commit_sha": BASE}).raise_for_status()

    def push(self, pr_number: int, commit_sha: str, colors: dict[str, str]) -> None:
        """Upload a shot for each name, with a button in this color."""
        with self.ci() as ci:
            for name, color in colors.items():
                fields = {"pr_number": pr_number, "commit_sha": commit_sha, "name": name}
                upload(ci, drawn_page(name, button=color), **fields).raise_for_status()

    def compare(self, pr_number: int, commit_sha: str) -> dict[str, Any]:
        body = {"pr_number": pr_number, "commit_sha": commit_sha, "branch": "main", "commits": [BASE]}
        with self.ci() as ci:
            reply = wait_for(
                lambda: ci.post("/v1/compare", json=body | {"complete": True}),
                lambda reply: reply.status_code != 202,
            )
        return dict(reply.raise_for_status().json())

    def latest(self, pr_number: int) -> dict[str, Any]:
        with self.ci() as ci:
            return dict(ci.get("/v1/compare", params={"pr_number": pr_number}).raise_for_status().json())

    def decide(self, pr_number: int, decision: str, shots: Sequence[dict[str, Any]]) -> httpx.Response:
        pairs = [{key: shot[key] for key in PAIR} for shot in shots]
        with self.person() as person:
            path = f"/projects/{self.id}/pulls/{pr_number}/decisions"
            return person.ask("POST", path, decision=decision, pairs=pairs)

    def expected(self, pr_number: int) -> tuple[str, dict[str, tuple[str, str]]]:
        """Return the newest compared commit, and the state and description of each status that it should have."""
        found = self.latest(pr_number)
        statuses = found["gate"]["statuses"]
        return found["commit_sha"], {
            each["context"]: (each["state"], each["description"]) for each in statuses
        }

    def has_arrived(self, pr_number: int) -> bool:
        """Tell whether the newest commit's last statuses are those that it should have."""
        commit_sha, expected = self.expected(pr_number)
        return all(
            [each[:2] for each in self.forge.statuses(commit_sha, context)[-1:]] == [status]
            for context, status in expected.items()
        )

    def outbox(self) -> Any:
        with self.person() as person:
            return person.get_json(f"/projects/{self.id}/outbox")


def is_open(shot: dict[str, Any]) -> bool:
    return bool(shot["review"]["state"] == "open")


def wait_for_status(project: ConnectedProject, pr_number: int) -> None:
    wait_for(lambda: project.has_arrived(pr_number), bool)
