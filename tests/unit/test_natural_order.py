"""Natural order: `step-2` before `step-10`, in the service and in the dashboard."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.contract.natural_order import natural_key, shot_key
from support.vectors import cases


@pytest.mark.parametrize("case", cases("natural_order", "sorted"))
def test_names_sort_in_natural_order(case: dict[str, Any]) -> None:
    keys = [natural_key(name) for name in case["names"]]
    assert all(first < second for first, second in pairwise(keys))


@given(st.sets(st.text(max_size=200), max_size=10))
def test_any_two_names_have_an_order(names: set[str]) -> None:
    keys = sorted(map(natural_key, names))
    assert all(first < second for first, second in pairwise(keys))


def test_shots_sort_by_name_then_width_then_theme() -> None:
    shots = [
        ("step-2", "375x812", ""),
        ("step-2", "1280x800", ""),
        ("step-2", "1280x800", "dark"),
        ("step-2", "1280x800", "light"),
        ("step-10", "375x812", ""),
    ]
    assert all(shot_key(*first) < shot_key(*second) for first, second in pairwise(shots))
