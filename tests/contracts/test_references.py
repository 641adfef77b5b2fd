"""Images of a pull request that have the bytes of another image: added, counted, kept and deleted with it."""

import hashlib
from pathlib import Path

import pytest

from prshots.contract.limits import Policy
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.domain.images.models import SECONDS_PER_DAY, Image, ShotKey
from prshots.server.domain.projects.models import Access, DayOfUploads
from prshots.server.domain.upkeep.reconciliation import check
from prshots.server.domain.upkeep.sweep import sweep
from support.contract_stores import Stores, ids
from support.stores_and_records import DAY, NOW, engines_of, image_service

CART = ShotKey("checkout/cart", "1280x800", "")
HOME = ShotKey("home", "1280x800", "")
A, B = (hashlib.sha256(each).hexdigest() for each in (b"a", b"b"))
COMMIT, NEXT, OLD = "c" * 40, "d" * 40, "0" * 40


async def refer(
    here: Stores, *known: tuple[ShotKey, str], commit: str = COMMIT, pr_number: int = 7, now: int = NOW
) -> list[bool]:
    return await here.records.add_references(here.project.id, pr_number, commit, known, now)


async def baseline(here: Stores, sha256: str = A, **changes: object) -> Image:
    return await here.add(branch="main", kind="baseline", sha256=sha256, commit_sha=OLD, **changes)


async def newest(here: Stores, pr_number: int = 7) -> Image:
    return await here.image((await here.of_pull(pr_number))[-1])


async def test_a_reference_shares_its_sources_bytes_and_adds_none_to_totals(stores: Stores) -> None:
    source = await baseline(stores)
    assert await refer(stores, (CART, A), (CART, B), (HOME, A)) == [True, False, False]
    made = await newest(stores)
    assert (made.source_id, made.key, made.size) == (source.id, source.key, 0)
    assert (made.kind, made.commit_sha, made.uploaded_at, made.sha256) == ("pull_request", COMMIT, NOW, A)
    pull = await stores.pull()
    assert (pull.images, pull.bytes, pull.last_commit) == (1, 0, COMMIT)
    assert await stores.totals() == (2, 1000, 1)
    day = NOW // SECONDS_PER_DAY
    days = await stores.overview.days([stores.project.id], day)
    assert days == {stores.project.id: [DayOfUploads(day, 1, 1000)]}
    assert await stores.wrong_totals() == []
    assert await stores.records.comment_entries(stores.project.id, 7, 9) == (0, [])
    assert [shot.newest.id for shot in await stores.overview.shots(stores.project.id, 7, None, 9)] == [
        made.id
    ]


async def test_a_repeated_call_adds_nothing(stores: Stores) -> None:
    await stores.add(sha256=B, commit_sha=OLD)
    await baseline(stores)
    for _ in range(2):
        assert await refer(stores, (CART, B), (CART, A)) == [True, True]  # the last one counts
    assert len(await stores.of_pull()) == 2
    assert await refer(stores, (CART, B)) == [True]
    assert (await newest(stores)).sha256 == B
    uploaded = await stores.add(sha256=A, commit_sha=NEXT)
    assert await refer(stores, (CART, A), commit=NEXT.upper()) == [True]
    assert (await newest(stores)).id == uploaded.id


async def test_a_reference_to_a_reference_names_the_image_with_the_bytes(stores: Stores) -> None:
    source = await stores.add(sha256=A, commit_sha=OLD)
    await refer(stores, (CART, A))
    await refer(stores, (CART, A), commit=NEXT)
    assert [image.source_id for image in await stores.records.references_to(source.id)] == [source.id] * 2
    assert await refer(stores, (CART, A), pr_number=8) == [False]


async def test_scheduling_a_source_schedules_its_references(stores: Stores) -> None:
    await stores.change_project(policy=Policy.RETAIN_DAYS, retain_days=3)
    source = await stores.add(sha256=A, commit_sha=OLD)
    await refer(stores, (CART, A), now=NOW + 2 * DAY)
    assert await stores.records.schedule_due(NOW + 3 * DAY, 10) == 1
    assert len(await stores.scheduled()) == 2
    assert source.id in await stores.scheduled()
    assert await refer(stores, (CART, A), commit=NEXT) == [False]


async def test_a_baseline_is_kept_while_a_pull_request_refers_to_it(stores: Stores) -> None:
    await stores.change_project(keep_baselines=1)
    source = await baseline(stores)
    await refer(stores, (CART, A))
    await stores.add(branch="main", kind="baseline", sha256=B, commit_sha=NEXT)
    assert await stores.baselines.release(NOW, 10) == 0
    assert await refer(stores, (CART, A), commit=NEXT) == [True]  # although no branch has it anymore
    await stores.records.close_pr(stores.project.id, 7, NOW, schedule=True)
    assert source.id not in await stores.scheduled()
    assert await stores.baselines.release(NOW, 10) == 1
    assert source.id in await stores.scheduled()


async def test_a_reference_reopens_a_pull_request_and_keeps_its_source(stores: Stores) -> None:
    await stores.change_project(policy=Policy.MANUAL)
    source = await stores.add(sha256=A, commit_sha=COMMIT)
    await stores.records.close_pr(stores.project.id, 7, NOW, schedule=False)
    assert await refer(stores, (CART, A)) == [True]
    assert (await stores.pull()).closed_at is None
    await stores.change_project(policy=Policy.PR_CLOSE)
    assert await stores.records.schedule_due(NOW, 10) == 0
    assert await stores.of_pull() == [source.id, (await newest(stores)).id]


@pytest.mark.parametrize("of_baseline", [True, False])
async def test_deleting_a_reference_deletes_its_source_except_a_baseline(
    stores: Stores, tmp_path: Path, *, of_baseline: bool
) -> None:
    store = DiskStore(tmp_path / "objects")
    images = image_service(stores.records, store)
    source = await (baseline(stores) if of_baseline else stores.add(sha256=A, commit_sha=OLD))
    await store.put(source.key, [b"a"])
    await refer(stores, (CART, A))
    await refer(stores, (CART, A), commit=NEXT)
    made = await newest(stores)
    await store.put(made.thumbnail_key, [b"thumbnail"])
    await images.delete(Access(stores.project), made.id)
    assert await store.exists(source.key) is of_baseline
    assert not await store.exists(made.thumbnail_key)
    left = [source.id, *ids(await stores.records.references_to(source.id))] if of_baseline else []
    assert await stores.records.known_ids([source.id, *await stores.of_pull()]) == set(left)
    assert len(await stores.of_pull()) == (1 if of_baseline else 0)
    assert await stores.wrong_totals() == []


async def test_a_check_and_a_sweep_expect_only_the_bytes_of_the_source(
    stores: Stores, tmp_path: Path
) -> None:
    store, source = DiskStore(tmp_path / "objects"), await baseline(stores)
    engines = engines_of(stores.records, store)
    await store.put(source.key, [b"a"])
    await refer(stores, (CART, A))
    found: list[object] = []
    await check(engines, found.append)
    assert not [
        image for image in found if isinstance(image, Image) and image.project_id == stores.project.id
    ]
    await sweep(engines)
    assert await store.exists(source.key)
    await store.delete([source.key])
    found.clear()
    await check(engines, found.append)
    mine = [image for image in found if isinstance(image, Image) and image.project_id == stores.project.id]
    assert ids(mine) == [source.id]
