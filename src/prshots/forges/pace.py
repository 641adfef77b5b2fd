"""Pace uploads by the service's reported rate limit, to avoid refusals."""

from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.contract.statements import message


class Pace:
    """How many uploads may be sent now. Not thread-safe.

    The service may or may not have counted an upload in transit. So there is only room for another if more
    are left than are in transit. At the limit, one upload at a time tests whether there is room again.
    """

    def __init__(self) -> None:
        self.limit: RateLimit | None = None
        self._until = 0.0
        self._on_their_way = 0

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next upload may be sent, or None to wait for a reply first."""
        if self.limit is None or self.limit.remaining > self._on_their_way:
            return 0.0
        return None if self._on_their_way else max(0.0, self._until - now)

    def start(self) -> None:
        self._on_their_way += 1

    def end(self) -> None:
        self._on_their_way -= 1

    def update(self, limit: RateLimit | None, now: float) -> None:
        """Record the limit from a reply. None means that the service isn't counting uploads now.

        Replies may arrive out of order. Until the limit resets, the lowest number counts.
        """
        if limit is None:
            self.limit = None
        elif self.limit is None or limit.remaining <= self.limit.remaining or now >= self._until:
            self.limit, self._until = limit, now + limit.seconds


def limit_message(limit: RateLimit) -> str:
    is_projects = limit.policy is LimitPolicy.PROJECT
    whose = message("projects_own_limit") if is_projects else "PRSHOTS_UPLOADS_PER_MINUTE"
    return message("limit_of_uploads", quota=f"{limit.quota:,}", whose=whose)
