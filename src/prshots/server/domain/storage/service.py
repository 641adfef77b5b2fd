"""Quotas: what applies, how much of it is used, and the operator's changes."""

from prshots.contract.errors import QUOTA_REACHED, InvalidInputError, NotFoundError, QuotaReachedError
from prshots.server.domain.projects.models import Organization, Project
from prshots.server.domain.storage.models import MAX_QUOTA_BYTES, Limits, QuotaUse
from prshots.server.domain.storage.ports import QuotaRecords


class Quotas:
    """`organization_default` and `project_default` apply where the operator set nothing. 0 means no limit."""

    def __init__(
        self, records: QuotaRecords, organization_default: int = 0, project_default: int = 0
    ) -> None:
        self.records = records
        self.organization_default, self.project_default = organization_default, project_default

    def limits_of(self, project: Project) -> Limits | None:
        """Return what limits uploads to a project, or None if nothing does."""
        return _limits(
            project.organization_id,
            project.id,
            _effective(project.organization_quota_bytes, self.organization_default),
            _effective(project.quota_bytes, self.project_default),
        )

    async def require_room(self, limits: Limits, size: int) -> None:
        """Raise QuotaReachedError if this many bytes don't fit, before they are stored.

        Uploads at the same time may still not fit together: the transaction of each decides.
        """
        stored = await self.records.stored(limits)
        if any(
            limit and used + size > limit
            for used, limit in zip(stored, (limits.of_organization, limits.of_project), strict=True)
        ):
            raise QuotaReachedError(QUOTA_REACHED)

    async def uses_of_project(self, project: Project) -> list[QuotaUse]:
        return await self._uses(self.limits_of(project))

    async def uses_of_organization(self, organization: Organization) -> list[QuotaUse]:
        limit = _effective(organization.quota_bytes, self.organization_default)
        return await self._uses(_limits(organization.id, "", limit, 0))

    async def set_organization(self, organization_id: str, quota_bytes: int | None) -> None:
        """Set a quota, None for the service's default. Raises InvalidInputError, NotFoundError."""
        _check(quota_bytes)
        if not await self.records.set_organization(organization_id, quota_bytes, self.organization_default):
            raise NotFoundError("not found")

    async def set_project(self, project_id: str, quota_bytes: int | None) -> None:
        """Set a quota like `set_organization`."""
        _check(quota_bytes)
        if not await self.records.set_project(project_id, quota_bytes, self.project_default):
            raise NotFoundError("not found")

    async def _uses(self, limits: Limits | None) -> list[QuotaUse]:
        if limits is None:
            return []
        stored = await self.records.stored(limits)
        uses = (
            QuotaUse("project", stored.in_project, limits.of_project),
            QuotaUse("organization", stored.in_organization, limits.of_organization),
        )
        return [use for use in uses if use.limit]


def _limits(organization_id: str, project_id: str, of_organization: int, of_project: int) -> Limits | None:
    is_limited = of_organization or of_project
    return Limits(organization_id, project_id, of_organization, of_project) if is_limited else None


def _effective(quota_bytes: int | None, default: int) -> int:
    return default if quota_bytes is None else quota_bytes


def _check(quota_bytes: int | None) -> None:
    if quota_bytes is not None and not 0 <= quota_bytes <= MAX_QUOTA_BYTES:
        raise InvalidInputError(
            f"quota_bytes takes 0 (no limit) to {MAX_QUOTA_BYTES} bytes, or null for the default; "
            f"got {quota_bytes}"
        )
