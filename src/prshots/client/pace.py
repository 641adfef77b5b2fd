"""Pace uploads by what the service says about its rate limit, so that it does not have to refuse any."""

from prshots.contract.rate_limits import LimitPolicy, RateLimit

_WHOSE = {
    LimitPolicy.UPLOADS: "PRSHOTS_UPLOADS_PER_MINUTE",
    LimitPolicy.PROJECT: "the project's own limit",
}


class Pace:
    """How many uploads may be sent now. Not thread-safe.

    An upload on its way may be counted already or not. So there is room for another only if more are left
    than are on their way. At the limit, one upload at a time finds out whether there is room again.
    """

    def __init__(self) -> None:
        self.limit: RateLimit | None = None
        self._until = 0.0
        self._on_their_way = 0

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next upload may be sent. None: first another one needs its reply."""
        if self.limit is None or self.limit.remaining > self._on_their_way:
            return 0.0
        return None if self._on_their_way else max(0.0, self._until - now)

    def start(self) -> None:
        self._on_their_way += 1

    def end(self) -> None:
        self._on_their_way -= 1

    def update(self, limit: RateLimit | None, now: float) -> None:
        """Take note of a reply's limit. None: the service does not count uploads now.

        Replies may come out of order. Until more uploads are left, the lowest number holds.
        """
        if limit is None:
            self.limit = None
        elif self.limit is None or limit.remaining <= self.limit.remaining or now >= self._until:
            self.limit, self._until = limit, now + limit.seconds


def limit_message(limit: RateLimit) -> str:
    return f"limit of {limit.quota:,} uploads per minute ({_WHOSE[limit.policy]})"
