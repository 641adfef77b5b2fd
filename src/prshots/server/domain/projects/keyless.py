"""Keyless upload: the trusts of a project, and the exchange of ID tokens for upload tokens."""

import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prshots.contract import errors
from prshots.contract.replies import GrantedToken
from prshots.server.domain.projects.claims import (
    MAX_VALUE,
    anchor_of,
    anchors_of,
    check_claims,
    find_unmet,
    texts_of,
)
from prshots.server.domain.projects.credentials import TOUCH_SECONDS, LastUse, new_upload_token
from prshots.server.domain.projects.models import Project, ProjectReference, Trust
from prshots.server.domain.projects.ports import Issuers, TrustRecords

TOKEN_SECONDS = 900
MAX_TRUSTS = 50
MAX_TEXT = 300
"""The maximum length of text accepted or logged from an unverified caller, such as a project's name."""

_NAME_IT = "set project to organization/name, or to the project's id"


class Trusts:
    """The trusts of projects. `allowed` has the issuers that the operator lets projects trust."""

    def __init__(self, records: TrustRecords, allowed: Collection[str]) -> None:
        self._records = records
        self._allowed = allowed

    async def add(
        self, project: Project, issuer: str, claims: Mapping[str, str], created_by: str = ""
    ) -> Trust:
        """Add a trust to a project. Raises InvalidInputError, ConflictError."""
        if issuer not in self._allowed:
            raise errors.InvalidInputError(
                f"projects cannot trust the issuer {issuer[:MAX_TEXT]!r}: use one of "
                f"{', '.join(self._allowed) or '(none)'}, or ask the operator to add it to "
                "PRSHOTS_TRUSTED_ISSUERS"
            )
        check_claims(claims)
        trust = Trust(secrets.token_hex(6), project.id, issuer, dict(claims), int(time.time()), created_by)
        await self._records.add_trust(trust, anchor_of(claims), MAX_TRUSTS)
        return trust

    async def of(self, project: Project) -> list[Trust]:
        return await self._records.trusts(project.id)

    async def remove(self, trust_id: str, project: Project | None = None) -> None:
        """Remove a trust and its tokens. With `project`, only from that project. Raises NotFoundError."""
        if not await self._records.remove_trust(trust_id, project.id if project else None):
            raise _no_trust(trust_id)

    async def unpin(self, trust_id: str, project: Project | None = None) -> None:
        """Forget the pinned ids. The next job pins its own. Raises the same errors as `remove`."""
        if not await self._records.unpin_trust(trust_id, project.id if project else None):
            raise _no_trust(trust_id)


@dataclass(frozen=True, slots=True)
class IdToken:
    """A CI job's ID token and its unverified contents."""

    text: str = field(repr=False)
    issuer: str
    audiences: Sequence[str]
    subject: str


class TokenExchange:
    """Exchanges a CI job's ID token for an upload token that is valid for 15 minutes.

    A job may exchange its ID token more than once, because jobs retry and have several steps.
    """

    def __init__(
        self,
        records: TrustRecords,
        issuers: Issuers,
        *,
        allowed: Collection[str],
        audiences: Collection[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._issuers = issuers
        self._allowed = frozenset(allowed)
        self._audiences = [audience.rstrip("/") for audience in audiences]
        self._clock = clock
        self._last_use = LastUse("trust", records.touch_trust)

    def allows(self, issuer: str) -> bool:
        """Return whether projects may trust this issuer."""
        return issuer in self._allowed

    async def grant(self, id_token: IdToken, project: str = "") -> GrantedToken:
        """Exchange an ID token for an upload token of this project.

        Raises ExchangeRefusedError, ProviderError, RecordsError. Anyone can call this, so all cheap checks
        come before queries to the database or the issuer.
        """
        try:
            return await self._grant(id_token, _project(project))
        except errors.ExchangeRefusedError as error:
            about = map(_loggable, (str(error), id_token.issuer, id_token.subject))
            raise type(error)(*about) from error

    async def _grant(self, id_token: IdToken, wanted: ProjectReference) -> GrantedToken:
        issuer = id_token.issuer
        if issuer not in self._allowed:
            raise errors.ExchangeRefusedError("the issuer is not in PRSHOTS_TRUSTED_ISSUERS")
        if not any(audience.rstrip("/") in self._audiences for audience in id_token.audiences):
            raise errors.ExchangeRefusedError(f"the token's audience is not {' or '.join(self._audiences)}")
        if not await self._records.is_trusted(issuer):
            raise errors.ExchangeRefusedError("no project trusts the issuer")
        claims = await self._issuers.verify(issuer, id_token.text)
        now = int(self._clock())
        matching = await self._matching_trusts(issuer, claims, wanted)
        trust, project = await self._with_same_ids(matching, claims, now)
        token, secret = new_upload_token(project.id, _loggable(claims.get("sub")), now)
        branch = branch_of(trust.claims, claims)
        of_job = replace(
            token,
            expires_at=now + TOKEN_SECONDS,
            trust_id=trust.id,
            pr_number=None if branch else pull_request_of(claims) or 0,
            branch=branch or head_of(claims),
        )
        if not await self._records.add_token_of_trust(of_job):
            raise errors.ExchangeRefusedError("the trust has just been removed")
        await self._last_use.note(trust.id, trust.last_used_at or 0, now, trust=trust.id)
        return GrantedToken(secret, now + TOKEN_SECONDS, project.name, project.id, project.organization)

    async def _matching_trusts(
        self, issuer: str, claims: Mapping[str, Any], wanted: ProjectReference
    ) -> list[tuple[Trust, Project]]:
        """Return the trusts of a single project that these claims meet.

        Someone else's project never counts unless the job names exactly that project, because anyone can add
        a trust for any repository to their own project.
        """
        candidates = await self._records.trusts_by_anchor(issuer, anchors_of(claims), wanted)
        candidates = [found for found in candidates if found[1].id == wanted.project] or candidates
        unmet = [find_unmet(trust.claims, claims) for trust, _ in candidates]
        matching = [found for found, name in zip(candidates, unmet, strict=True) if name is None]
        if not candidates and not wanted.is_exact:
            which = f"no project {wanted.project!r}" if wanted.project else "no project"
            raise errors.ProjectUnclearError(
                f"{which} of the organization 'local' trusts this job: add a trust, or {_NAME_IT}"
            )
        if not candidates:
            raise errors.ExchangeRefusedError(f"no trust in project {str(wanted)!r} names this repository")
        if not matching:
            names = ", ".join(sorted(set(filter(None, unmet))))
            raise errors.ExchangeRefusedError(f"the token's claims do not match the trust: {names}")
        if len({project.id for _, project in matching}) > 1:
            raise errors.ProjectUnclearError(f"several projects trust this job: {_NAME_IT}")
        return matching

    async def _with_same_ids(
        self, matching: list[tuple[Trust, Project]], claims: Mapping[str, Any], now: int
    ) -> tuple[Trust, Project]:
        """Return the first trust that is pinned to this job's repository. The first job sets the pins."""
        reasons = []
        for trust, project in sorted(matching, key=lambda found: found[0].pins is None):
            pins = trust.pins
            if pins is None and (ids := ids_to_pin(trust.claims, claims)):
                pins = await self._records.pin_trust(trust.id, ids)
            differing = differing_ids(pins or {}, claims)
            if not differing:
                return trust, project
            if trust.refused_ids != differing or now - (trust.refused_at or 0) >= TOUCH_SECONDS:
                await self._records.note_refused_ids(trust.id, differing, now)
            given = ", ".join(f"{name}={text or '(none)'}" for name, text in differing.items())
            reasons.append(f"trust {trust.id} is pinned to another repository than {given}")
        raise errors.ExchangeRefusedError(f"{'; '.join(reasons)}: reset the pin if this is right")


def _no_trust(trust_id: str) -> errors.NotFoundError:
    return errors.NotFoundError(f"no trust {trust_id!r}: `prshots project trusts NAME` lists them")


def _project(project: str) -> ProjectReference:
    if len(project) > MAX_TEXT or not project.isprintable():
        raise errors.ExchangeRefusedError("project is not a valid name or id")
    return ProjectReference.parse(project)


def _loggable(value: object) -> str:
    """Return unverified text from a token, shortened and without unprintable characters."""
    return "".join(filter(str.isprintable, value))[:MAX_TEXT] if isinstance(value, str) else ""


# Facts in a job's ID token beyond names: the ids of its repository, and its pull request. A name can change
# hands: someone deletes or renames a repository, and another one takes its name. To prevent misuse, a trust
# pins the ids behind the names that it requires. An id that the trust requires itself needs no pin.

_GITHUB_IDS = ("repository_id", "repository_owner_id")  # Gitea and Forgejo have some of these
_GITLAB_IDS = ("project_id", "namespace_id")

# The ids behind a claim whose value matches the pattern. GitLab's `group/*` has none, because a subgroup has
# its own namespace.
_IDS_BEHIND: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("repository", re.compile(r"[^/]+/[^/*]+"), _GITHUB_IDS),
    ("repository", re.compile(r"[^/]+/\*.*"), _GITHUB_IDS[1:]),
    ("repository_owner", re.compile(r"[^*]+"), _GITHUB_IDS[1:]),
    ("project_path", re.compile(r"[^*]+"), _GITLAB_IDS),
    ("namespace_path", re.compile(r"[^*]+"), _GITLAB_IDS[1:]),
    ("sub", re.compile(r"repo:[^/:*]+/[^/:*]+:.*"), _GITHUB_IDS),
    ("sub", re.compile(r"repo:[^/:*]+/\*.*"), _GITHUB_IDS[1:]),
    ("sub", re.compile(r"project_path:[^:*]+:.*"), _GITLAB_IDS),
)

# The claims that name a pull request. Jobs for `pull_request_target`, `workflow_run` and `issue_comment` have
# the base branch as `ref`. GitLab's tokens don't include the number so far.
_PULL_REQUEST = (
    ("ref", re.compile(r"refs/pull/([1-9][0-9]{0,8})/(?:merge|head)")),
    ("ref", re.compile(r"refs/heads/gh-readonly-queue/.+/pr-([1-9][0-9]{0,8})-[0-9a-f]{40}")),
    ("ref_path", re.compile(r"refs/merge-requests/([1-9][0-9]{0,8})/(?:merge|head|train)")),
    ("merge_request_iid", re.compile(r"([1-9][0-9]{0,8})")),
    ("pullRequestId", re.compile(r"([1-9][0-9]{0,8})")),
)

# Events that start a job on a branch. Any other event may belong to a pull request. GitLab's names follow
# GitHub's.
_EVENTS_OF_BRANCHES = {
    *("push", "schedule", "workflow_dispatch", "repository_dispatch"),
    *("web", "api", "trigger", "pipeline", "parent_pipeline"),
}


def ids_to_pin(required: Mapping[str, str], token_claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the token's ids behind the names that a trust requires."""
    wanted = {
        name
        for claim, form, ids in _IDS_BEHIND
        if form.fullmatch(required.get(claim, ""))
        for name in ids
        if name not in required
    }
    return {name: text for name in sorted(wanted) if (text := _id(token_claims.get(name)))}


def differing_ids(pins: Mapping[str, str], token_claims: Mapping[str, Any]) -> dict[str, str]:
    """Return the token's ids that differ from the pinned ones. A missing id is empty."""
    return {name: text for name, pin in pins.items() if (text := _id(token_claims.get(name))) != pin}


def pull_request_of(token_claims: Mapping[str, Any]) -> int | None:
    """Return the number of the pull request that a job runs for, if its claims include it."""
    for claim, form in _PULL_REQUEST:
        for text in texts_of(token_claims.get(claim)):
            if found := form.fullmatch(text):
                return int(found[1])
    return None


def branch_of(required: Mapping[str, str], token_claims: Mapping[str, Any]) -> str | None:
    """Return the branch whose baselines a job can write: its own branch, if the trust names a ref.

    A job for a pull request can't write any, even if it runs the base branch's code (`pull_request_target`).
    """
    if pull_request_of(token_claims) is not None or not _names_a_ref(required):
        return None
    return _own_branch(token_claims, {"", *_EVENTS_OF_BRANCHES})


def head_of(token_claims: Mapping[str, Any]) -> str | None:
    """Return the branch that a job runs for, or the head of its pull request, if its claims include it."""
    head = _id(token_claims.get("head_ref"))
    return head or _own_branch(token_claims, {"", "merge_request_event", *_EVENTS_OF_BRANCHES})


def _own_branch(token_claims: Mapping[str, Any], events: Collection[str]) -> str | None:
    """Return the branch in a job's `ref`, if one of these events started the job."""
    event = _id(token_claims.get("event_name")) or _id(token_claims.get("pipeline_source"))
    ref = _id(token_claims.get("ref_path")) or _id(token_claims.get("ref"))
    if event not in events:
        return None
    if ref.startswith("refs/"):
        return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
    return ref or None if _id(token_claims.get("ref_type")) in {"", "branch"} else None


def _names_a_ref(required: Mapping[str, str]) -> bool:
    """Return whether a trust is limited to certain refs. A lone `*` allows any ref."""
    named = [required.get(claim, "") for claim in ("ref", "ref_path")]
    named.append(required.get("sub", "").partition(":ref:")[2])
    return any(value.strip("*") for value in named)


def _id(claim: object) -> str:
    """Return a claim's value as text, or "" unless it has exactly one valid value."""
    texts = list(texts_of(claim))
    return texts[0] if len(texts) == 1 and len(texts[0]) <= MAX_VALUE and texts[0].isprintable() else ""
