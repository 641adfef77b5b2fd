"""`deploy/postgresql/partition-images.sql` splits a table with images, and loses none.

The contracts of the records run on a partitioned table too: `PARTITIONED` in `support/stores_and_records.py`.
"""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import inspect

from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from support.stores_and_records import SqlRecords, a_project, an_image, partition_images

if TYPE_CHECKING:
    from support.engine_servers import PostgreSQL

IMAGES, PROJECTS = 60, 6
PER_PARTITION = "SELECT tableoid::regclass::text, count(*) FROM images GROUP BY 1 ORDER BY 1"

pytestmark = pytest.mark.slow


@pytest.fixture
def url(postgresql: "PostgreSQL") -> str:
    """Return the address of a database with images in several projects."""
    address = postgresql.new_database()
    database = open_postgresql(address)
    migrate(database.engine)
    asyncio.run(_fill(SqlRecords(database)))
    return address


async def _fill(records: SqlRecords) -> None:
    projects = [a_project() for _ in range(PROJECTS)]
    for project in projects:
        await records.add_project(project)
    for number in range(IMAGES):
        await records.add_image(an_image(projects[number % PROJECTS]))
    await records.close()


@pytest.fixture
def asked(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


async def test_partitioning_keeps_images_in_order_and_indexes(
    url: str, asked: psycopg.Connection[Any]
) -> None:
    def state() -> tuple[list[Any], set[Any], Any]:
        indexes = asked.execute("SELECT indexname FROM pg_indexes WHERE tablename = 'images'").fetchall()
        engine = open_postgresql(url).engine
        keys = inspect(engine).get_foreign_keys("images")
        engine.dispose()
        return asked.execute("SELECT * FROM images ORDER BY seq").fetchall(), set(indexes), keys

    before = state()
    partition_images(url, partitions=4)
    assert state() == before
    spread = dict(asked.execute(PER_PARTITION).fetchall())
    assert len(spread) > 1
    assert sum(spread.values()) == IMAGES
    records = SqlRecords(open_postgresql(url))
    image = an_image((await records.projects())[0])
    await records.add_image(image)
    await records.close()
    assert asked.execute("SELECT id FROM images ORDER BY seq DESC LIMIT 1").fetchone() == (image.id,)


@pytest.mark.parametrize(("partitions", "reason"), [(1, "choose 2 to 256"), (4, "partitioned already")])
def test_a_refused_partitioning_changes_nothing(
    url: str, asked: psycopg.Connection[Any], partitions: int, reason: str
) -> None:
    if partitions > 1:
        partition_images(url, partitions)
    before = asked.execute(PER_PARTITION).fetchall()
    with pytest.raises(psycopg.errors.RaiseException, match=reason):
        partition_images(url, partitions)
    assert asked.execute(PER_PARTITION).fetchall() == before
