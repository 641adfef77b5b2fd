"""The capacity model: from the cost of a request to the processes that a load needs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2])  # bench is in the repository, but not installed
    from bench.capacity import (
        COMMENT,
        COMMITS,
        COUNTER,
        DELIVERY,
        EXPIRY,
        LISTING,
        LOG,
        OPERATIONS,
        POSTGRESQL,
        PRSHOTS,
        RECORD,
        SERVERS,
        UPLOAD,
        Costs,
        Limits,
        Load,
        cost_row,
        needs,
        reachable,
        read_costs,
        usd_per_million,
        walls,
    )
    from bench.contention import commit
    from bench.report import Result, Row
    from bench.run import BenchError

FREE = dict.fromkeys(((operation, server) for operation in OPERATIONS for server in SERVERS), 0.0)
COSTS = Costs(
    FREE
    | {
        (UPLOAD, PRSHOTS): 3.0,
        (COMMENT, PRSHOTS): 1.0,
        (DELIVERY, PRSHOTS): 0.5,
        (UPLOAD, POSTGRESQL): 0.5,
        (EXPIRY, POSTGRESQL): 0.1,
        (UPLOAD, COUNTER): 0.05,
    },
    listed_per_second=10_000,
    commits_of_project=500,
    log_bytes=1000,
    record_bytes=500,
)
LOAD = Load(uploads=1000, deliveries=10_000, comments=600)


def amounts(load: Load, limits: Limits) -> dict[tuple[str, str, str], float]:
    return {(need.part, need.unit, need.why): need.amount for need in needs(load, COSTS, limits)}


def test_processes_follow_from_the_cost_the_rate_and_how_busy_a_core_may_be() -> None:
    found = amounts(LOAD, Limits(utilization=0.6))
    assert found["API", "processes", "3.6 cores busy"] == 6
    assert found["delivery", "processes", "5.0 cores busy"] == 9
    assert found["PostgreSQL", "connections", "8 per API process"] == 48


def test_an_image_is_stored_for_its_retention_and_expires_then() -> None:
    assert LOAD.stored == 1000 * 86_400 * 30
    assert LOAD.per_second(EXPIRY) == LOAD.per_second(UPLOAD)
    peak = replace(LOAD, images=86_400_000, retention_days=10)
    assert peak.per_second(EXPIRY) == 100
    assert COSTS.cores(peak, POSTGRESQL, UPLOAD, EXPIRY) == pytest.approx(0.5 + 0.01)


def test_the_wall_with_the_least_room_is_first() -> None:
    found = walls(replace(LOAD, images=18_000_000), COSTS, Limits(utilization=0.5, postgresql_cores=10))
    assert (found[0].name, found[0].share) == (
        "a sweep lists its part of the bucket in an hour",
        pytest.approx(4_000_000 / 10_000 / 3600),
    )
    shares = [wall.share for wall in found]
    assert shares == sorted(shares, reverse=True)
    slow_list = walls(replace(LOAD, images=18_000_000), COSTS, Limits(list_seconds=0.2))
    assert slow_list[0].share == pytest.approx(4000 * 0.2 / 3600)


@pytest.mark.parametrize(
    ("cpu_ms", "expected"),
    [
        ({"API": 1.0, "store": 3.0}, (500, "machine")),
        ({"API": 3.0, "store": 0.5}, (1000 / 3, "API")),
    ],
)
def test_a_machine_stops_when_its_cores_or_one_process_are_busy(
    cpu_ms: dict[str, float], expected: tuple[float, str]
) -> None:
    assert reachable(cpu_ms, cores=2, single=["API"]) == pytest.approx(expected)


def test_a_million_images_cost_what_the_price_list_says() -> None:
    usd = usd_per_million(LOAD, COSTS, Limits())
    assert usd["storage"] == pytest.approx(300 * 0.023)
    assert usd["traffic to viewers"] == pytest.approx(100 * 10 * 0.09)
    twice = usd_per_million(replace(LOAD, retention_days=60), COSTS, Limits())
    assert twice["storage"] == pytest.approx(2 * usd["storage"])


def test_costs_are_read_from_the_results_and_a_missing_row_is_named() -> None:
    rows = [Row(cost_row(*key), "ms", 2.0) for key in FREE]
    rows += [Row(name, "", 7.0) for name in (LISTING, COMMITS, LOG, RECORD)]
    results = {"capacity": Result("2026-11-17", "2 cores", 0, rows)}
    costs = read_costs(results)
    assert (costs.cpu_ms[UPLOAD, PRSHOTS], costs.record_bytes) == (2.0, 7.0)
    results["capacity"] = Result("2026-11-17", "2 cores", 0, rows[1:])
    with pytest.raises(BenchError, match=re.escape(repr(rows[0].measure))):
        read_costs(results)


def test_the_simulated_commit_has_the_statements_of_an_upload() -> None:
    statements = [line for line in commit(3).splitlines() if line.startswith("INSERT")]
    tables = [statement.split()[2] for statement in statements]
    assert tables == ["images"] * 3 + ["pulls", "uploads_by_day", "project_totals"]
    assert set(re.findall(r"(?<!:):([a-z]\w*)", " ".join(statements))) == {"project", "pull", "shot"}
