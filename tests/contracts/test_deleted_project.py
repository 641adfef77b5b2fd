"""A project can be deleted between the check of a request and its write. That is no outage of the database."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from prshots.contract.errors import NotFoundError, UnauthorizedError
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.domain.projects.models import Trust
from support.stores_and_records import ENGINES, NOW, SqlRecords, a_project, a_token, an_image, opener


class Stores(NamedTuple):
    records: SqlRecords
    trusts: SqlTrusts


@pytest.fixture(params=ENGINES)
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stores]:
    database = opener(request, tmp_path)()
    yield Stores(SqlRecords(database), SqlTrusts(database))
    await database.close()


async def test_an_upload_finds_its_token_gone(stores: Stores) -> None:
    with pytest.raises(UnauthorizedError, match=r"^unauthorized$"):
        await stores.records.add_image(an_image(a_project()))


async def test_a_token_finds_nothing(stores: Stores) -> None:
    with pytest.raises(NotFoundError, match=r"^not found$"):
        await stores.records.add_token(a_token(a_project()))


async def test_a_trust_finds_nothing(stores: Stores) -> None:
    trust = Trust("t", a_project().id, "https://issuer.example", {"repository": "o/r"}, NOW, "ann")
    with pytest.raises(NotFoundError, match=r"^not found$"):
        await stores.trusts.add_trust(trust, "repository=o/r", 10)


async def test_uploads_of_other_projects_in_the_same_commit_are_stored(stores: Stores) -> None:
    project = a_project()
    await stores.records.add_project(project)
    kept = an_image(project)
    outcomes = await asyncio.gather(
        *(stores.records.add_image(image) for image in (an_image(project), an_image(a_project()), kept)),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), UnauthorizedError, type(None)]
    assert await stores.records.known_ids([kept.id]) == {kept.id}
