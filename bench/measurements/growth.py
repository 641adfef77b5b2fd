"""Everyday work with 10,000,000 images in PostgreSQL, compared with an empty or a small database.

Environment variables change the measurement: BENCH_IMAGES, BENCH_PROJECTS (beyond the first fifty, two in
each organization) and BENCH_PARTITIONS, which splits `images` as docs/scale.md describes. The benchmark calls
the adapters directly, because HTTP would add the same time to both sides.
"""

import asyncio
import os
import secrets
import shutil
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from bench.pictures import png
from bench.postgresql import execute, query, running_postgresql
from bench.report import Row, Target
from bench.run import BenchError, Run
from prshots.contract.limits import Policy
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.images.images import SqlImages
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.projects import SqlProjects
from prshots.server.domain.images.models import Image
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project
from prshots.server.domain.upkeep.sweep import sweep
from prshots.server.links import KeyRing
from prshots.server.wiring import upkeep_engines

MANY = int(os.environ.get("BENCH_IMAGES", "10000000"))
PROJECTS = int(os.environ.get("BENCH_PROJECTS", "50"))
PARTITIONS = int(os.environ.get("BENCH_PARTITIONS", "0"))
FEW = 30_000
"""Enough to fill a page of every list."""
ROOM_PER_IMAGE = 1500
"""Bytes on disk while filling: the record, its indexes, and PostgreSQL's write-ahead log."""
TURNS, WARM_UP_TURNS = 200, 20
SWEEPS = 5
DUE, KEPT = 1000, 2000
DAY = 86_400
FILL = Path(__file__).with_suffix(".sql")
SPLIT = Path(__file__).parents[2] / "deploy" / "postgresql" / "partition-images.sql"
BIG, USER = "growth-1", "growth-1"
"""The project with a fifth of all images, and a user who sees all projects."""
SIZE_OF_IMAGES = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
    "WHERE relname ~ '^images(_[0-9]+)?$' AND relkind IN ('r', 'p')"
)
TARGET = Target(at_most=1.5)

T = TypeVar("T")


def measure(run: Run) -> Iterator[Row]:
    if shutil.disk_usage(run.directory).free < MANY * ROOM_PER_IMAGE:
        needed = MANY * ROOM_PER_IMAGE / 1e9
        raise BenchError(
            f"{run.directory} has less than {needed:.0f} GB free: choose another folder with --dir"
        )
    with running_postgresql(run.directory / "postgresql") as make:
        addresses = {name: make(name) for name in ("many", "few", "none")}
        for name, count in (("many", MANY), ("few", FEW), ("none", 0)):
            _fill(run, addresses[name], count)
        yield Row(
            "one image's record in PostgreSQL",
            "bytes",
            query(addresses["many"], SIZE_OF_IMAGES) / MANY,
            note="with indexes",
        )
        yield from asyncio.run(_measure(run, addresses))


def _fill(run: Run, address: str, count: int) -> None:
    database = open_postgresql(address)
    migrate(database.engine)
    database.engine.dispose()
    if count:
        run.say(f"growth: adding {count:,} images")
        with psycopg.connect(address) as connection:
            connection.add_notice_handler(lambda notice: run.say(f"growth: {notice.message_primary}"))
            connection.execute(
                "SELECT set_config('growth.images', %s, true), set_config('growth.projects', %s, true)",
                [str(count), str(PROJECTS)],
            )
            connection.execute(FILL.read_bytes())
    if PARTITIONS:
        run.say(f"growth: splitting {count:,} images into {PARTITIONS} partitions")
        with psycopg.connect(
            address, autocommit=True, options=f"-c prshots.partitions={PARTITIONS}"
        ) as connection:
            connection.execute(SPLIT.read_bytes())


async def _measure(run: Run, addresses: dict[str, str]) -> list[Row]:
    adapters = {name: _Adapters(address, run.directory / name) for name, address in addresses.items()}
    many, few, none = adapters["many"], adapters["few"], adapters["none"]
    try:
        for each in (many, none):
            await each.prepare()
        # PostgreSQL does this by itself, but possibly in the middle of a measurement.
        for address in addresses.values():
            execute(address, "VACUUM ANALYZE")
            execute(address, "CHECKPOINT")
        run.say(f"growth: each operation {TURNS} times")
        await _take_turns(TURNS + WARM_UP_TURNS, lambda each: each.write(), many, none)
        await _take_turns(TURNS + WARM_UP_TURNS, lambda each: each.list(), many, few)
        run.say(f"growth: {SWEEPS} sweeps with {DUE:,} expired images")
        await _take_turns(SWEEPS, lambda each: each.sweep(), many, none)
    finally:
        for each in adapters.values():
            await each.close()
    rows = []
    for name in many.seconds:
        peer, at = (none, "with no images") if name in none.seconds else (few, f"with {FEW:,}")
        ours, theirs = many.p50_ms(name), peer.p50_ms(name)
        rows.append(Row(f"{name}, {MANY:,} in PostgreSQL, p50", "ms", ours, at, theirs, TARGET))
    return rows


async def _take_turns(
    turns: int, do: Callable[["_Adapters"], Awaitable[None]], *adapters: "_Adapters"
) -> None:
    for turn in range(turns):
        # The order alternates, because the second of two finds the disk busier.
        for each in adapters[:: 1 if turn % 2 else -1]:
            await do(each)


class _Adapters:
    """The adapters on one database, and the duration of each operation."""

    def __init__(self, address: str, directory: Path) -> None:
        self._database = open_postgresql(address)
        self._records, self._people = SqlImages(self._database), SqlPeople(self._database)
        self._projects = SqlProjects(self._database)
        self._overview, self._disk = SqlOverview(self._database), DiskStore(directory)
        self._comparisons = SqlComparisons(self._database)
        self._project = Project(BIG, BIG, LOCAL_ORGANIZATION, LOCAL_ORGANIZATION, Policy.MANUAL, None, 0)
        self._swept = replace(self._project, id="swept", name="swept", retain_days=7)
        ring = KeyRing.parse(f"k1:{'0' * 64}")
        self._engines = upkeep_engines(self._database, self._disk, lambda: ring, audit_days=400)
        self.seconds: dict[str, list[float]] = {}

    async def close(self) -> None:
        await self._database.close()
        self._disk.close()

    def p50_ms(self, name: str) -> float:
        seconds = self.seconds[name]
        return statistics.median(seconds[WARM_UP_TURNS if len(seconds) > WARM_UP_TURNS else 0 :]) * 1000

    async def prepare(self) -> None:
        """Create a project to upload to, one to sweep, and images that a sweep must keep."""
        known = {project.id for project in await self._projects.projects()}
        for project in (self._project, self._swept):
            if project.id not in known:
                await self._projects.add_project(project)
        await self._add_with_bytes(KEPT, int(time.time()), age_of_bytes=7200)
        for _ in range(20):
            await self._records.add_image(self._image(pr_number=2_000_000))

    async def write(self) -> None:
        image = self._image(pr_number=2_000_001)
        await self._timed("upload", self._records.add_image(image))
        count, _ = await self._timed("comment", self._records.comment_entries(BIG, 2_000_000, 500))
        _require(count == 20, f"a comment has {count} images instead of 20")
        await self._timed("delete", self._delete(image.id))

    async def _delete(self, image_id: str) -> None:
        await self._records.image(BIG, image_id)
        await self._records.schedule([image_id], int(time.time()))
        _require(await self._records.remove_images([image_id]) == 1, "an image to delete was missing")

    async def list(self) -> None:
        overview, today = self._overview, int(time.time()) // DAY
        await self._timed("list of projects", overview.projects_of(USER, None, 24))
        await self._timed("a project", overview.summary_of(USER, BIG))
        await self._timed("days of a project", overview.days([BIG], today - 90))
        await self._timed("biggest pull requests", overview.biggest_pulls(BIG, 10))
        for name, closed in (("pull requests", None), ("open ones", False), ("closed ones", True)):
            found = await self._timed(
                name, overview.pulls(BIG, closed=closed, search="", before=None, limit=30)
            )
            _require(len(found) == 30, f"{name}: {len(found)} instead of 30")
        numbers = [pull.pr_number for pull in found]
        await self._timed("their comparisons", self._comparisons.summaries(BIG, numbers))
        await self._timed("gallery", overview.shots(BIG, 1, None, 60))
        await self._timed("tokens", overview.tokens(BIG, None, 60))

    async def sweep(self) -> None:
        await self._add_with_bytes(DUE, int(time.time()) - 30 * DAY)
        report = await self._timed("sweep of 1,000", sweep(self._engines, force=True))
        outcome = (report.expired, report.failed, report.orphans)
        _require(outcome == (DUE, 0, 0), f"the sweep ended with {report}")

    async def _add_with_bytes(self, count: int, uploaded_at: int, age_of_bytes: int = 0) -> None:
        images = [self._image("swept", uploaded_at=uploaded_at, pr_number=1 + n) for n in range(count)]
        content, written_at = png(1024), time.time() - age_of_bytes
        for image in images:
            file = self._disk.root / image.key
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            os.utime(file, (written_at, written_at))
        await asyncio.gather(*(self._records.add_image(image) for image in images))
        os.sync()

    def _image(self, project_id: str = BIG, **changes: int) -> Image:
        plain = Image(
            id=secrets.token_hex(16),
            project_id=project_id,
            pr_number=1,
            name="checkout/cart",
            commit_sha=secrets.token_hex(20),
            viewport="1280x800",
            ext="png",
            size=1024,
            uploaded_at=int(time.time()),
            kid="k1",
        )
        changed: dict[str, Any] = {**changes}
        return plain._replace(**changed)

    async def _timed(self, name: str, work: Awaitable[T]) -> T:
        started = time.perf_counter()
        outcome = await work
        self.seconds.setdefault(name, []).append(time.perf_counter() - started)
        return outcome


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise BenchError(otherwise)
