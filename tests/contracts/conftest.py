from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from prshots.server import wiring
from prshots.server.config.settings import Settings
from support.contract_stores import Stores
from support.stores_and_records import ENGINES, PARTITIONED, opener


@pytest.fixture(params=ENGINES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Return settings with an empty database, for each engine."""
    if request.param == "sqlite":
        return Settings(data_dir=tmp_path / "data")
    return Settings(data_dir=tmp_path, database_url=request.getfixturevalue(request.param).new_database())


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    made = wiring._database(settings).engine
    yield made
    made.dispose()


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Open a new database on each engine, with a project and beside a neighbor that stays as it is."""
    made = Stores(request.param, opener(request, tmp_path))
    await made.fill()
    yield made
    await made.close()
