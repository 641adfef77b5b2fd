"""Keyless upload: the trusts of a project, and the exchange of ID tokens for upload tokens."""

import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prshots.contract import errors
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
"""The longest text we accept or log from an unverified caller: a project's name, a token's subject."""

_NAME_IT = "set project to organization/name, or to the project's id"


class Trusts:
    """The trusts of projects. The operator decides which issuers they may trust (`allowed`)."""

    def __init__(
        self, records: TrustRecords, allowed: Collection[str], clock: Callable[[], float] = time.time
    ) -> None:
        self._records = records
        self._allowed = allowed
        self._clock = clock

    async def add(
        self, project: Project, issuer: str, claims: Mapping[str, str], created_by: str = ""
    ) -> Trust:
        """Raise InvalidInputError, ConflictError."""
        if issuer not in self._allowed:
            raise errors.InvalidInputError(
                f"projects cannot trust the issuer {issuer[:MAX_TEXT]!r}: use one of "
                f"{', '.join(self._allowed) or '(none)'}, or ask the operator to add it to "
                "PRSHOTS_TRUSTED_ISSUERS"
            )
        check_claims(claims)
        trust = Trust(secrets.token_hex(6), project.id, issuer, dict(claims), int(self._clock()), created_by)
        await self._records.add_trust(trust, anchor_of(claims), MAX_TRUSTS)
        return trust

    async def of(self, project: Project) -> list[Trust]:
        return await self._records.trusts(project.id)

    async def remove(self, trust_id: str, project: Project | None = None) -> None:
        """Remove a trust (only from `project`, if given) and its tokens. Raises NotFoundError."""
        if not await self._records.remove_trust(trust_id, project.id if project else None):
            raise _no_trust(trust_id)

    async def unpin(self, trust_id: str, project: Project | None = None) -> None:
        """Forget the repository's ids, so that the next job pins its own. Raises as `remove`."""
        if not await self._records.unpin_trust(trust_id, project.id if project else None):
            raise _no_trust(trust_id)


@dataclass(frozen=True, slots=True)
class IdToken:
    """A CI job's ID token, and what it says about itself. None of it is verified."""

    text: str = field(repr=False)
    issuer: str
    audiences: Sequence[str]
    subject: str


@dataclass(frozen=True, slots=True)
class Granted:
    project: Project
    expires_at: int
    secret: str = field(repr=False)


class TokenExchange:
    """Exchanges a CI job's ID token for an upload token that is valid for 15 minutes.

    The same ID token may be exchanged more than once while it is valid, because jobs retry and have several
    steps.
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

    async def grant(self, id_token: IdToken, project: str = "") -> Granted:
        """Exchange an ID token for a token of the project that `project` names.

        Raises ExchangeRefusedError, ProviderError, RecordsError. Anyone can call this, so it does all cheap
        checks before it asks the database or the issuer.
        """
        try:
            return await self._grant(id_token, _project(project))
        except errors.ExchangeRefusedError as error:
            about = map(_loggable, (str(error), id_token.issuer, id_token.subject))
            raise type(error)(*about) from error

    async def _grant(self, id_token: IdToken, wanted: ProjectReference) -> Granted:
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
        of_job = replace(
            token,
            expires_at=now + TOKEN_SECONDS,
            trust_id=trust.id,
            pr_number=pull_request_of(claims),
            branch=branch_of(trust.claims, claims),
        )
        if not await self._records.add_token_of_trust(of_job):
            raise errors.ExchangeRefusedError("the trust has just been removed")
        await self._last_use.note(trust.id, trust.last_used_at or 0, now, trust=trust.id)
        return Granted(project, now + TOKEN_SECONDS, secret)

    async def _matching_trusts(
        self, issuer: str, claims: Mapping[str, Any], wanted: ProjectReference
    ) -> list[tuple[Trust, Project]]:
        """Return the trusts that these claims meet, all of one project.

        A project of someone else never counts, unless the job names exactly that project: anyone can add a
        trust for any repository to their own project.
        """
        candidates = await self._records.trusts_by_anchor(issuer, anchors_of(claims), wanted)
        candidates = [found for found in candidates if found[1].id == wanted.project] or candidates
        matching = [
            (trust, project) for trust, project in candidates if find_unmet(trust.claims, claims) is None
        ]
        if not candidates and not wanted.is_exact:
            which = f"no project {wanted.project!r}" if wanted.project else "no project"
            raise errors.ProjectUnclearError(
                f"{which} of the organization 'local' trusts this job: add a trust, or {_NAME_IT}"
            )
        if not candidates:
            raise errors.ExchangeRefusedError(f"no trust in project {str(wanted)!r} names this repository")
        if not matching:
            names = ", ".join(sorted({str(find_unmet(trust.claims, claims)) for trust, _ in candidates}))
            raise errors.ExchangeRefusedError(f"the token's claims do not match the trust: {names}")
        if len({project.id for _, project in matching}) > 1:
            raise errors.ProjectUnclearError(f"several projects trust this job: {_NAME_IT}")
        return matching

    async def _with_same_ids(
        self, matching: list[tuple[Trust, Project]], claims: Mapping[str, Any], now: int
    ) -> tuple[Trust, Project]:
        """Return the first trust that is pinned to this job's repository. The first job pins it."""
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


# What a job's ID token says beyond names: the ids of its repository, and its pull request. A name can be
# given to someone else: a repository is deleted or renamed, and another one takes its name. So a trust pins
# the ids behind the names that it requires. An id that a trust requires itself needs no pin.

_GITHUB_IDS = ("repository_id", "repository_owner_id")  # also Gitea and Forgejo, as far as they have them
_GITLAB_IDS = ("project_id", "namespace_id")

# The ids behind a claim whose value, up to its first `*`, matches. A `group/*` of GitLab has none: the
# namespace of a subgroup is another one.
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
# the base branch as `ref`. GitLab says it in none of its claims so far.
_PULL_REQUEST = {
    "ref": re.compile(r"refs/pull/([1-9][0-9]{0,8})/(?:merge|head)"),
    "ref_path": re.compile(r"refs/merge-requests/([1-9][0-9]{0,8})/(?:merge|head|train)"),
    "merge_request_iid": re.compile(r"([1-9][0-9]{0,8})"),
    "pullRequestId": re.compile(r"([1-9][0-9]{0,8})"),
}

# What starts a job of a branch. Everything else may be a pull request's. GitLab's names follow GitHub's.
_EVENTS_OF_BRANCHES = {
    *("push", "schedule", "workflow_dispatch", "repository_dispatch"),
    *("web", "api", "trigger", "pipeline", "parent_pipeline"),
}


def ids_to_pin(required: Mapping[str, str], carried: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids, as this token has them, behind the names that a trust requires."""
    wanted = {
        name
        for claim, form, ids in _IDS_BEHIND
        if form.fullmatch(required.get(claim, ""))
        for name in ids
        if name not in required
    }
    return {name: text for name in sorted(wanted) if (text := _id(carried.get(name)))}


def differing_ids(pins: Mapping[str, str], carried: Mapping[str, Any]) -> dict[str, str]:
    """Return this token's ids that differ from the pinned ones; a missing id is empty."""
    return {name: _id(carried.get(name)) for name, pin in pins.items() if _id(carried.get(name)) != pin}


def pull_request_of(carried: Mapping[str, Any]) -> int | None:
    """Return the number of the pull request that a job runs for, if its claims say it."""
    for claim, form in _PULL_REQUEST.items():
        for text in texts_of(carried.get(claim)):
            if found := form.fullmatch(text):
                return int(found[1])
    return None


def branch_of(required: Mapping[str, str], carried: Mapping[str, Any]) -> str | None:
    """Return the branch whose baselines a job can write: the one it runs for, if its trust names a ref.

    A job of a pull request never can, even if it runs the base branch's code (`pull_request_target`).
    """
    if pull_request_of(carried) is not None or not _names_a_ref(required):
        return None
    event = _id(carried.get("event_name")) or _id(carried.get("pipeline_source"))
    if event and event not in _EVENTS_OF_BRANCHES:
        return None
    ref = _id(carried.get("ref_path")) or _id(carried.get("ref"))
    if ref.startswith("refs/"):
        return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
    return ref or None if _id(carried.get("ref_type")) in {"", "branch"} else None


def _names_a_ref(required: Mapping[str, str]) -> bool:
    """Return whether a trust is for certain refs. A lone `*` is for any."""
    named = [required.get(claim, "") for claim in ("ref", "ref_path")]
    named.append(required.get("sub", "").partition(":ref:")[2])
    return any(value.strip("*") for value in named)


def _id(carried: object) -> str:
    """Return a claim's value as text; "" if it has none, or several."""
    texts = list(texts_of(carried))
    return texts[0] if len(texts) == 1 and len(texts[0]) <= MAX_VALUE and texts[0].isprintable() else ""
