"""The steps of a move: copy and check while the service runs, stop the writers for a moment, switch.

The source logs every change during the move. A **round** reads the logged changes in a snapshot of the
source, applies them to the target, and removes them from the log. Each page that the move copies or checks
includes a round, so the copied part always equals one snapshot of the source. The source stores the state of
the move, and a killed move continues at the page recorded there.

The **stop** is the last round: it holds all writers, applies the last few changes, checks them, and makes the
source refuse writes from then on.
"""

import asyncio
import contextlib
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection, Table

from prshots.contract.errors import MoveError
from prshots.contract.object_names import SHARDS, image_id_of
from prshots.server import wiring
from prshots.server.adapters.sql.database.schema import images
from prshots.server.adapters.sql.move.change_log import Changes, changes_in
from prshots.server.adapters.sql.move.move_state import Key, MoveState
from prshots.server.adapters.sql.move.row_copies import (
    count_rows,
    highest_numbers,
    images_of_shard,
    images_with,
)
from prshots.server.move import MoveReport, Progress, ShowProgress
from prshots.server.move.objects import ObjectCopies, wanted_objects
from prshots.server.move.plan import (
    MovePlan,
    require_our_schema,
    require_unused_database,
    require_unused_store,
)
from prshots.server.move.source import SourceDatabase, open_source
from prshots.server.move.target import TABLES, Page, TargetDatabase

STOP_SECONDS = 3.0
"""Give up on a stop after this long, and try again later. Writers wait at least 5 s for the database."""

STOPS, LAST_STOP_SECONDS = 5, 30.0
"""The last attempt may take longer. Writers then get a 503 with Retry-After."""

FEW_CHANGES = 200
"""The stop begins when at most this many changes are left: few enough to apply within STOP_SECONDS."""

ROUNDS = 20
"""The stop begins after this many rounds, regardless of how many changes are left."""

IMAGES_AT_ONCE, SHARDS_AT_ONCE = 25_000, 64
"""About how many images to compare at a time, and the maximum number of shards. Their lists are in memory."""


async def move(plan: MovePlan, show: ShowProgress, *, verify: bool = False) -> MoveReport:
    """Move, or continue a move.

    Raises MoveError, RecordsError, StoreError, and then leaves the source in use.
    """
    report, target, objects = MoveReport(), None, None
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open_source(plan.source))
        stack.enter_context(source.lock(plan.source))
        if plan.moves_database:
            target = TargetDatabase(wiring.open_for_move(plan.target))
            stack.callback(target.engine.dispose)
        if plan.moves_store:
            from_store, to_store = wiring.open_store(plan.source), wiring.open_store(plan.target)
            stack.callback(from_store.close)
            stack.callback(to_store.close)
            objects = ObjectCopies(from_store, to_store, report, partial(_is_active, source))
        return await MoveSteps(plan, source, target, objects, report=report, show=show).run(verify=verify)


def _is_active(source: SourceDatabase, key: str) -> bool:
    """Return whether the image with this key is neither deleted nor about to be."""
    with source.snapshot() as snapshot:
        return key in wanted_objects(images_with(snapshot, {image_id_of(key)}))


class MoveSteps:
    def __init__(
        self,
        plan: MovePlan,
        source: SourceDatabase,
        target: TargetDatabase | None,
        objects: ObjectCopies | None,
        *,
        report: MoveReport,
        show: ShowProgress,
    ) -> None:
        """Prepare to move. `target` is None if the records stay, and `objects` is None if the images stay."""
        self._plan, self._source, self._target, self._objects = plan, source, target, objects
        self.report, self._show = report, show

    async def run(self, *, verify: bool) -> MoveReport:
        self._state = await self._begin_or_continue()
        self.report.was_done = self._state.phase == "moved"  # or a run was killed after the switch
        if not self.report.was_done:
            await self._copy()
            await self._check(verify=verify)
            await self._switch()
            self._source.clean_up()
        if self._target and self._target.is_claimed_by(self._state.id):
            self._target.release()
        return self.report

    async def _begin_or_continue(self) -> MoveState:
        """Return the state of this move. Raises MoveError if a target is in use or another move has begun."""
        plan, state = self._plan, self._source.state()
        to_store = self._objects and self._objects.target
        # After a move of only the store, the database is still in use, and its next move may begin.
        is_past = state and state.phase == "moved" and not state.database_place and not plan.is_of(state)
        if state is None or is_past:
            if self._target:
                require_unused_database(self._target.engine, plan.target)
            if to_store:
                await require_unused_store(to_store, plan.target, self._source.installation_id())
            state = self._source.begin(plan)
        if state.phase == "filling":
            raise MoveError(
                "`prshots move` has not finished filling this database: finish or cancel that first"
            )
        if not plan.is_of(state):
            what = "is under way" if state.phase == "copying" else "is done"
            raise MoveError(
                f"a move that sets {state.where_to} {what}: give the same options, or run `prshots move "
                "--cancel`"
            )
        if state.phase == "copying" and to_store:
            installation_id = self._source.installation_id()
            if await to_store.owner(installation_id) != installation_id:
                raise MoveError(f"{plan.store_place} belongs to another installation now: name another one")
        return state

    # Copy

    async def _copy(self) -> None:
        if self._target:
            self._claim(self._target)
            await self._copy_rows(self._target)
        if self._objects:
            await self._compare_objects(self._objects, "Copying images")

    def _claim(self, target: TargetDatabase) -> None:
        if target.is_claimed_by(self._state.id):
            target.require_our_schema()
            return
        require_unused_database(target.engine, self._plan.target)
        if self._state.copying:
            raise MoveError(
                f"{self._plan.database_place} no longer has the copied data: run `prshots move --cancel`, "
                "then move again"
            )
        target.claim(self._state.id, self._plan.database_place)

    async def _copy_rows(self, target: TargetDatabase) -> None:
        total = self._count_rows()
        names = [table.name for table in TABLES]
        first = names.index(self._state.copying) if self._state.copying else 0
        for number, table in enumerate(TABLES[first:], first):
            copied = {each.name for each in TABLES[: number + 1]}
            after: Key | None = self._state.after if table.name == self._state.copying else ()
            while after is not None:
                after = await self._copy_page(target, table, after, copied)
                self._show(Progress("Copying records", self.report.rows, total))

    async def _copy_page(
        self, target: TargetDatabase, table: Table, after: Key, copied: Collection[str]
    ) -> Key | None:
        """Copy the rows after this key. Return the last row's key, or None at the end of the table.

        Ignores changes to tables that aren't copied yet.
        """
        with self._source.snapshot() as snapshot:
            changes, page = changes_in(snapshot), Page(snapshot, table, after)
            await self._apply_to_objects(snapshot, changes)
            target.follow(snapshot, changes, page, copied)
        self.report.rows += len(page.rows)
        if page.rows or changes.entries:
            self._state = replace(self._state, copying=table.name, after=page.end)
            self._forget(changes)
        return page.until

    async def _compare_objects(self, objects: ObjectCopies, phase: str, *, verify: bool = False) -> None:
        """Copy the images that the target lacks, and delete those that it should not have."""
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

    # Check

    async def _check(self, *, verify: bool) -> None:
        if self._target:
            await self._check_rows(self._target)
            self._target.analyze()
        if self._objects:
            await self._compare_objects(self._objects, "Checking images", verify=verify)
        if self._target:
            await self._compare_counts(self._target)

    async def _check_rows(self, target: TargetDatabase) -> None:
        total = self._count_rows()
        for table in TABLES:
            after: Key | None = ()
            while after is not None:
                with self._source.snapshot() as snapshot:
                    changes = changes_in(snapshot)
                    await self._apply(snapshot, changes)
                    page = Page(snapshot, table, after)
                    target.require_same_page(page)
                if changes.entries:
                    self._forget(changes)
                self.report.checked_rows += len(page.rows)
                self._show(Progress("Checking records", self.report.checked_rows, total))
                after = page.until

    async def _compare_counts(self, target: TargetDatabase) -> None:
        """Count all rows before the stop, because counting takes longer with more rows."""
        with self._source.snapshot() as snapshot:
            changes = changes_in(snapshot)
            await self._apply(snapshot, changes)
            self.report.tables = target.require_same_counts(snapshot)
        self._forget(changes)

    # Switch

    async def _switch(self) -> None:
        for attempt in range(1, STOPS + 1):
            await self._catch_up()
            if await self._stop_and_switch(is_last=attempt == STOPS):
                return
        raise MoveError(
            f"the last changes took more than {LAST_STOP_SECONDS:g} s, so nothing was switched: run the same "
            "command again at a quieter time"
        )

    async def _catch_up(self) -> None:
        for _ in range(ROUNDS):
            left = self._source.waiting_changes()
            self._show(Progress("Catching up", 0, left, "changes"))
            await self._follow()
            if left <= FEW_CHANGES:
                return

    async def _stop_and_switch(self, *, is_last: bool) -> bool:
        """Hold the writers, copy and check the last changes, and refuse writes from then on.

        Return False, with nothing changed, if it took too long.
        """
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

    # Rounds

    async def _follow(self) -> None:
        """Run one round."""
        with self._source.snapshot() as snapshot:
            changes = changes_in(snapshot)
            await self._apply(snapshot, changes)
        if changes.entries:
            self._forget(changes)

    async def _apply(self, snapshot: Connection, changes: Changes) -> None:
        await self._apply_to_objects(snapshot, changes)
        if self._target and changes.keys:
            self._target.follow(snapshot, changes)

    async def _apply_to_objects(self, snapshot: Connection, changes: Changes) -> None:
        if self._objects and (changed := changes.keys.get(images.name)):
            by_id = {str(key[1]): str(key[2]) for key in changed}
            await self._objects.follow(by_id, wanted_objects(images_with(snapshot, by_id)))

    def _forget(self, changes: Changes) -> None:
        """Remove the changes from the log, and store the copy's progress."""
        self._source.forget(changes, self._state)
        self.report.changes += len(changes)

    def _count_rows(self) -> int:
        with self._source.snapshot() as snapshot:
            return sum(count_rows(snapshot, table) for table in TABLES)
