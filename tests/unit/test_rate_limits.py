"""The rate limit's fields as the service writes and the client reads them."""

from typing import Any

import pytest
from starlette.requests import Request

from prshots.contract.errors import RateLimitedError
from prshots.contract.rate_limits import CALLS_PER_MINUTE, LimitPolicy, RateLimit
from prshots.server.adapters.counters.memory import MemoryCounter
from prshots.server.api.upload import count_against_limit
from support.stores_and_records import a_project
from support.vectors import cases


@pytest.mark.parametrize("case", cases("retries", "rate_limit"))
def test_the_fields_of_a_reply_are_read(case: dict[str, Any]) -> None:
    found = RateLimit.of({"RateLimit": case["field"], "RateLimit-Policy": case["policy"]})
    assert (found and [found.policy, found.quota, found.remaining, found.seconds]) == case["is"]


async def test_a_counted_and_a_refused_upload_both_tell_the_limit() -> None:
    now, project = 100.0, a_project()
    counter = MemoryCounter(1, lambda: now)
    added: list[tuple[bytes, bytes]] = []
    request = Request({"type": "http", "prshots.reply_headers": added})
    await count_against_limit(request, counter, project)
    assert added == [(b"ratelimit-policy", b'"uploads";q=1;w=60'), (b"ratelimit", b'"uploads";r=0;t=60')]
    added.clear()
    now += 19.5
    with pytest.raises(RateLimitedError, match=r"^rate limited$"):
        await count_against_limit(request, counter, project)
    assert added == [(b"ratelimit-policy", b'"uploads";q=1;w=60'), (b"ratelimit", b'"uploads";r=0;t=41')]


@pytest.mark.parametrize(("policy", "quota"), CALLS_PER_MINUTE.items())
async def test_call_above_its_limit_is_refused_and_nothing_else(policy: LimitPolicy, quota: int) -> None:
    counter, project = MemoryCounter(uploads_per_minute=1), a_project()
    request = Request({"type": "http", "prshots.reply_headers": []})

    async def call(policy: LimitPolicy) -> None:
        await count_against_limit(request, counter, project, policy)

    for _ in range(quota):
        await call(policy)
    with pytest.raises(RateLimitedError):
        await call(policy)
    for other in {LimitPolicy.UPLOADS, LimitPolicy.PUT_URLS, *CALLS_PER_MINUTE} - {policy}:
        await call(other)
