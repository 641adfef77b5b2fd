"""Natural order: `step-2` before `step-10`, in the service and in the dashboard."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.contract.natural_order import natural_key
from support.vectors import cases


@pytest.mark.parametrize("case", cases("natural_order", "sorted"))
def test_names_sort_in_natural_order(case: dict[str, Any]) -> None:
    keys = [natural_key(name) for name in case["names"]]
    assert all(first < second for first, second in pairwise(keys))


@given(st.sets(st.text(max_size=200), max_size=10))
def test_any_two_names_have_an_order(names: set[str]) -> None:
    keys = sorted(map(natural_key, names))
    assert all(first < second for first, second in pairwise(keys))
