"""The ports for projects, with the errors that each call raises."""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from prshots.contract.limits import Policy
from prshots.server.domain.projects.models import (
    DayOfUploads,
    Project,
    ProjectReference,
    ProjectSummary,
    Role,
    Trust,
    UploadToken,
)


class ProjectRecords(Protocol):
    """The projects. Raises RecordsError. Methods that write also raise RecordsFullError."""

    async def add_project(self, project: Project) -> None:
        """Add a project. Raises ConflictError if its organization already has a project with that name."""

    async def project(self, name: str, organization_id: str) -> Project | None: ...

    async def projects(self) -> list[Project]: ...

    async def change_project(self, project: Project, now: int) -> None:
        """Write all fields that can change. Raises ConflictError if the name is taken.

        Other review verdicts change gates, so the newest open pull requests go out to the forge again.
        """

    async def set_repository(self, project_id: str, repository: str, keyless_token_id: str = "") -> None:
        """Set the project's repository, unless it has one. A keyless token's trust must name it."""

    async def retire_project(self, project_id: str, now: int, limit: int) -> int:
        """Revoke tokens, remove trusts, and schedule up to `limit` images. Return how many are left."""

    async def remove_project(self, project_id: str) -> bool:
        """Remove a project with its tokens, trusts and totals. Return False if it still has images."""


class TokenRecords(Protocol):
    """The upload tokens of projects. Raises RecordsError. Methods that write also raise RecordsFullError."""

    async def add_token(self, token: UploadToken) -> None:
        """Add a token. Raises NotFoundError if its project no longer exists."""

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        """Find a token that isn't revoked by its hash. Never cached, so revoking takes effect immediately."""

    async def tokens(self, project_id: str) -> list[UploadToken]:
        """Return tokens, oldest first, without the short-lived ones."""

    async def revoke_token(
        self, token_id: str, now: int, revoked_by: str = "", project_id: str | None = None
    ) -> bool:
        """Revoke a token, of this project if given. Keep an earlier time. Return False if it is unknown.

        `revoked_by` is a login, or empty for the CLI.
        """

    async def touch_token(self, token_id: str, now: int) -> None: ...

    async def discard_expired_tokens(self, now: int, limit: int) -> int:
        """Remove up to `limit` expired short-lived tokens. Return how many."""


class ProjectOverview(Protocol):
    """The dashboard's queries about projects, paged by the last entry's key. Raises RecordsError."""

    async def project_of(self, user_id: str, project_id: str) -> tuple[Project, Role] | None:
        """Find a project by its id. Return None if the user isn't a member of its organization."""

    async def projects_of(
        self, user_id: str, after: tuple[str, str] | None, limit: int
    ) -> list[ProjectSummary]:
        """Return a page of projects, ordered by (name, id)."""

    async def summary_of(self, user_id: str, project_id: str) -> ProjectSummary | None: ...

    async def days(self, project_ids: Collection[str], since_day: int) -> dict[str, list[DayOfUploads]]:
        """Return the days with uploads since `since_day`, oldest first, for each project that has any."""

    async def tokens(self, project_id: str, before: tuple[int, str] | None, limit: int) -> list[UploadToken]:
        """Return tokens, newest (created_at, id) first, without the short-lived ones."""

    async def tokens_of_member(
        self, organization_id: str, user_id: str, now: int, limit: int
    ) -> list[tuple[UploadToken, str]]:
        """Return valid tokens that the user created, with the names of their projects, oldest first."""

    async def would_expire(
        self, project_id: str, policy: Policy, retain_days: int | None, now: int
    ) -> tuple[int, int]:
        """Return how many images and bytes a sweep would expire now under these rules."""


class TrustRecords(Protocol):
    """The trusts of projects. Raises RecordsError. Methods that write also raise RecordsFullError."""

    async def add_trust(self, trust: Trust, anchor: str, most: int) -> None:
        """Add a trust. Raises ConflictError if the project already has the same trust, or `most` trusts.

        Raises NotFoundError if the project no longer exists.
        """

    async def trusts(self, project_id: str) -> list[Trust]:
        """Return a project's trusts, newest (created_at, id) first."""

    async def is_trusted(self, issuer: str) -> bool:
        """Return whether any project trusts this issuer."""

    async def trusts_by_anchor(
        self, issuer: str, anchors: Collection[str], project: ProjectReference
    ) -> list[tuple[Trust, Project]]:
        """Return the trusts for this issuer that have one of these anchors, oldest first.

        Include only projects that `project` can refer to.
        """

    async def remove_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        """Remove a trust, of this project if given, and its tokens. Return False if it doesn't exist."""

    async def touch_trust(self, trust_id: str, now: int) -> None: ...

    async def pin_trust(self, trust_id: str, pins: Mapping[str, str]) -> Mapping[str, str] | None:
        """Pin a trust, unless it is already pinned. Return its pins, or None if it doesn't exist."""

    async def unpin_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        """Forget the pins and the refused ids. Return False if it doesn't exist, as in `remove_trust`."""

    async def note_refused_ids(self, trust_id: str, ids: Mapping[str, str], now: int) -> None: ...

    async def add_token_of_trust(self, token: UploadToken) -> bool:
        """Add a short-lived token. Return False if its trust was removed."""


class Issuers(Protocol):
    """Verifies the ID tokens of OpenID issuers."""

    async def verify(self, issuer: str, id_token: str) -> dict[str, Any]:
        """Return the claims of an ID token that this issuer signed and that is currently valid.

        Raises ExchangeRefusedError, or ProviderError if the issuer's keys are unavailable.
        """
