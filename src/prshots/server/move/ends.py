"""Open both ends of a move, and begin the move or continue an earlier one."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from prshots.contract.errors import MoveError, RecordsError
from prshots.contract.object_names import image_id_of
from prshots.server import wiring
from prshots.server.adapters.sql.move.move_state import MoveState
from prshots.server.adapters.sql.move.row_copies import images_with
from prshots.server.config.settings import Settings
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.move import MoveReport
from prshots.server.move.objects import ObjectCopies, wanted_objects
from prshots.server.move.plan import MovePlan, require_source, require_unused_database, require_unused_store
from prshots.server.move.source import SourceDatabase
from prshots.server.move.target import TargetDatabase


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of a move. `target` is None if the records stay, and `objects` is None if the images stay."""

    plan: MovePlan
    source: SourceDatabase
    target: TargetDatabase | None
    objects: ObjectCopies | None
    to_store: ObjectStore | None
    report: MoveReport


@contextlib.contextmanager
def open_source(settings: Settings) -> Iterator[SourceDatabase]:
    """Open the database in the settings. Raises MoveError, RecordsError."""
    if settings.on_sqlite and not settings.database_path.exists():
        raise RecordsError(f"there is no database at {settings.database_path}")
    engine = wiring.open_for_move(settings)
    try:
        require_source(engine, settings)
        yield SourceDatabase(engine)
    finally:
        engine.dispose()


@contextlib.asynccontextmanager
async def open_ends(plan: MovePlan) -> AsyncIterator[Ends]:
    """Open both ends, and prevent other moves. Raises MoveError, RecordsError, SettingsError."""
    async with contextlib.AsyncExitStack() as stack:
        source = stack.enter_context(open_source(plan.source))
        stack.enter_context(source.lock(plan.source))
        report, target, objects, to_store = MoveReport(), None, None, None
        if plan.moves_database:
            target = TargetDatabase(wiring.open_for_move(plan.target))
            stack.callback(target.engine.dispose)
        if plan.moves_store:
            from_store, to_store = wiring.open_store(plan.source), wiring.open_store(plan.target)
            stack.callback(from_store.close)
            stack.callback(to_store.close)
            objects = ObjectCopies(from_store, to_store, report, lambda key: _is_active(source, key))
        yield Ends(plan, source, target, objects, to_store, report)


async def begin_or_continue(ends: Ends) -> MoveState:
    """Return the state of this move. Raises MoveError if a target is in use or another move has begun."""
    state = ends.source.state()
    if state is None or _is_past(state, ends.plan):
        if ends.target:
            require_unused_database(ends.target.engine, ends.plan.target)
        if ends.to_store:
            await require_unused_store(ends.to_store, ends.plan.target, ends.source.installation_id())
        state = ends.source.begin(ends.plan)
    if state.phase == "filling":
        raise MoveError("`prshots move` has not finished filling this database: finish or cancel that first")
    if not ends.plan.is_of(state):
        what = "is under way" if state.phase == "copying" else "is done"
        raise MoveError(
            f"a move that sets {state.where_to} {what}: give the same options, or run `prshots move --cancel`"
        )
    if state.phase == "copying" and ends.to_store:
        installation_id = ends.source.installation_id()
        if await ends.to_store.owner(installation_id) != installation_id:
            raise MoveError(f"{ends.plan.store_place} belongs to another installation now: name another one")
    return state


def _is_past(state: MoveState, plan: MovePlan) -> bool:
    """Return whether this is a completed move of only the store: the database is still in use."""
    return state.phase == "moved" and not state.database_place and not plan.is_of(state)


def _is_active(source: SourceDatabase, key: str) -> bool:
    """Return whether the image with this key is neither deleted nor about to be."""
    with source.snapshot() as snapshot:
        return key in wanted_objects(images_with(snapshot, {image_id_of(key)}))
