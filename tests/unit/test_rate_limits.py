"""The rate limit's fields as the service writes and the client reads them, and what counting an upload notes."""

import asyncio
from typing import Any

import pytest

from prshots.contract.errors import RateLimitedError
from prshots.contract.rate_limits import LimitPolicy, RateLimit
from prshots.server.adapters.counters.memory import MemoryCounter
from prshots.server.domain.images.rate import count_upload, noting_rate_limits
from prshots.server.domain.projects.models import Project
from support.stores_and_records import a_project
from support.vectors import cases


@pytest.fixture
def project() -> Project:
    return a_project()


@pytest.mark.parametrize("case", cases("retries", "rate_limit"))
def test_the_fields_of_a_reply_are_read(case: dict[str, Any]) -> None:
    found = RateLimit.of({"RateLimit": case["field"], "RateLimit-Policy": case["policy"]})
    assert (found and [found.policy, found.quota, found.remaining, found.seconds]) == case["is"]


def test_what_is_written_is_read_again() -> None:
    limit = RateLimit(LimitPolicy.PROJECT, 40, 0, 23)
    assert limit.fields() == {
        "RateLimit-Policy": '"project";q=40;w=60',
        "RateLimit": '"project";r=0;t=23',
    }
    assert RateLimit.of(limit.fields()) == limit


async def test_counting_notes_what_is_left_also_for_a_refused_upload(project: Project) -> None:
    now = 100.0
    counter = MemoryCounter(1, lambda: now)
    with noting_rate_limits() as noted:
        await count_upload(counter, project)
        now += 19.5
        with pytest.raises(RateLimitedError, match=r"^rate limited$"):
            await count_upload(counter, project)
    expected = [(LimitPolicy.UPLOADS, 1, 0, 60), (LimitPolicy.UPLOADS, 1, 0, 41)]
    assert noted == [RateLimit(*values) for values in expected]


async def test_concurrent_requests_note_their_own_limits(project: Project) -> None:
    counter = MemoryCounter(2, lambda: 100.0)

    async def remaining() -> list[int]:
        with noting_rate_limits() as noted:
            await asyncio.sleep(0)
            await count_upload(counter, project)
        return [limit.remaining for limit in noted]

    assert await asyncio.gather(remaining(), remaining()) == [[1], [0]]
