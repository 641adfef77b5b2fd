"""What comparing two images found: as columns, and kept for the next comparison of the same bytes."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.replies import Region, Verdict
from prshots.server.adapters.sql.columns import equal, in_batches
from prshots.server.adapters.sql.database.schema import pair_results
from prshots.server.domain.comparison.models import NO_TRAITS, ShotResult, Traits

RESULT = tuple(field.name for field in fields(ShotResult))
_PAIR = ("project_id", "before_sha256", "after_sha256")
_OF_PAIR = (*RESULT, "engine", "created_at")
_KEEP = sa.text(
    f"INSERT INTO pair_results ({', '.join(_PAIR + _OF_PAIR)}) "  # noqa: S608 - our own columns
    f"VALUES ({', '.join(f':{name}' for name in _PAIR + _OF_PAIR)}) ON CONFLICT ({', '.join(_PAIR)}) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _OF_PAIR)}"
)
_HASHES = (pair_results.c.before_sha256, pair_results.c.after_sha256)
_FIND = sa.select(*_HASHES, *(pair_results.c[name] for name in RESULT))


def find_results(
    connection: sa.Connection, project_id: str, engine: int, pairs: Collection[tuple[str, str]]
) -> dict[tuple[str, str], ShotResult]:
    query = _FIND.where(*equal(pair_results, project_id=project_id, engine=engine))
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
        connection.execute(_KEEP, rows)


def result_row(result: ShotResult) -> dict[str, object]:
    return {name: getattr(result, name) for name in RESULT} | {
        "regions": json.dumps(result.regions),
        "closeups": json.dumps(result.closeups) if result.closeups else "",
        "traits": "" if result.traits == NO_TRAITS else json.dumps(asdict(result.traits)),
    }


def read_result(values: Sequence[Any]) -> ShotResult:
    """Return the result in a row, given the values of the columns `RESULT`."""
    columns = dict(zip(RESULT, values, strict=True))
    verdict, traits = columns["verdict"], columns["traits"]
    return ShotResult(
        **columns
        | {
            "verdict": Verdict(verdict) if verdict else None,
            "regions": _regions(columns["regions"]),
            "closeups": tuple(_regions(columns["closeups"])),
            "traits": Traits.from_facts(json.loads(traits)) if traits else NO_TRAITS,
        }
    )


def _regions(encoded: str) -> list[Region]:
    return [] if encoded in {"", "[]"} else [tuple(region) for region in json.loads(encoded)]
