"""The rate limit's fields as the service writes and the client reads them."""

from typing import Any

import pytest
from starlette.requests import Request

from prshots.contract.errors import RateLimitedError
from prshots.contract.rate_limits import RateLimit
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
