"""Kill -9 at random moments under load. `make drill DRILL=kill` runs the full series."""

import os
import random
from pathlib import Path

import pytest

from drills.kill import KillDrill
from drills.sites import running_site


@pytest.fixture
def seed() -> int:
    seed = int(os.environ.get("KILL_SEED", "0")) or random.randrange(1, 10**9)
    print(f"KILL_SEED={seed}")  # pytest shows it when the test fails
    return seed


KILLS = 40


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_kills_on_sqlite_and_a_folder_lose_nothing(tmp_path: Path, seed: int) -> None:
    with running_site("embedded", tmp_path) as site:
        result = KillDrill(site, KILLS, seed).run("embedded")
    assert result.violations == 0
    assert result.count == KILLS
    assert result.figures["uploads acknowledged"] > KILLS
