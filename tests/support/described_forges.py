"""Forge look-alikes behind Prism, which holds every request against the forge's own description of its API.

GitHub publishes its descriptions to npm (`@octokit/openapi`). Those of GitLab, Gitea and Bitbucket are in no registry:
`descriptions/gitlab.json`, `gitea.json` and `bitbucket.json` are our extracts, with the calls that we make.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from support.free_ports import free_port
from support.http_server import Answer, answering, as_json, relay
from support.node_server import node_server

FOLDER = Path(__file__).parent / "descriptions"
OF_GITHUB = FOLDER / "node_modules" / "@octokit" / "openapi" / "generated"
_NO_GRAPHQL = as_json(404, {"message": "Not Found"})
"""The descriptions are of the REST API. Without GraphQL, the clients ask that."""


@dataclass
class DescribedForge:
    """`url` is the root of the API. `calls` are the described operations that were called, as "get /user"."""

    description: dict[str, Any]
    root: str
    url: str = ""
    calls: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)

    def seen(self, method: str, target: str, reply: str) -> None:
        """Note the call. Prism ignores unknown query parameters, so they are looked for here."""
        path = urlsplit(target).path
        template = next((known for known in self.description["paths"] if _matches(known, path)), "")
        operation = self.description["paths"].get(template, {}).get(method.lower(), {})
        shared = self.description["paths"].get(template, {}).get("parameters", [])
        described = {self._resolved(one)["name"] for one in [*shared, *operation.get("parameters", [])]}
        unknown = {name for name, _ in parse_qsl(urlsplit(target).query)} - described
        self.calls.add(f"{method.lower()} {template}")
        if not operation:
            self.violations.append(f"{method} {target} is not described")
        if unknown:
            self.violations.append(f"{method} {target}: no such query parameter: {unknown}")
        if "stoplight" in reply:  # a problem that Prism reports, as described in its docs
            self.violations.append(f"{method} {target}: {reply}")

    def _resolved(self, parameter: dict[str, Any]) -> dict[str, Any]:
        return _at(self.description, parameter["$ref"]) if "$ref" in parameter else parameter


@contextlib.contextmanager
def described(
    description: dict[str, Any], look_alike: str, root: str, folder: Path
) -> Iterator[DescribedForge]:
    """Run Prism in front of a look-alike. `root` is the path of the API, which descriptions leave out."""
    forge = DescribedForge(description, root)
    (folder / "description.json").write_text(json.dumps(description))
    port = free_port()
    arguments = (str(port), str(folder / "description.json"), look_alike + root)
    with (
        node_server(FOLDER / "prism.mjs", *arguments),
        httpx.Client(trust_env=False, timeout=60) as client,
        answering(_relay(forge, client, f"http://127.0.0.1:{port}")) as url,
    ):
        forge.url = url + root
        yield forge


def of_github(name: str) -> dict[str, Any]:
    """Return the part of GitHub's description that is about pull requests, comments and commit statuses.

    The whole takes Prism minutes. Replies are not checked: they are the emulator's.
    """
    whole = json.loads((OF_GITHUB / f"{name}.json").read_text())
    wanted = re.compile(
        r"/user|/repos/{owner}/{repo}/(issues|pulls|statuses|commits/{commit_sha}/pulls)(/.*)?"
    )
    paths = {path: item for path, item in whole["paths"].items() if wanted.fullmatch(path)}
    for item in paths.values():
        for operation in item.values():
            operation["responses"] = {"default": {"description": "not checked"}}
    cut = {"openapi": whole["openapi"], "info": whole["info"], "paths": paths}
    pending = [paths]
    while pending:  # add what the paths refer to, and what that refers to
        for reference in set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(pending.pop()))):
            *parents, last = reference.split("/")
            place: dict[str, Any] = cut
            for parent in parents:
                place = place.setdefault(parent, {})
            if last not in place:
                place[last] = _at(whole, reference)
                pending.append(place[last])
    return cut


def of_others(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def _matches(template: str, path: str) -> bool:
    return re.fullmatch(re.sub(r"{[^}]+}", "[^/]+", template), path) is not None


def _at(document: dict[str, Any], reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document


def _relay(
    forge: DescribedForge, client: httpx.Client, prism: str
) -> Callable[[BaseHTTPRequestHandler, bytes], Answer]:
    def answer(asked: BaseHTTPRequestHandler, body: bytes) -> Answer:
        if asked.path.endswith("/graphql"):
            return _NO_GRAPHQL
        target = asked.path.removeprefix(forge.root)
        reply = relay(asked, body, client, prism + target)
        forge.seen(asked.command, target, reply[2].decode())
        return reply

    return answer
