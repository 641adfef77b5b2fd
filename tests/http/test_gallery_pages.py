"""Paging through the gallery, with any characters in the names."""

import asyncio
from collections.abc import Iterator

import pytest

from prshots.server.api.dashboard.images import SHOTS_PAGE
from support.service import Service, upload
from support.signed_in_people import Person, sign_in
from support.stores_and_records import an_image, open_all

NAMES = {
    "non-breaking space": "b\u00a0c",
    "family emoji": "b \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "ideographic space": "b\u3000c",
    "line break": "b\nc",
    "control characters": "b\x1b\u0085\u2028",
}


@pytest.fixture(scope="module")
def ann(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.mark.parametrize("last", NAMES.values(), ids=NAMES)
def test_paging_continues_after_a_name_with_any_characters(
    ann: Person, shared_service: Service, last: str
) -> None:
    project = ann.project()
    before, after = [f"a{number:03}" for number in range(SHOTS_PAGE - 1)], "c"

    async def fill() -> None:
        async with open_all(shared_service.data_dir) as (records, _, _):
            (mine,) = [found for found in await records.projects() if found.id == project]
            await asyncio.gather(
                *(records.add_image(an_image(mine, pr_number=7, name=name)) for name in [*before, after])
            )

    asyncio.run(fill())
    with shared_service.client(ann.token(project)) as ci:
        for _ in range(2):
            assert upload(ci, name=last).status_code == 200
    pull = f"/projects/{project}/pulls/7"
    first = ann.get_json(f"{pull}/shots")
    rest = ann.get_json(f"{pull}/shots?after={first['next']}")
    names = [shot["newest"]["name"] for page in (first, rest) for shot in page["shots"]]
    assert names == [*before, last, after]
    older = ann.get(f"/v1/dashboard{pull}/images", params={"name": last, "viewport": "1280x800"})
    assert [image["name"] for image in older.json()["images"]] == [last, last]
