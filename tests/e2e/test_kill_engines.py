"""Kill -9 of two replicas and their engines under load. `make drill DRILL='kill --engines shared'` does more of it."""

import random
from pathlib import Path

import pytest

from drills.kill import KillDrill
from drills.sites import running_site

KILLS = 20


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kills_on_postgresql_s3_and_valkey_lose_nothing(tmp_path: Path) -> None:
    seed = random.randrange(1, 10**9)
    print(f"seed {seed}")  # pytest shows it when the test fails
    with running_site("shared", tmp_path) as site:
        result = KillDrill(site, KILLS, seed).run("shared")
    assert result.violations == 0
    assert result.count == KILLS
    assert result.figures["uploads acknowledged"] > KILLS
