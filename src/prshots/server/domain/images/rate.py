"""Count an upload against its project's limit."""

import contextlib
import math

from prshots.contract.errors import CounterUnavailableError, RateLimitedError
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.server.domain.images.ports import RateCounter
from prshots.server.domain.projects.models import Project


async def count_upload(counter: RateCounter, project: Project) -> RateLimit | None:
    """Return how much of its limit the project has left. Raises RateLimitedError if it is used up.

    If the counter does not respond, return None to accept the upload: the counter logs its outages.
    """
    with contextlib.suppress(CounterUnavailableError):
        hit = await counter.hit(project.id, project.uploads_per_minute)
        policy = LimitPolicy.PROJECT if project.uploads_per_minute else LimitPolicy.UPLOADS
        limit = RateLimit(policy, hit.limit, hit.remaining, math.ceil(hit.free_in))
        if not hit.is_counted:
            raise RateLimitedError("rate limited", limit)
        return limit
    return None
