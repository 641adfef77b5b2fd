"""The capacity model: from the cost of a request to the processes that a load needs."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2])  # bench is in the repository, but not installed
    from bench import capacity
    from bench.capacity import POSTGRESQL, PRSHOTS, UPLOAD, Limits, Load, walls
    from bench.report import Result, Row
    from bench.run import BenchError

FREE = dict.fromkeys(product(capacity.OPERATIONS, capacity.SERVERS), 0.0)
COSTS = capacity.Costs(
    FREE
    | {
        (UPLOAD, PRSHOTS): 3.0,
        (capacity.COMMENT, PRSHOTS): 1.0,
        (capacity.DELIVERY, PRSHOTS): 0.5,
        (UPLOAD, POSTGRESQL): 0.5,
        (capacity.EXPIRY, POSTGRESQL): 0.1,
        (UPLOAD, capacity.COUNTER): 0.05,
    },
    listed_per_second=10_000,
    commits_of_project=500,
    log_bytes=1000,
    record_bytes=500,
)
LOAD = Load(uploads=1000, deliveries=10_000, comments=600)


def test_processes_follow_from_the_cost_the_rate_and_how_busy_a_core_may_be() -> None:
    needs = capacity.needs(LOAD, COSTS, Limits(utilization=0.6))
    found = {(need.part, need.unit, need.why): need.amount for need in needs}
    assert found["API", "processes", "3.6 cores busy"] == 6
    assert found["delivery", "processes", "5.0 cores busy"] == 9
    assert found["PostgreSQL", "connections", "8 per API process"] == 48


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


def test_costs_are_read_from_the_results_and_a_missing_row_is_named() -> None:
    rows = [Row(capacity.cost_row(*key), "ms", 2.0) for key in FREE]
    others = (capacity.LISTING, capacity.COMMITS, capacity.LOG, capacity.RECORD)
    rows += [Row(name, "", 7.0) for name in others]
    results = {"capacity": Result("2026-11-17", "2 cores", 0, rows)}
    costs = capacity.read_costs(results)
    assert (costs.cpu_ms[UPLOAD, PRSHOTS], costs.record_bytes) == (2.0, 7.0)
    results["capacity"] = Result("2026-11-17", "2 cores", 0, rows[1:])
    with pytest.raises(BenchError, match=re.escape(repr(rows[0].measure))):
        capacity.read_costs(results)
