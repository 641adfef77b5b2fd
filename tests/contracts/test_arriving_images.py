"""Images that arrive while another process writes to the same SQLite file."""

import asyncio
import contextlib
import fcntl
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from prshots.contract.errors import RecordsError
from prshots.server.adapters.sql.database.database import SUFFIX
from support.stores_and_records import SqlRecords, a_project, an_image, open_records
from support.waiting import eventually

PROJECT = a_project()


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[SqlRecords]:
    opened = open_records(tmp_path)
    await opened.add_project(PROJECT)
    yield opened
    await opened.close()


@contextlib.contextmanager
def somebody_writes(folder: Path) -> Iterator[None]:
    with (folder / f"prshots.db{SUFFIX}").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        yield


async def test_images_that_arrive_while_another_process_writes_share_a_commit(
    records: SqlRecords, tmp_path: Path
) -> None:
    commits: list[object] = []
    event.listen(records._database.engine, "commit", commits.append)
    images = [an_image(PROJECT) for _ in range(20)]
    with somebody_writes(tmp_path):
        adding = [asyncio.create_task(records.add_image(images[0]))]
        await asyncio.sleep(0.1)  # by now the writing thread waits
        adding += [asyncio.create_task(records.add_image(image)) for image in images[1:]]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in adding)
    await asyncio.gather(*adding)
    assert len(commits) == 1
    ids = {image.id for image in images}
    assert await records.known_ids(ids) == ids


async def test_image_that_timed_out_is_not_committed_later(records: SqlRecords) -> None:
    database, commits, may_commit = records._database, list[object](), threading.Event()

    def wait(connection: object) -> None:
        commits.append(connection)
        may_commit.wait(60)

    event.listen(database.engine, "commit", wait)
    first, given_up, later = (an_image(PROJECT) for _ in range(3))
    adding = asyncio.create_task(records.add_image(first))
    await eventually(lambda: commits, "the first commit")
    database.call_seconds = 0.1
    with pytest.raises(RecordsError, match="an earlier commit has not ended"):
        await records.add_image(given_up)
    may_commit.set()
    await adding
    database.call_seconds = 10
    await records.add_image(later)
    assert await records.known_ids([first.id, given_up.id, later.id]) == {first.id, later.id}
