"""Quotas: what applies, how much of it is used, and the operator's changes."""

from prshots.contract.errors import QUOTA_REACHED, InvalidInputError, NotFoundError, QuotaReachedError
from prshots.contract.sizes import MAX_QUOTA_BYTES
from prshots.server.domain.projects.models import Organization, Project
from prshots.server.domain.storage.models import Limit, Limits, QuotaUse, Scope
from prshots.server.domain.storage.ports import QuotaRecords


class Quotas:
    """`defaults` apply where the operator set nothing. 0 means no limit."""

    def __init__(
        self, records: QuotaRecords, organization_default: int = 0, project_default: int = 0
    ) -> None:
        self.records = records
        self.defaults: dict[Scope, int] = {"organization": organization_default, "project": project_default}

    def limits_of(self, project: Project) -> Limits:
        """Return what limits uploads to a project."""
        return self._limits(
            ("project", project.id, project.quota_bytes),
            ("organization", project.organization_id, project.organization_quota_bytes),
        )

    async def require_room(self, limits: Limits, size: int) -> None:
        """Raise QuotaReachedError if this many bytes don't fit, before they are stored.

        Uploads at the same time may still not fit together: the transaction of each decides.
        """
        if any(use.bytes + size > use.limit for use in await self._uses(limits)):
            raise QuotaReachedError(QUOTA_REACHED)

    async def uses_of_project(self, project: Project) -> list[QuotaUse]:
        return await self._uses(self.limits_of(project))

    async def uses_of_organization(self, organization: Organization) -> list[QuotaUse]:
        limits = self._limits(("organization", organization.id, organization.quota_bytes))
        return await self._uses(limits)

    async def set_quota(self, of: Scope, holder_id: str, quota_bytes: int | None) -> None:
        """Set a quota, None for the service's default. Raises InvalidInputError, NotFoundError."""
        if quota_bytes is not None and not 0 <= quota_bytes <= MAX_QUOTA_BYTES:
            raise InvalidInputError(
                f"quota_bytes takes 0 (no limit) to {MAX_QUOTA_BYTES} bytes, or null for the default; "
                f"got {quota_bytes}"
            )
        if not await self.records.set_quota(of, holder_id, quota_bytes, self.defaults[of]):
            raise NotFoundError("not found")

    def _limits(self, *holders: tuple[Scope, str, int | None]) -> Limits:
        limits = [
            Limit(of, holder_id, self.defaults[of] if quota_bytes is None else quota_bytes)
            for of, holder_id, quota_bytes in holders
        ]
        return [limit for limit in limits if limit.bytes]

    async def _uses(self, limits: Limits) -> list[QuotaUse]:
        return [QuotaUse(limit.of, await self.records.stored(limit), limit.bytes) for limit in limits]
