"""Comparisons of pull requests. What comparing two images found is kept for the next pair of these bytes."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import NotFoundError
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.columns import (
    ACTIVE,
    IMAGE,
    discard_oldest,
    equal,
    given,
    in_batches,
    project_gone_as,
)
from prshots.server.adapters.sql.comparison.effects import note_state
from prshots.server.adapters.sql.comparison.newest import COMMIT, DIFFERS, NEWEST, NEWEST_OF_SEVERAL, OF_SHOT
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import compared_shots, comparisons, images, pair_results
from prshots.server.adapters.sql.review.histories import identify_remembered
from prshots.server.domain.comparison.encoding import decode_difference, encode_difference
from prshots.server.domain.comparison.models import (
    ComparedPair,
    ComparisonRequest,
    ComparisonSummary,
    PairKey,
    PlannedShot,
    ShotBase,
    ShotResult,
    ShownPart,
    StoredComparison,
)
from prshots.server.domain.images.models import Image, ShotKey

KEPT_SECONDS = 600
"""How long to keep the comparison of an older commit, because a client may still request it."""

SHORTEST_SHA = 7

_PLAIN = ("verdict", "pixels", "reason", "pixels_before", "pixels_after")
"""The fields of a result that are columns. One column has the others."""
RESULT = (*_PLAIN, "difference")
_PAIR_KEY = ("project_id", "before_sha256", "after_sha256")
_KEPT = (*RESULT, "engine", "created_at")
_KEEP_RESULTS = sa.text(
    f"INSERT INTO pair_results ({', '.join(_PAIR_KEY + _KEPT)}) "  # noqa: S608 - our own columns
    f"VALUES ({', '.join(f':{name}' for name in _PAIR_KEY + _KEPT)}) ON CONFLICT ({', '.join(_PAIR_KEY)}) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _KEPT)}"
)
_HASHES = (pair_results.c.before_sha256, pair_results.c.after_sha256)
_FIND_RESULTS = sa.select(*_HASHES, *(pair_results.c[name] for name in RESULT))

_OF_PR = given(images, "project_id", "pr_number")
_WITH_IDS = (images.c.id.in_(sa.bindparam("image_ids", expanding=True)), ACTIVE)
_later = images.alias()
_is_replaced = (
    sa.select(_later.c.seq)
    .where(
        *(_later.c[name] == images.c[name] for name in ("project_id", "pr_number", *ShotKey._fields)),
        _later.c.seq > images.c.seq,
        _later.c.scheduled_at.is_(None),
    )
    .exists()
)
_LOCK_IMAGES = sa.select(images.c.id).where(*_WITH_IDS).order_by(images.c.id).with_for_update(read=True)
_ACTIVE_IMAGES = sa.select(*IMAGE).where(*_WITH_IDS)
_IDENTIFY = (
    sa.update(images).where(images.c.id == sa.bindparam("of_image")).values(pixels=sa.bindparam("found"))
)
_NEWEST_SEQ = sa.select(sa.func.max(images.c.seq)).where(*_OF_PR)
_SHOT_RESULT = (
    sa.update(compared_shots)
    .where(*(compared_shots.c[name] == sa.bindparam(f"of_{name}") for name in (*COMMIT, *ShotKey._fields)))
    .values({name: sa.bindparam(name) for name in RESULT})
)
_SHOT = ("image_id", "base_id", "base_commit", "ancestor", *RESULT, *ShotKey._fields)
_SHOTS = Prepared(
    sa.select(*(compared_shots.c[name] for name in _SHOT)).where(*given(compared_shots, *COMMIT))
)


_COUNTS = (
    sa.select(comparisons.c.pr_number, comparisons.c.commit_sha, comparisons.c.state)
    .add_columns(compared_shots.c.verdict, sa.func.count(compared_shots.c.name))
    .select_from(comparisons.outerjoin(compared_shots, OF_SHOT))
    .where(*NEWEST_OF_SEVERAL)
    .group_by(*(comparisons.c[name] for name in (*COMMIT, "state")), compared_shots.c.verdict)
)

_PAIR = (*PairKey._fields, "verdict")
_DIFFERING = (
    sa.select(comparisons.c.pr_number, *(compared_shots.c[name] for name in _PAIR))
    .select_from(comparisons.join(compared_shots, OF_SHOT))
    .where(*NEWEST_OF_SEVERAL, DIFFERS)
    .order_by(*(compared_shots.c[name] for name in ShotKey._fields))
)

# The parts of an image that can change while it is compared. Including `seq` makes the row order irrelevant.
_CHANGEABLE = (
    sa.cast(images.c.seq, sa.String)
    + sa.func.coalesce(images.c.thumbnail, "")
    + "-"
    + sa.func.coalesce(images.c.diff_base, "")
)
_IMAGES, _BASES = (
    sa.select(sa.func.aggregate_strings(_CHANGEABLE, ","))
    .select_from(compared_shots.join(images, images.c.id == column))
    .where(*given(compared_shots, *COMMIT), ACTIVE)
    for column in (compared_shots.c.image_id, compared_shots.c.base_id)
)


class SqlComparisons:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def images_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[Image]:
        query = sa.select(*IMAGE).where(*_OF_PR, _at_commit(commit_sha), ACTIVE).order_by(images.c.seq)
        rows = await self._database.rows(query, project_id=project_id, pr_number=pr_number)
        newest = {image.shot: image for image in (Image(*row) for row in rows)}
        return list(newest.values())

    async def pairs_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[tuple[Image, Image]]:
        is_shown = sa.or_(_at_commit(commit_sha), ~_is_replaced)
        query = sa.select(*IMAGE).where(*_OF_PR, images.c.before_id.is_not(None), ACTIVE, is_shown)
        of_pr = {"project_id": project_id, "pr_number": pr_number}

        def read(connection: sa.Connection) -> list[tuple[Image, Image]]:
            afters = [Image(*row) for row in connection.execute(query.order_by(images.c.seq), of_pr)]
            active = _active_images(connection, (image.before_id for image in afters))
            return [(image, before) for image in afters if (before := active.get(image.before_id))]

        return await self._database.read(read)

    async def was_complete(self, project_id: str, pr_number: int, commit_sha: str) -> bool:
        query = sa.select(comparisons.c.complete).where(*_this(project_id, pr_number, commit_sha))
        row = await self._database.first(query)
        return bool(row and row.complete)

    async def begin(self, comparison: StoredComparison) -> bool:
        request, shots, now = comparison.request, comparison.shots, comparison.seen_at
        ids = sorted({image.id for each in shots for image in each.images})
        row = {
            **_key(request),
            "branch": request.branch,
            "commits": json.dumps(list(request.commits)),
            "queued_pulls": json.dumps(list(request.queued_pulls)),
            "complete": int(request.is_complete),
            "run": comparison.run,
            "state": comparison.state,
            "base_commit": comparison.base_commit,
            "missing": comparison.missing,
            "started_at": now,
            "seen_at": now,
        }

        def write(connection: sa.Connection) -> bool:
            lock_pull(connection, request.project_id, request.pr_number)
            if ids and len(connection.execute(_LOCK_IMAGES, {"image_ids": ids}).all()) < len(ids):
                return False
            # Without images, it ranks below every commit with images, so it can't replace their results.
            first_seq = _first_seq(connection, request) if any(each.image for each in shots) else 0
            _remove_replaced(connection, request, first_seq, now)
            connection.execute(sa.insert(comparisons).values(**row, first_seq=first_seq))
            if shots:
                connection.execute(sa.insert(compared_shots), [_shot_row(request, each) for each in shots])
            note_state(connection, _key(request), comparison.state, now)
            return True

        with project_gone_as(NotFoundError("not found")):
            return await self._database.write(write)

    async def known_pairs(
        self, project_id: str, pairs: Collection[tuple[str, str]], engine: int
    ) -> dict[tuple[str, str], ShotResult]:
        if not pairs:
            return {}
        return await self._database.read(
            lambda connection: find_results(connection, project_id, engine, pairs)
        )

    async def record(
        self,
        request: ComparisonRequest,
        run: str,
        results: Mapping[ShotKey, ShotResult],
        pairs: Mapping[tuple[str, str], ShotResult],
        identities: Mapping[str, str],
        *,
        engine: int,
        state: ComparisonState | None,
        now: int,
    ) -> bool:
        values = {"seen_at": now} if state is None else {"seen_at": now, "state": state}
        noting = sa.update(comparisons).where(*equal(comparisons, **_key(request), run=run)).values(values)
        shot_rows = [
            {f"of_{name}": part for name, part in (_key(request) | shot._asdict()).items()}
            | result_row(results[shot])
            for shot in sorted(results)
        ]

        def write(connection: sa.Connection) -> bool:
            _identify(connection, identities)  # first: `begin` locks images before its comparison, too
            keep_results(connection, request.project_id, engine, pairs, now)
            if not connection.execute(noting).rowcount:
                return False
            if shot_rows:
                connection.execute(_SHOT_RESULT, shot_rows)
            if state:
                note_state(connection, _key(request), state, now)
            return True

        with project_gone_as(NotFoundError("not found")):
            return await self._database.write(write)

    async def identify(self, identities: Mapping[str, str]) -> None:
        await self._database.write(lambda connection: _identify(connection, identities))

    async def set_diff(self, image_id: str, base_id: str) -> bool:
        noting = sa.update(images).where(images.c.id == image_id, ACTIVE).values(diff_base=base_id)
        return await self._database.execute(noting) > 0

    async def diff_twin(self, image: Image, base: Image) -> Image | None:
        of_shot = equal(
            images, project_id=image.project_id, pr_number=image.pr_number, **image.shot._asdict()
        )
        same = equal(images, sha256=image.sha256, diff_base=base.id)
        query = sa.select(*IMAGE).where(*of_shot, *same, ACTIVE).order_by(images.c.seq.desc()).limit(1)
        row = await self._database.first(query)
        return Image(*row) if row else None

    async def of_newest_commit(self, project_id: str, pr_number: int) -> StoredComparison | None:
        return await self._first(NEWEST, project_id=project_id, pr_number=pr_number)

    async def summaries(self, project_id: str, pr_numbers: Collection[int]) -> dict[int, ComparisonSummary]:
        of_pulls = {"project_id": project_id, "pr_numbers": list(pr_numbers)}

        def read(connection: sa.Connection) -> dict[int, ComparisonSummary]:
            counts: dict[tuple[int, str, str], dict[Verdict | None, int]] = {}
            for *comparison, verdict, count in connection.execute(_COUNTS, of_pulls):
                counts.setdefault(tuple(comparison), {})[Verdict(verdict) if verdict else None] = count
            pairs: dict[int, list[ComparedPair]] = {}
            for number, *key, verdict in connection.execute(_DIFFERING, of_pulls):
                found = ComparedPair(PairKey(*key), Verdict(verdict) if verdict else None)
                pairs.setdefault(number, []).append(found)
            return {
                number: ComparisonSummary(sha, ComparisonState(state), of_verdicts, pairs.get(number, ()))
                for (number, sha, state), of_verdicts in counts.items()
            }

        return await self._database.read(read)

    async def version(self, project_id: str, pr_number: int) -> str | None:
        return await self._database.read(lambda connection: _version_of(connection, project_id, pr_number))

    async def of_commit(self, project_id: str, pr_number: int, commit_sha: str) -> StoredComparison | None:
        return await self._first(sa.select(comparisons).where(*_this(project_id, pr_number, commit_sha)))

    async def _first(self, query: sa.Select[Any], **parameters: object) -> StoredComparison | None:
        def read(connection: sa.Connection) -> StoredComparison | None:
            row = connection.execute(query, parameters).first()
            return _read_comparison(connection, row) if row else None

        return await self._database.read(read)

    async def discard_old_pairs(self, until: int, limit: int) -> int:
        return await self._database.write(
            lambda connection: discard_oldest(connection, pair_results, until, limit)
        )


def _identify(connection: sa.Connection, identities: Mapping[str, str]) -> None:
    """Set the identities of images. Sorted, because two processes may have some of the same."""
    if rows := [{"of_image": image_id, "found": identities[image_id]} for image_id in sorted(identities)]:
        connection.execute(_IDENTIFY, rows)
        identify_remembered(connection, rows)


def _at_commit(commit_sha: str) -> sa.ColumnElement[bool]:
    """Match a commit, ignoring case. Both the uploads and the request may name the commit by a prefix."""
    sha = sa.func.lower(images.c.commit_sha)
    asked = commit_sha.lower()
    prefixes = [asked[:length] for length in range(SHORTEST_SHA, len(asked) + 1)]
    return sa.or_(sha.in_(prefixes), sha.like(f"{asked}%"))


def _active_images(connection: sa.Connection, ids: Iterable[str | None]) -> dict[str | None, Image]:
    active: dict[str | None, Image] = {}
    for some in in_batches(sorted({image_id for image_id in ids if image_id})):
        rows = connection.execute(_ACTIVE_IMAGES, {"image_ids": some})
        active |= {row.id: Image(*row) for row in rows}
    return active


def _this(project_id: str, pr_number: int, commit_sha: str) -> list[sa.ColumnElement[bool]]:
    return equal(comparisons, project_id=project_id, pr_number=pr_number, commit_sha=commit_sha.lower())


def _key(request: ComparisonRequest) -> dict[str, object]:
    return {
        "project_id": request.project_id,
        "pr_number": request.pr_number,
        "commit_sha": request.commit_sha.lower(),
    }


def _first_seq(connection: sa.Connection, request: ComparisonRequest) -> int:
    """Return when the commit reached the pull request: the `seq` of its first image.

    A commit that only has pairs of earlier commits counts as the newest.
    """
    of_pr = {"project_id": request.project_id, "pr_number": request.pr_number}
    first = sa.select(sa.func.min(images.c.seq)).where(*_OF_PR, _at_commit(request.commit_sha))
    found = connection.execute(first, of_pr).scalar()
    return found if found is not None else (connection.execute(_NEWEST_SEQ, of_pr).scalar() or 0) + 1


def _remove_replaced(connection: sa.Connection, request: ComparisonRequest, first_seq: int, now: int) -> None:
    """Remove this commit's earlier comparison, and those of older commits that no client waits for."""
    of_pr = {"project_id": request.project_id, "pr_number": request.pr_number}
    is_same_commit = comparisons.c.commit_sha == request.commit_sha.lower()
    is_old = (comparisons.c.first_seq < first_seq) & (comparisons.c.seen_at < now - KEPT_SECONDS)
    removing = sa.delete(comparisons).where(*equal(comparisons, **of_pr), is_same_commit | is_old)
    replaced = connection.execute(removing.returning(comparisons.c.commit_sha)).scalars().all()
    if replaced:
        is_of_replaced = compared_shots.c.commit_sha.in_(replaced)
        connection.execute(sa.delete(compared_shots).where(*equal(compared_shots, **of_pr), is_of_replaced))


def _shot_row(request: ComparisonRequest, planned: PlannedShot) -> dict[str, object]:
    base = planned.base
    return {
        **_key(request),
        **planned.shot._asdict(),
        "image_id": planned.image.id if planned.image else None,
        "base_id": base.image.id if base else None,
        "base_commit": base.commit_sha or None if base else None,
        "ancestor": int(base is None or base.is_listed),
        **result_row(planned.result),
    }


def _version_of(connection: sa.Connection, project_id: str, pr_number: int) -> str | None:
    """Return a hash of everything that the page shows. The page polls, and usually nothing has changed."""
    of_pr = {"project_id": project_id, "pr_number": pr_number}
    newest = connection.execute(NEWEST, of_pr).first()
    if newest is None or newest.state == ComparisonState.RUNNING:
        return None
    of_commit = of_pr | {"commit_sha": newest.commit_sha}
    parts = [connection.execute(query, of_commit).scalar() for query in (_IMAGES, _BASES)]
    return hashlib.sha256(f"{newest.run} {newest.state} {parts}".encode()).hexdigest()


def _read_comparison(connection: sa.Connection, row: Any) -> StoredComparison:  # noqa: ANN401 - a row of the table
    request = ComparisonRequest(
        row.project_id,
        row.pr_number,
        row.commit_sha,
        row.branch,
        tuple(json.loads(row.commits)),
        bool(row.complete),
        tuple(json.loads(row.queued_pulls)),
    )
    found = _SHOTS.rows(connection, _key(request))
    active = _active_images(
        connection, (key for image_id, base_id, *_ in found for key in (image_id, base_id))
    )
    shots = [
        PlannedShot(
            ShotKey(*facts[len(RESULT) :]),
            active.get(image_id),
            ShotBase(base, base_commit or "", bool(ancestor)) if (base := active.get(base_id)) else None,
            read_result(facts[: len(RESULT)]),
        )
        for image_id, base_id, base_commit, ancestor, *facts in found
        if image_id is None or image_id in active
    ]
    return StoredComparison(
        request,
        row.run,
        ComparisonState(row.state),
        row.base_commit,
        row.missing,
        row.seen_at,
        shots,
    )


def find_results(
    connection: sa.Connection, project_id: str, engine: int, pairs: Collection[tuple[str, str]]
) -> dict[tuple[str, str], ShotResult]:
    query = _FIND_RESULTS.where(*equal(pair_results, project_id=project_id, engine=engine))
    return {
        (before, after): read_result(result)
        for some in in_batches(sorted(pairs))
        for before, after, *result in connection.execute(query.where(sa.tuple_(*_HASHES).in_(some)))
    }


def keep_results(
    connection: sa.Connection,
    project_id: str,
    engine: int,
    pairs: Mapping[tuple[str, str], ShotResult],
    now: int,
) -> None:
    """Keep these results. Sorted, because two processes may have some of the same."""
    kept = {"project_id": project_id, "engine": engine, "created_at": now}
    rows = [
        {**kept, "before_sha256": before, "after_sha256": after, **result_row(pairs[before, after])}
        for before, after in sorted(pairs)
    ]
    if rows:
        connection.execute(_KEEP_RESULTS, rows)


def result_row(result: ShotResult) -> dict[str, object]:
    facts = encode_difference(result)
    if result.closeups:
        facts["closeups"] = result.closeups
    encoded = json.dumps(facts, separators=(",", ":")) if facts else ""
    return {name: getattr(result, name) for name in _PLAIN} | {"difference": encoded}


def read_result(values: Sequence[Any]) -> ShotResult:
    """Return the result in a row, given the values of the columns `RESULT`."""
    *plain, difference = values
    columns = dict(zip(_PLAIN, plain, strict=True))
    columns["verdict"] = Verdict(columns["verdict"]) if columns["verdict"] else None
    if not difference:
        return ShotResult(**columns)
    facts = json.loads(difference)
    closeups = tuple(ShownPart(tuple(region), tuple(pieces)) for region, pieces in facts.get("closeups", ()))
    return ShotResult(**columns, **decode_difference(facts), closeups=closeups)
