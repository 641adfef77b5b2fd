"""The kind of forge at an address, the base URL of its API, and its token variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from prshots.contract import validate
from prshots.contract.addresses import github_api
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.validate import MAX_CHARACTERS

TOKEN_VARIABLE = "PRSHOTS_FORGE_TOKEN"  # noqa: S105 - a variable's name

_PUBLIC = {
    ForgeKind.GITHUB: "https://github.com",
    ForgeKind.GITLAB: "https://gitlab.com",
    ForgeKind.GITEA: "",  # has no public instance
    ForgeKind.BITBUCKET: "https://bitbucket.org",
}
_EVERYONES = {
    "github.com": ForgeKind.GITHUB,
    "gitlab.com": ForgeKind.GITLAB,
    "codeberg.org": ForgeKind.GITEA,
    "gitea.com": ForgeKind.GITEA,
    "bitbucket.org": ForgeKind.BITBUCKET,
}
_TOKENS = {
    ForgeKind.GITHUB: ("GITHUB_TOKEN", "GH_TOKEN"),
    ForgeKind.GITLAB: ("GITLAB_TOKEN",),  # CI_JOB_TOKEN can't write notes
    ForgeKind.GITEA: ("GITEA_TOKEN", "FORGEJO_TOKEN"),
    ForgeKind.BITBUCKET: ("BITBUCKET_TOKEN",),
}
_HOSTS = (
    (re.compile(r"github|\.ghe\.com\Z"), ForgeKind.GITHUB),
    (re.compile(r"gitlab"), ForgeKind.GITLAB),
    (re.compile(r"gitea|forgejo|\Acodeberg\.org\Z"), ForgeKind.GITEA),
    (re.compile(r"\Abitbucket\.org\Z"), ForgeKind.BITBUCKET),
)
_PULL_REQUESTS = (
    (re.compile(r"(?P<repository>.+)/-/merge_requests/(?P<number>\d+)"), ForgeKind.GITLAB),
    (re.compile(r"(?P<repository>[^/]+/[^/]+)/pull/(?P<number>\d+)"), ForgeKind.GITHUB),
    (re.compile(r"(?P<repository>[^/]+/[^/]+)/pulls/(?P<number>\d+)"), ForgeKind.GITEA),
    (re.compile(r"(?P<repository>[^/]+/[^/]+)/pull-requests/(?P<number>\d+)"), ForgeKind.BITBUCKET),
)
_REMOTES = (
    re.compile(
        r"(?P<scheme>https?|ssh|git)://(?:[^/]*@)?(?P<host>[\w.-]+)(?P<port>:\d+)?/+(?P<path>.+?)/*", re.ASCII
    ),
    re.compile(r"(?P<scheme>)(?:[^/]*@)?(?P<host>[\w.-]+):(?P<port>)(?!//)/?(?P<path>.+?)/*", re.ASCII),
)


@dataclass(frozen=True, slots=True)
class ForgeRepository:
    """A repository on a forge. The kind is None if unknown.

    `is_guessed` means that it was parsed from an address of a single repository or pull request.
    """

    kind: ForgeKind | None = None
    url: str = ""
    repository: str = ""
    pr_number: int | None = None
    is_guessed: bool = False


def repository_of_pull_request(address: str) -> ForgeRepository:
    parts = urlsplit(validate.address(address))
    for pattern, kind in _PULL_REQUESTS:
        if found := pattern.match(parts.path.strip("/")):
            if kind is ForgeKind.BITBUCKET and kind_of_host(parts.netloc) is not kind:
                return ForgeRepository()  # Bitbucket Data Center has a different API
            return ForgeRepository(
                kind,
                f"{parts.scheme}://{parts.netloc}",
                validate.repository(found["repository"]),
                validate.pr_number(found["number"]),
                is_guessed=True,
            )
    return ForgeRepository()


_PAGES = {
    ForgeKind.GITHUB: "pull",
    ForgeKind.GITLAB: "-/merge_requests",
    ForgeKind.GITEA: "pulls",
    ForgeKind.BITBUCKET: "pull-requests",
}


def pull_request_page(kind: ForgeKind | None, repository_url: str, number: int | None) -> str:
    if kind is None or number is None or not repository_url:
        return ""
    return f"{repository_url}/{_PAGES[kind]}/{number}"


def repository_of_remote(remote: str) -> ForgeRepository:
    """Return the repository of a git remote: https://host/o/r.git, git@host:o/r.git or ssh://host/o/r."""
    matches = (
        (pattern.fullmatch(remote.strip()) for pattern in _REMOTES) if len(remote) <= MAX_CHARACTERS else ()
    )
    found = next(filter(None, matches), None)
    repository = validate.repository(found["path"].removesuffix(".git")) if found else ""
    if found is None or "/" not in repository:
        return ForgeRepository()
    # Only the port of an http(s) remote is also the API's port.
    web = f"{found['scheme']}://{found['host']}{found['port'] or ''}" if "http" in found["scheme"] else ""
    url = web or f"https://{found['host']}"
    return ForgeRepository(kind_of_host(found["host"]), url, repository, is_guessed=True)


def kind_of_host(host: str) -> ForgeKind | None:
    """Guess the kind of forge by its host name, or return None. Anyone may choose such a name."""
    return next((kind for pattern, kind in _HOSTS if pattern.search(host.lower())), None)


def api_root(kind: ForgeKind | None, url: str = "") -> str:
    """Return the base URL of a forge's API. Without a web address, use the public instance."""
    if kind is None or not (url := url or _PUBLIC[kind]):
        return ""
    match kind:
        case ForgeKind.GITHUB:
            return github_api(url)
        case ForgeKind.GITLAB:
            return f"{url}/api/v4"
        case ForgeKind.GITEA:
            return f"{url}/api/v1"
        case ForgeKind.BITBUCKET:
            return "https://api.bitbucket.org/2.0"


def kind_of_api(api: str) -> ForgeKind | None:
    """Return the kind of forge by the base URL of its API, or None if unknown."""
    host, path = urlsplit(api).netloc, urlsplit(api).path
    versions = {"/api/v3": ForgeKind.GITHUB, "/api/v4": ForgeKind.GITLAB, "/api/v1": ForgeKind.GITEA}
    by_path = next((kind for version, kind in versions.items() if path.endswith(version)), None)
    return by_path or kind_of_host(host.removeprefix("api."))


def kind_of_public_api(api: str) -> ForgeKind | None:
    """Return the kind of public forge that has this API, such as github.com, or None if none does."""
    host = urlsplit(api).netloc.lower().removeprefix("api.")
    return ForgeKind.GITHUB if host.endswith(".ghe.com") else _EVERYONES.get(host)


def forge_token(kind: ForgeKind | None, environ: Mapping[str, str]) -> str:
    """Return the token for this kind of forge, from PRSHOTS_FORGE_TOKEN or the usual variables."""
    names = list(_TOKENS[kind]) if kind else []
    if runs_on_gitea(environ):  # its runner sets its own token as GITHUB_TOKEN, which isn't a GitHub token
        if kind is ForgeKind.GITEA:
            names.append("GITHUB_TOKEN")
        elif kind is ForgeKind.GITHUB:
            names.remove("GITHUB_TOKEN")
    return validate.token(validate.first(environ, TOKEN_VARIABLE, *names))


def runs_on_gitea(environ: Mapping[str, str]) -> bool:
    """Return whether this runs in Gitea or Forgejo Actions, which also set GitHub's variables."""
    if validate.is_on(environ, "GITEA_ACTIONS") or validate.is_on(environ, "FORGEJO_ACTIONS"):
        return True
    api = validate.root(environ.get("GITHUB_API_URL"))
    return validate.is_on(environ, "GITHUB_ACTIONS") and api.endswith("/api/v1")
