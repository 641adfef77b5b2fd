"""A project can be deleted between the check of a request and its write. The database still works."""

import asyncio

import pytest

from prshots.contract.errors import NotFoundError, UnauthorizedError
from prshots.server.domain.images.models import BranchPlace, StagedImage
from prshots.server.domain.projects.models import Trust
from support.contract_stores import Stores
from support.stores_and_records import NOW, a_project, a_token, an_image

GONE = a_project()
TRUST = Trust("t", GONE.id, "https://issuer.example", {"repository": "o/r"}, NOW, "ann")
STAGED = StagedImage(an_image(GONE, kind="staged"), BranchPlace("fix", ""), NOW + 1)


async def test_an_upload_is_unauthorized_and_a_change_is_not_found(stores: Stores) -> None:
    uploads = (stores.add(GONE), stores.add(GONE, "main", kind="baseline"), stores.staged.add(STAGED))
    for upload in uploads:
        with pytest.raises(UnauthorizedError, match=r"^unauthorized$"):
            await upload
    changes = (
        stores.records.add_token(a_token(GONE)),
        stores.trusts.add_trust(TRUST, "repository=o/r", 10),
    )
    for change in changes:
        with pytest.raises(NotFoundError, match=r"^not found$"):
            await change


async def test_uploads_of_other_projects_in_the_same_commit_are_stored(stores: Stores) -> None:
    uploads = (stores.add(project) for project in (stores.project, GONE, stores.project))
    _, refused, kept = await asyncio.gather(*uploads, return_exceptions=True)
    assert isinstance(refused, UnauthorizedError)
    assert not isinstance(kept, BaseException)
    assert kept.id in await stores.of_pull()
