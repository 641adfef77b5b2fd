"""The rate limit's fields as the service writes and the client reads them, and what counting an upload returns."""

from typing import Any

import pytest

from prshots.contract.errors import RateLimitedError
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.server.adapters.counters.memory import MemoryCounter
from prshots.server.api.upload import count_upload
from support.stores_and_records import a_project
from support.vectors import cases


@pytest.mark.parametrize("case", cases("retries", "rate_limit"))
def test_the_fields_of_a_reply_are_read(case: dict[str, Any]) -> None:
    found = RateLimit.of({"RateLimit": case["field"], "RateLimit-Policy": case["policy"]})
    assert (found and [found.policy, found.quota, found.remaining, found.seconds]) == case["is"]


def test_a_limit_is_read_as_it_was_written() -> None:
    limit = RateLimit(LimitPolicy.PROJECT, 40, 0, 23)
    assert limit.fields() == {
        "RateLimit-Policy": '"project";q=40;w=60',
        "RateLimit": '"project";r=0;t=23',
    }
    assert RateLimit.of(limit.fields()) == limit


async def test_counting_returns_the_limit_and_a_refusal_carries_it() -> None:
    now, project = 100.0, a_project()
    counter = MemoryCounter(1, lambda: now)
    assert await count_upload(counter, project) == RateLimit(LimitPolicy.UPLOADS, 1, 0, 60)
    now += 19.5
    with pytest.raises(RateLimitedError, match=r"^rate limited$") as refused:
        await count_upload(counter, project)
    assert refused.value.limit == RateLimit(LimitPolicy.UPLOADS, 1, 0, 41)
