"""The order of a move: copy while the service runs, check, stop the writers for a moment, switch."""

import asyncio
import contextlib
import time
from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import Connection, Table

from prshots.contract.errors import MoveError
from prshots.contract.object_names import SHARDS
from prshots.server.adapters.sql.database.schema import images
from prshots.server.adapters.sql.move.change_log import Changes, changes_in
from prshots.server.adapters.sql.move.move_state import MoveState
from prshots.server.adapters.sql.move.row_copies import (
    count_rows,
    highest_numbers,
    images_of_shard,
    images_with,
    key_of,
)
from prshots.server.move.ends import Ends, begin_or_continue, open_ends
from prshots.server.move.objects import ObjectCopies, wanted_objects
from prshots.server.move.plan import MovePlan, require_our_schema, require_unused_database
from prshots.server.move.report import MoveReport, Progress, ShowProgress
from prshots.server.move.target import TABLES, Page, TargetDatabase

STOP_SECONDS = 3.0
"""A stop that has taken so long is given up, and tried again later. Writers wait 5 s at least."""

STOPS, LAST_STOP_SECONDS = 5, 30.0
"""The last attempt may take longer. Writers get a 503 with Retry-After then."""

FEW = 200
"""With so few changes left, the stop begins."""

IMAGES_AT_ONCE, SHARDS_AT_ONCE = 25_000, 64
"""How many images are compared at a time, about, and how many shards at most. Their lists are in memory."""

ROUNDS = 20
"""How often the copy catches up before a stop, however many changes are left."""


async def move(plan: MovePlan, show: ShowProgress, *, verify: bool = False) -> MoveReport:
    """Move, or continue a move. Raises MoveError, RecordsError, StoreError, and leaves the source in use."""
    async with open_ends(plan) as ends:
        state = await begin_or_continue(ends)
        return await MoveSteps(ends, state, show).run(verify=verify)


class MoveSteps:
    """A move that is under way."""

    def __init__(self, ends: Ends, state: MoveState, show: ShowProgress) -> None:
        self._plan, self._source = ends.plan, ends.source
        self._target, self._objects = ends.target, ends.objects
        self._state, self.report, self._show = state, ends.report, show

    async def run(self, *, verify: bool) -> MoveReport:
        self.report.was_done = self._state.phase == "moved"  # or it was killed right after the switch
        if not self.report.was_done:
            await self._copy()
            await self._check(verify=verify)
            await self._switch()
            self._source.clean_up()
        if self._target and self._target.is_claimed_by(self._state.id):
            self._target.release()
        return self.report

    async def _copy(self) -> None:
        if self._target:
            self._claim(self._target)
            await self._copy_rows(self._target)
        if self._objects:
            await self._compare_objects(self._objects, "Copying images")

    async def _check(self, *, verify: bool) -> None:
        if self._target:
            await self._check_rows(self._target)
            self._target.analyze()
        if self._objects:
            await self._compare_objects(self._objects, "Checking images", verify=verify)
        if self._target:
            await self._compare_counts(self._target)

    async def _switch(self) -> None:
        for attempt in range(1, STOPS + 1):
            await self._catch_up()
            if await self._stop_and_switch(is_last=attempt == STOPS):
                return
        raise MoveError(
            f"the last changes took more than {LAST_STOP_SECONDS:g} s, so nothing was switched: run the same "
            "command again at a quieter time"
        )

    def _claim(self, target: TargetDatabase) -> None:
        if target.is_claimed_by(self._state.id):
            target.require_our_schema()
            return
        require_unused_database(target.engine, self._plan.target)
        if self._state.copying:
            raise MoveError(
                f"{self._plan.database_place} has lost what was copied: run `prshots move --cancel`, then "
                "move again"
            )
        target.claim(self._state.id, self._plan.database_place)

    async def _copy_rows(self, target: TargetDatabase) -> None:
        total = self._count()
        names = [table.name for table in TABLES]
        begun = names.index(self._state.copying) if self._state.copying else 0
        for number, table in enumerate(TABLES[begun:], begun):
            after = self._state.after if table.name == self._state.copying else ()
            while True:
                with self._source.snapshot() as snapshot:
                    changes, page = changes_in(snapshot), Page(snapshot, table, after)
                    await self._follow_objects(snapshot, changes)
                    target.follow(snapshot, changes, _by_name(TABLES[: number + 1]), page)
                self.report.rows += len(page.rows)
                after = key_of(table, page.rows[-1]) if page.rows else after
                if page.rows or changes.entries:
                    self._state = replace(self._state, copying=table.name, after=after)
                    self._forget(changes)
                self._show(Progress("Copying records", self.report.rows, total))
                if page.is_last:
                    break

    async def _compare_objects(self, objects: ObjectCopies, phase: str, *, verify: bool = False) -> None:
        with self._source.snapshot() as snapshot:
            total, done = count_rows(snapshot, images), 0

        def progress(more: int) -> None:
            nonlocal done
            done += more
            self._show(Progress(phase, done, max(done, total), "images"))

        objects.compared.clear()
        self.report.files = 0
        some = max(1, min(SHARDS_AT_ONCE, IMAGES_AT_ONCE * len(SHARDS) // max(1, total)))
        for shards in (SHARDS[at : at + some] for at in range(0, len(SHARDS), some)):
            await self._follow()
            with self._source.snapshot() as snapshot:
                wanted = wanted_objects([row for shard in shards for row in images_of_shard(snapshot, shard)])
            await objects.compare(shards, wanted, progress)
            if verify:
                await objects.verify(wanted)
        await self._follow()

    async def _check_rows(self, target: TargetDatabase) -> None:
        total = self._count()
        for table in TABLES:
            after: tuple[object, ...] = ()
            while True:
                with self._source.snapshot() as snapshot:
                    changes = changes_in(snapshot)
                    await self._apply(snapshot, changes)
                    page = Page(snapshot, table, after)
                    target.require_same_page(page)
                if changes.entries:
                    self._forget(changes)
                self.report.checked_rows += len(page.rows)
                self._show(Progress("Checking records", self.report.checked_rows, total))
                if page.is_last:
                    break
                after = page.until or ()

    async def _compare_counts(self, target: TargetDatabase) -> None:
        """Count all rows before the stop: that takes longer the more there are, and the stop must not."""
        with self._source.snapshot() as snapshot:
            changes = changes_in(snapshot)
            await self._apply(snapshot, changes)
            self.report.tables = target.require_same_counts(snapshot)
        self._forget(changes)

    async def _catch_up(self) -> None:
        for _ in range(ROUNDS):
            left = self._source.waiting_changes()
            self._show(Progress("Catching up", 0, left, "changes"))
            await self._follow()
            if left <= FEW:
                return

    async def _stop_and_switch(self, *, is_last: bool) -> bool:
        """Hold the writers, copy what is left, check, and refuse writes from then on. Return if it did."""
        longest = LAST_STOP_SECONDS if is_last else STOP_SECONDS
        with self._source.hold_writers() as stopped:
            began = time.monotonic()
            require_our_schema(stopped)  # an upgrade may have begun in between
            changes, is_equal = changes_in(stopped), False
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(longest):
                    await self._apply(stopped, changes)
                if self._target:
                    self._target.require_same_rows(stopped, changes)
                    self._target.continue_numbers(highest_numbers(stopped))
                is_equal = True
            if not is_equal or time.monotonic() - began > longest:
                stopped.rollback()
                return False
            self._state = replace(self._state, phase="moved")
            self._source.switch(stopped, self._state)
            stopped.commit()
        self.report.stopped_seconds = time.monotonic() - began
        self.report.changes += len(changes)
        return True

    async def _follow(self) -> None:
        """Bring the target up to date with a snapshot of the source."""
        with self._source.snapshot() as snapshot:
            changes = changes_in(snapshot)
            await self._apply(snapshot, changes)
        if changes.entries:
            self._forget(changes)

    async def _apply(self, snapshot: Connection, changes: Changes) -> None:
        await self._follow_objects(snapshot, changes)
        if self._target and changes.keys:
            self._target.follow(snapshot, changes, _by_name(TABLES))

    async def _follow_objects(self, snapshot: Connection, changes: Changes) -> None:
        if self._objects and (changed := changes.keys.get(images.name)):
            by_id = {str(key[1]): str(key[2]) for key in changed}
            await self._objects.follow(by_id, wanted_objects(images_with(snapshot, by_id)))

    def _forget(self, changes: Changes) -> None:
        self._source.forget(changes, self._state)
        self.report.changes += len(changes)

    def _count(self) -> int:
        with self._source.snapshot() as snapshot:
            return sum(count_rows(snapshot, table) for table in TABLES)


def _by_name(tables: Collection[Table]) -> dict[str, Table]:
    return {table.name: table for table in tables}
