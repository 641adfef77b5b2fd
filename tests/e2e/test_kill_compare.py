"""Kill -9 while pull requests are compared, on both kinds of engines."""

import random
from pathlib import Path

import pytest

from drills.compare import CompareDrill
from drills.sites import running_site

ROUNDS = {"embedded": 4, "shared": 3}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engines", ROUNDS)
def test_a_comparison_is_repeated_or_says_that_it_failed(engines: str, tmp_path: Path) -> None:
    seed = random.randrange(1, 10**9)
    print(f"seed {seed}")  # pytest shows it when the test fails
    with running_site(engines, tmp_path) as site:
        result = CompareDrill(site, ROUNDS[engines], seed).run(engines)
    assert result.violations == 0, result
    assert result.figures["answers checked"] > ROUNDS[engines]
    assert result.figures["of them halfway"] > 0
