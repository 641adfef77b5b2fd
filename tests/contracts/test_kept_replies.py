"""The replies to uploads with an `Idempotency-Key`: one upload per key and project is stored."""

import asyncio
from dataclasses import asdict

from prshots.contract.replies import Uploaded
from prshots.server.domain.images.models import KEPT_REPLY_SECONDS, BranchPlace, Image, KeptReply, StagedImage
from support.contract_stores import Stores
from support.stores_and_records import NOW, SqlRecords, an_image

SINCE = NOW - KEPT_REPLY_SECONDS


def kept(image: Image, key: str = "k") -> KeptReply:
    made = KeptReply.of(image, Uploaded(image.id, f"http://img/{image.id}", "![a](b)"), key)
    assert made
    return made


async def test_stores_one_of_concurrent_uploads_with_the_same_key(stores: Stores) -> None:
    replicas: list[SqlRecords] = [stores.records, stores.open_again()]
    keyed = [an_image(stores.project, name=f"shot {number}") for number in range(8)]
    others = [an_image(stores.project) for _ in range(4)]
    is_new, _ = await asyncio.gather(
        asyncio.gather(
            *(replicas[n % 2].add_image(image, kept=kept(image)) for n, image in enumerate(keyed))
        ),
        asyncio.gather(*(replicas[n % 2].add_image(image) for n, image in enumerate(others))),
    )
    assert sum(is_new) == 1
    first = keyed[is_new.index(True)]
    assert await stores.records.kept_reply(stores.project.id, "k", SINCE) == {
        name: value for name, value in asdict(kept(first).reply).items() if value is not None
    }
    assert set(await stores.of_pull()) == {first.id, *(image.id for image in others)}
    staged = an_image(stores.project, kind="staged")
    place = StagedImage(staged, BranchPlace("fix", ""), NOW + 1)
    assert not await stores.staged.add(place, kept(staged))
    assert await stores.staged.add(place, kept(staged, "another"))
    other = await stores.add_project()
    await stores.records.keep_reply(kept(an_image(other)))
    assert await stores.records.add_image(an_image(other), kept=kept(an_image(other))) is False
    assert await stores.wrong_totals() == []


async def test_a_reply_is_kept_for_a_day(stores: Stores) -> None:
    first, later = an_image(stores.project), an_image(stores.project, uploaded_at=NOW + KEPT_REPLY_SECONDS)
    assert await stores.records.add_image(first, kept=kept(first))
    assert await stores.records.kept_reply(stores.project.id, "k", NOW) is None
    assert await stores.records.discard_kept_replies(SINCE, 10) == 0
    assert await stores.records.add_image(later, kept=kept(later))  # although no sweep has run
    found = await stores.records.kept_reply(stores.project.id, "k", NOW)
    assert found is not None
    assert found["id"] == later.id
    assert await stores.records.discard_kept_replies(NOW + KEPT_REPLY_SECONDS, 10) == 1
    assert await stores.records.kept_reply(stores.project.id, "k", SINCE) is None


async def test_a_failed_upload_keeps_no_reply(stores: Stores) -> None:
    taken = await stores.add()
    image = an_image(stores.project)
    failed, added = await asyncio.gather(
        stores.records.add_image(taken, kept=kept(taken)),
        stores.records.add_image(image, kept=kept(image, "another")),
        return_exceptions=True,
    )
    assert isinstance(failed, Exception)
    assert added is True
    assert await stores.records.kept_reply(stores.project.id, "k", SINCE) is None
