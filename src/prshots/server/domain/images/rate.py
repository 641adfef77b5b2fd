"""Counts an upload against its project's limit."""

import contextlib
import math

from prshots.contract.errors import CounterUnavailableError, RateLimitedError
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.server.domain.images.ports import RateCounter
from prshots.server.domain.projects.models import Project


async def count_upload(counter: RateCounter, project: Project) -> RateLimit | None:
    """Count an upload and return how much of the limit remains. Raises RateLimitedError if none remains.

    If the counter doesn't respond, return None to accept the upload. The counter logs its own outages.
    """
    with contextlib.suppress(CounterUnavailableError):
        hit = await counter.hit(project.id, project.uploads_per_minute)
        policy = LimitPolicy.PROJECT if project.uploads_per_minute else LimitPolicy.UPLOADS
        limit = RateLimit(policy, hit.limit, hit.remaining, math.ceil(hit.free_in))
        if not hit.is_counted:
            raise RateLimitedError("rate limited", limit)
        return limit
    return None
