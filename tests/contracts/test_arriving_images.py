"""Images that arrive while another process writes to the same SQLite file."""

import asyncio
import contextlib
import fcntl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import event

from prshots.contract.errors import RecordsError, RecordsUnsureError
from prshots.server.adapters.sql.database.database import SUFFIX
from support.stores_and_records import SqlRecords, a_project, an_image, open_records

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


async def test_image_that_timed_out_is_not_committed_later(records: SqlRecords, tmp_path: Path) -> None:
    records._database.call_seconds = 0.3
    given_up, later = an_image(PROJECT), an_image(PROJECT)
    with somebody_writes(tmp_path):
        with pytest.raises(RecordsError) as raised:
            await records.add_image(given_up)
        assert not isinstance(raised.value, RecordsUnsureError)
    records._database.call_seconds = 10
    for _ in range(50):
        with contextlib.suppress(RecordsError):  # until the turn that came too late is over
            await records.add_image(later)
            break
    assert await records.known_ids([given_up.id, later.id]) == {later.id}
