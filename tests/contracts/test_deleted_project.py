"""A project can be deleted between the check of a request and its write. The database still works."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from prshots.contract.errors import NotFoundError, UnauthorizedError
from prshots.server.domain.images.models import BranchPlace, StagedImage
from prshots.server.domain.projects.models import Trust
from support.contract_stores import Stores
from support.stores_and_records import NOW, a_project, a_token, an_image

GONE = a_project()
TRUST = Trust("t", GONE.id, "https://issuer.example", {"repository": "o/r"}, NOW, "ann")
STAGED = StagedImage(an_image(GONE, kind="staged"), BranchPlace("fix", ""), NOW + 1)
UPLOADS: dict[str, Callable[[Stores], Awaitable[object]]] = {
    "image": lambda stores: stores.add(GONE),
    "baseline": lambda stores: stores.add(GONE, "main", kind="baseline"),
    "staged image": lambda stores: stores.staged.add(STAGED),
}
CHANGES: dict[str, Callable[[Stores], Awaitable[object]]] = {
    "token": lambda stores: stores.records.add_token(a_token(GONE)),
    "trust": lambda stores: stores.trusts.add_trust(TRUST, "repository=o/r", 10),
}


@pytest.mark.parametrize("upload", UPLOADS.values(), ids=UPLOADS)
async def test_an_upload_is_unauthorized(
    stores: Stores, upload: Callable[[Stores], Awaitable[object]]
) -> None:
    with pytest.raises(UnauthorizedError, match=r"^unauthorized$"):
        await upload(stores)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_a_change_is_not_found(stores: Stores, change: Callable[[Stores], Awaitable[object]]) -> None:
    with pytest.raises(NotFoundError, match=r"^not found$"):
        await change(stores)


async def test_uploads_of_other_projects_in_the_same_commit_are_stored(stores: Stores) -> None:
    uploads = (stores.add(project) for project in (stores.project, GONE, stores.project))
    _, refused, kept = await asyncio.gather(*uploads, return_exceptions=True)
    assert isinstance(refused, UnauthorizedError)
    assert not isinstance(kept, BaseException)
    assert kept.id in await stores.of_pull()
