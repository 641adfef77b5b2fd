"""The port for the audit log, with the errors that each call raises."""

from collections.abc import Mapping
from typing import Protocol

from prshots.server.domain.audit.models import Action, AuditEntry, AuditFilter


class AuditRecords(Protocol):
    """The audit log. Raises RecordsError. Other records add to it in the transactions of the acts."""

    async def entries(
        self, organization_id: str | None, which: AuditFilter, before: int | None, limit: int
    ) -> list[AuditEntry]:
        """Return entries, newest first, with a `seq` below `before`.

        "" means the acts on the whole installation, and None means all entries.
        """

    async def add(
        self, action: Action, *, target: str = "", details: Mapping[str, object] | None = None
    ) -> None:
        """Record an act on the installation that happened outside the database. Raises RecordsFullError."""

    async def discard_old(self, until: int, limit: int) -> int:
        """Remove up to about `limit` entries from this time or earlier. Return how many."""
