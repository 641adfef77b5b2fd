"""How much memory the bodies under way may reserve."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from prshots.contract.errors import BusyError
from prshots.server.api import request_body
from prshots.server.api.request_body import BYTES_IN_ALL, SHARES, SMALLEST_BYTES, BodySlots

MEGABYTE = 1024**2
SHARE = BYTES_IN_ALL // SHARES


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "WAIT_SECONDS", 0.01)


async def admitted(
    slots: BodySlots, stack: AsyncExitStack, holder: str, declared: int | None, at_most: int = 1000
) -> int:
    """Reserve bodies of this length until one is refused, and return how many fit."""
    for number in range(at_most):
        try:
            await stack.enter_async_context(slots.reserve(holder, declared))
        except BusyError:
            return number
    return at_most


@pytest.mark.parametrize(
    ("declared", "fit"),
    [
        (4 * MEGABYTE, SHARE // (4 * MEGABYTE)),
        (0, SHARE // SMALLEST_BYTES),  # small bodies count too
        (100 * MEGABYTE, SHARE // (16 * MEGABYTE)),  # no more of it is kept than the largest pair
        (None, SHARE // (16 * MEGABYTE)),  # chunked: it may become the largest pair
    ],
)
async def test_one_token_gets_its_share_and_no_more(declared: int | None, fit: int) -> None:
    slots = BodySlots(8 * MEGABYTE)
    async with AsyncExitStack() as stack:
        assert await admitted(slots, stack, "token", declared) == fit


async def test_all_tokens_together_stay_within_the_limit() -> None:
    slots = BodySlots(4 * MEGABYTE)
    async with AsyncExitStack() as stack:
        fit = [await admitted(slots, stack, f"token {n}", 4 * MEGABYTE) for n in range(SHARES + 1)]
    assert fit == [SHARE // (4 * MEGABYTE)] * SHARES + [0]


async def test_two_of_the_largest_images_always_fit_and_so_does_the_largest_pair() -> None:
    for declared, fit in ((BYTES_IN_ALL, 2), (2 * BYTES_IN_ALL, 1), (None, 1)):
        async with AsyncExitStack() as stack:
            assert await admitted(BodySlots(BYTES_IN_ALL), stack, "token", declared) == fit


async def test_a_refused_or_cancelled_body_leaves_no_reservation() -> None:
    slots = BodySlots(4 * MEGABYTE)
    async with AsyncExitStack() as stack:
        full = await admitted(slots, stack, "token", 4 * MEGABYTE)
        waiting = asyncio.create_task(admitted(slots, stack, "token", 4 * MEGABYTE))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with AsyncExitStack() as stack:
        assert await admitted(slots, stack, "token", 4 * MEGABYTE) == full


async def test_a_waiting_body_gets_room_as_soon_as_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "WAIT_SECONDS", 60)
    slots, order = BodySlots(4 * MEGABYTE), []

    async def wait_as(holder: str, size: int) -> None:
        async with slots.reserve(holder, size):
            order.append(holder)

    async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        for _ in range(SHARE // (4 * MEGABYTE)):
            await stack.enter_async_context(slots.reserve("first", 4 * MEGABYTE))
        group.create_task(wait_as("first", 4 * MEGABYTE))
        group.create_task(wait_as("other", 4 * MEGABYTE))
        while "other" not in order:  # the first token waits, the other does not
            await asyncio.sleep(0)
        assert order == ["other"]
    assert order == ["other", "first"]
