"""Projects and their upload tokens."""

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypedDict, Unpack

from prshots.contract.errors import InvalidInputError, NotFoundError, UnauthorizedError
from prshots.contract.limits import UPLOAD_TOKEN, Policy
from prshots.server.domain.audit.models import ActorKind, act_as
from prshots.server.domain.projects.credentials import LastUse, hash_of, new_upload_token
from prshots.server.domain.projects.models import (
    LOCAL_ORGANIZATION,
    REVIEWABLE,
    Access,
    Organization,
    Project,
    UploadToken,
    check_name,
    check_repository,
)
from prshots.server.domain.projects.ports import ProjectRecords, TokenRecords

MAX_LABEL = 200
MAX_TOKEN_DAYS = 3650
MAX_RETAIN_DAYS = 36_500
MAX_KEEP_BASELINES = 1000
MAX_UPLOADS_PER_MINUTE = 10_000
LOCAL = Organization(LOCAL_ORGANIZATION, LOCAL_ORGANIZATION, personal=False, created_at=0)


class ProjectChanges(TypedDict, total=False):
    name: str
    policy: Policy
    retain_days: int | None
    keep_baselines: int
    repository: str
    uploads_per_minute: int | None
    review_verdicts: str
    four_eyes: bool


class Projects:
    def __init__(
        self, records: ProjectRecords, tokens: TokenRecords, clock: Callable[[], float] = time.time
    ) -> None:
        self._records = records
        self._tokens = tokens
        self._clock = clock
        self._last_use = LastUse("token", tokens.touch_token)

    async def create_project(
        self,
        name: str,
        policy: Policy = Policy.PR_CLOSE,
        retain_days: int | None = None,
        organization: Organization = LOCAL,
        uploads_per_minute: int | None = None,
    ) -> Project:
        """Create a project. Raises InvalidInputError, ConflictError."""
        project = Project(
            secrets.token_hex(8),
            name,
            organization.id,
            organization.name,
            policy,
            retain_days,
            int(self._clock()),
            uploads_per_minute=uploads_per_minute,
        )
        _check_project(project)
        await self._records.add_project(project)
        return project

    async def projects(self) -> list[Project]:
        return await self._records.projects()

    async def project(self, name: str) -> Project:
        """Return a project that was created with the CLI. Raises NotFoundError."""
        project = await self._records.project(name, LOCAL_ORGANIZATION)
        if project is None:
            raise NotFoundError(f"no project {name!r}: `prshots project list` lists them")
        return project

    async def change_project(self, before: Project, **changes: Unpack[ProjectChanges]) -> Project:
        """Change only the given fields. Raises InvalidInputError, ConflictError."""
        after = replace(before, **changes)
        _check_project(after)
        await self._records.change_project(after, int(self._clock()))
        return after

    async def create_token(
        self,
        project: Project,
        label: str = "",
        created_by: str = "",
        creator_id: str | None = None,
        expires_days: int | None = None,
    ) -> tuple[UploadToken, str]:
        """Create a token. Return its record and its secret. The secret isn't stored anywhere.

        Raises InvalidInputError, NotFoundError if the project was deleted.
        """
        if len(label) > MAX_LABEL or not label.isprintable():
            raise InvalidInputError(f"a label takes up to {MAX_LABEL} printable characters; got {label!r}")
        if expires_days is not None and not 1 <= expires_days <= MAX_TOKEN_DAYS:
            raise InvalidInputError(f"expires_days takes 1 to {MAX_TOKEN_DAYS:,} days; got {expires_days}")
        token, secret = new_upload_token(project.id, label, now := int(self._clock()))
        expires_at = None if expires_days is None else now + int(timedelta(days=expires_days).total_seconds())
        token = replace(token, created_by=created_by, creator_id=creator_id, expires_at=expires_at)
        await self._tokens.add_token(token)
        return token, secret

    async def tokens(self, project: Project) -> list[UploadToken]:
        return await self._tokens.tokens(project.id)

    async def revoke_token(self, token_id: str, revoked_by: str = "", project: Project | None = None) -> None:
        """Revoke a token. With `project`, only from that project. Raises NotFoundError."""
        project_id = project.id if project else None
        if not await self._tokens.revoke_token(token_id, int(self._clock()), revoked_by, project_id):
            raise NotFoundError(f"no token {token_id!r}: `prshots token list PROJECT` lists them")

    async def authenticate(self, secret: str) -> Access:
        """Return the access that an upload token grants. Raises UnauthorizedError, RecordsError."""
        is_token = UPLOAD_TOKEN.fullmatch(secret) is not None
        found = await self._tokens.project_of_token(hash_of(secret)) if is_token else None
        if found is None:
            raise UnauthorizedError("unauthorized")
        (token, project), now = found, int(self._clock())
        if token.expires_at is not None and token.expires_at <= now:
            raise UnauthorizedError("unauthorized")
        if token.trust_id is None:
            await self._last_use.note(token.id, token.last_used_at or 0, now, token=token.id)
        act_as(ActorKind.TOKEN, token.id, token.label or token.hint)
        return Access(
            project,
            only_pr=token.pr_number or None,
            is_keyless=token.trust_id is not None,
            branch=token.branch if token.pr_number is None else None,
            head=token.branch,
            token_id=token.id,
            token_label=token.label,
            expires_at=token.expires_at,
        )


def _check_project(project: Project) -> None:
    check_name("a project", project.name)
    days = project.retain_days
    if project.policy is Policy.RETAIN_DAYS and days is None:
        raise InvalidInputError(
            "policy retain_days needs a number of days: set retain_days (--retain-days N)"
        )
    if days is not None and not 1 <= days <= MAX_RETAIN_DAYS:
        raise InvalidInputError(f"retain_days takes 1 to {MAX_RETAIN_DAYS} days; got {days}")
    if not 1 <= project.keep_baselines <= MAX_KEEP_BASELINES:
        raise InvalidInputError(
            f"keep_baselines takes 1 to {MAX_KEEP_BASELINES} commits; got {project.keep_baselines}"
        )
    limit = project.uploads_per_minute
    if limit is not None and not 1 <= limit <= MAX_UPLOADS_PER_MINUTE:
        raise InvalidInputError(
            f"uploads_per_minute takes 1 to {MAX_UPLOADS_PER_MINUTE:,} uploads per minute; got {limit}"
        )
    if not project.reviewed <= set(REVIEWABLE):
        raise InvalidInputError(
            f"review_verdicts takes any of {', '.join(REVIEWABLE)}; got {project.review_verdicts!r}"
        )
    if project.repository:
        check_repository(project.repository)
