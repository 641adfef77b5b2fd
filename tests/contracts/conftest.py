from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.contract_stores import Stores
from support.stores_and_records import ENGINES, PARTITIONED, opener


@pytest.fixture(params=[*ENGINES, PARTITIONED])
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    """Open a new database on each engine, with a project and beside a neighbor that stays as it is."""
    made = Stores(request.param, opener(request, tmp_path))
    await made.fill()
    yield made
    await made.close()
