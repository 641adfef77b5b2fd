"""Count an upload against its project's limit, and note what is left for the reply's headers."""

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar

from prshots.contract.errors import CounterUnavailableError, RateLimitedError
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.server.domain.images.ports import RateCounter
from prshots.server.domain.projects.models import Project

_noted: ContextVar[list[RateLimit] | None] = ContextVar("rate_limits", default=None)


@contextlib.contextmanager
def noting_rate_limits() -> Iterator[list[RateLimit]]:
    """Collect the rate limit that the upload in this block is counted against.

    It stays empty if the upload is refused before it is counted, and while the counter is unavailable.
    """
    noted: list[RateLimit] = []
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


async def count_upload(counter: RateCounter, project: Project) -> None:
    """Raise RateLimitedError if the project has reached its limit.

    If the counter does not respond, accept the upload: the counter logs its outages.
    """
    with contextlib.suppress(CounterUnavailableError):
        hit = await counter.hit(project.id, project.uploads_per_minute)
        policy = LimitPolicy.PROJECT if project.uploads_per_minute else LimitPolicy.UPLOADS
        if (noted := _noted.get()) is not None:
            noted.append(RateLimit(policy, hit.limit, hit.remaining, math.ceil(hit.free_in)))
        if not hit.is_counted:
            raise RateLimitedError("rate limited")
