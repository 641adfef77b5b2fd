"""The result of a comparison in one sentence."""

from typing import Any

import pytest

from prshots.client.compare import summary
from prshots.client.replies import comparison_from
from support.vectors import cases


@pytest.mark.parametrize("case", cases("comparison_summaries", "summaries"))
def test_a_comparison_is_summed_up(case: dict[str, Any]) -> None:
    reply = {"pr_number": 7, "commit_sha": "1" * 40, "shots": [], "dashboard_url": "https://shots.test"}
    assert summary(comparison_from(reply | case)) == case["summary"]
