"""How much memory the bodies in progress may reserve."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from starlette.requests import Request

from prshots.contract.errors import BusyError
from prshots.contract.limits import Policy
from prshots.server.api import request_body
from prshots.server.api.request_body import JSON_BYTES_IN_ALL, MAX_JSON_BYTES, BodyRoom, BodySlots
from prshots.server.domain.projects.models import Project

MEGABYTE = 1024**2
SMALLEST = MEGABYTE // 4
LARGEST = 16 * MEGABYTE
ALL = 96 * MEGABYTE
ALONE = ALL // 4
"""The share of a project if nobody else has a body in progress."""


def of(organization: str, project: str = "web") -> Project:
    return Project(f"{organization} {project}", project, organization, "", Policy.MANUAL, None, 0)


MINE, OTHER = of("acme"), of("other")


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "WAIT_SECONDS", 0.01)


@pytest.fixture
def room() -> BodyRoom:
    return BodyRoom(ALL, SMALLEST, LARGEST)


def with_body(declared: int | None) -> Request:
    """Return a request with a body of this length, or with a chunked one."""
    header = (b"transfer-encoding", b"chunked") if declared is None else (b"content-length", b"%d" % declared)
    return Request({"type": "http", "headers": [header]})


async def admitted(
    room: BodyRoom, stack: AsyncExitStack, project: Project | None, declared: int | None, at_most: int = 1000
) -> int:
    """Reserve bodies of this length until one is refused, and return how many fit."""
    for number in range(at_most):
        try:
            await stack.enter_async_context(room.reserve(project, with_body(declared)))
        except BusyError:
            return number
    return at_most


@pytest.mark.parametrize(
    ("declared", "fit"),
    [
        (4 * MEGABYTE, ALONE // (4 * MEGABYTE)),
        (0, ALONE // SMALLEST),  # small bodies count too
        (100 * MEGABYTE, ALONE // LARGEST),  # no more of it is kept than the largest pair
        (None, ALONE // LARGEST),  # chunked: it may become the largest pair
    ],
)
async def test_one_project_gets_its_share_and_no_more(room: BodyRoom, declared: int | None, fit: int) -> None:
    async with AsyncExitStack() as stack:
        assert await admitted(room, stack, MINE, declared) == fit


async def test_an_organization_gets_its_share_regardless_of_its_projects(room: BodyRoom) -> None:
    async with AsyncExitStack() as stack:
        fit = [await admitted(room, stack, of("acme", f"project {n}"), MEGABYTE) for n in range(20)]
        assert sum(fit) == ALL // 3 // MEGABYTE
        assert await admitted(room, stack, OTHER, LARGEST, at_most=1) == 1


async def test_requests_without_a_token_share_the_room_of_one_project(room: BodyRoom) -> None:
    async with AsyncExitStack() as stack:
        assert await admitted(room, stack, None, SMALLEST) == ALONE // SMALLEST
        assert await admitted(room, stack, MINE, SMALLEST)


@pytest.mark.parametrize("declared", [None, LARGEST])
async def test_json_takes_no_more_room_than_may_be_read_of_it(declared: int | None) -> None:
    """Otherwise, one stranger's unfinished body would keep all jobs from exchanging their ID tokens."""
    async with AsyncExitStack() as stack:
        fit = await admitted(BodySlots(MEGABYTE).json, stack, None, declared)
    assert fit == JSON_BYTES_IN_ALL // 4 // MAX_JSON_BYTES


async def test_others_always_have_room(room: BodyRoom) -> None:
    """Each organization that fills its share leaves the next one two thirds of what it found."""
    async with AsyncExitStack() as stack:
        for n in range(8):
            assert await admitted(room, stack, of(f"organization {n}"), SMALLEST)


async def test_a_project_whose_share_is_smaller_than_its_first_body_gets_room_for_it(room: BodyRoom) -> None:
    async with AsyncExitStack() as stack:
        await admitted(room, stack, of("other", "a"), LARGEST)
        await admitted(room, stack, of("other", "b"), LARGEST)
        await admitted(room, stack, of("third"), LARGEST)
        assert await admitted(room, stack, MINE, LARGEST) == 1


async def test_a_refused_or_cancelled_body_leaves_no_reservation(room: BodyRoom) -> None:
    async with AsyncExitStack() as stack:
        full = await admitted(room, stack, MINE, 4 * MEGABYTE)
        waiting = asyncio.create_task(admitted(room, stack, MINE, 4 * MEGABYTE))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
    async with AsyncExitStack() as stack:
        assert await admitted(room, stack, MINE, 4 * MEGABYTE) == full


async def test_a_waiting_body_gets_room_as_soon_as_there_is_some(
    room: BodyRoom, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_body, "WAIT_SECONDS", 60)
    order: list[Project] = []

    async def wait_as(project: Project) -> None:
        async with room.reserve(project, with_body(4 * MEGABYTE)):
            order.append(project)

    async with asyncio.TaskGroup() as group, AsyncExitStack() as stack:
        await admitted(room, stack, MINE, 4 * MEGABYTE, at_most=ALONE // (4 * MEGABYTE))
        group.create_task(wait_as(MINE))
        group.create_task(wait_as(OTHER))
        while not order:  # the first project waits, the other does not
            await asyncio.sleep(0)
        assert order == [OTHER]
    assert order == [OTHER, MINE]
