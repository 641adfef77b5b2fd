"""A single sweep, on a real database and a real disk."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from prshots.contract.errors import ExpireFailedError, RecordsError, StoreError
from prshots.contract.limits import Policy
from prshots.contract.object_names import SHARDS, THUMBNAIL_EXT, origin_key
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.audit.models import AuditFilter
from prshots.server.domain.images.models import BranchPlace, Image, PutUrl, StagedImage
from prshots.server.domain.people.models import LoginState, Session, User
from prshots.server.domain.people.sign_in import IDLE_SECONDS, SESSION_SECONDS, STATE_SECONDS
from prshots.server.domain.projects.models import Access, Project, Trust
from prshots.server.domain.upkeep.reconciliation import BATCH
from prshots.server.domain.upkeep.safeguards import LEFTOVER_AGE_SECONDS, MASS
from prshots.server.domain.upkeep.sweep import SweepReport, sweep
from support import places
from support.places import make_undeletable
from support.stores_and_records import (
    DAY,
    NOW,
    a_pair,
    a_project,
    a_token,
    an_image,
    engines_of,
    image_service,
    open_records,
)


class Place(places.Place):
    async def records_only(self, project: Project, *uploaded_at: int) -> list[Image]:
        """Add images without bytes to a new project, one for each time."""
        await self.add_project(project)
        images = [an_image(project, uploaded_at=at) for at in uploaded_at]
        await asyncio.gather(*map(self.records.add_image, images))
        return images

    async def sweep(self, *, force: bool = False) -> SweepReport:
        return await sweep(self.engines, clock=lambda: NOW, force=force)

    async def left(self) -> set[str]:
        """Return the keys of all images. The records and the stored bytes must agree."""
        ids = {key[3:35] for key in self.files()}
        assert await self.records.known_ids(ids) == ids
        return self.files()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    await made.add_project(made.project)
    yield made
    await made.close()


async def test_expired_tokens_of_jobs_are_deleted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prshots.server.domain.upkeep.sweep.BATCH", 2)
    trust = Trust("trust", place.project.id, "https://ci.test", {"sub": "job"}, NOW)
    await SqlTrusts(place.records._database).add_trust(trust, "sub=job", 9)
    for expires_at in (NOW, NOW - 1, NOW - 900, NOW + 1):
        await place.records.add_token(a_token(place.project, expires_at=expires_at, trust_id=trust.id))
    for expires_at in (NOW - 1, None):
        await place.records.add_token(a_token(place.project, expires_at=expires_at))
    assert await place.sweep() == SweepReport(tokens=3)
    assert len(await place.records.tokens(place.project.id)) == 2


class TestStaged:
    async def stage(self, place: Place, expires_at: int) -> Image:
        project = await place.add_project(a_project(Policy.RETAIN_DAYS, 1))
        image = an_image(project, kind="staged", uploaded_at=expires_at - 7 * DAY)
        place.file(image.key)
        await place.engines.staged.add(StagedImage(image, BranchPlace("fix", ""), expires_at))
        return image

    async def test_images_expire_at_their_time(self, place: Place) -> None:
        """Neither the retention of the project nor that of baselines is theirs."""
        await self.stage(place, NOW)
        kept = await self.stage(place, NOW + 1)
        assert await place.sweep() == SweepReport(expired=1, freed_bytes=1000)
        assert await place.left() == {kept.key}

    async def test_a_before_image_without_its_image_expires_with_its_url(self, place: Place) -> None:
        before = an_image(place.project, kind="before")
        about = ("cart", "0" * 40, "1x1", "", "image/png", NOW, "1" * 64)
        put_url = PutUrl("0" * 64, place.project.id, "token", 7, BranchPlace("", ""), *about)
        place.file(before.key)
        await place.engines.put_urls.add(put_url)
        assert await place.engines.put_urls.use_before(put_url, before)
        await place.sweep()
        assert await place.left() == set()


@pytest.mark.parametrize("file", ["key", "thumbnail_key"])
async def test_a_failed_delete_does_not_stop_the_others_and_is_retried(place: Place, file: str) -> None:
    images = [await place.image() for _ in range(5)]
    await place.records.schedule([image.id for image in images], NOW)
    stuck = make_undeletable(place.store.root / getattr(images[2], file))
    assert await place.sweep() == SweepReport(expired=4, failed=1, freed_bytes=4000)
    assert await place.sweep() == SweepReport(failed=1)
    assert [image.id for image in await place.records.next_scheduled("", 10)] == [images[2].id]
    stuck.rmdir()
    assert (await place.sweep()).expired == 1
    assert await place.left() == set()


@pytest.mark.parametrize("stays", ["after", "before"])
async def test_an_image_of_a_pair_that_could_not_be_deleted_is_deleted_later(
    place: Place, stays: str
) -> None:
    after, before = a_pair(place.project)
    place.file(after.key)
    place.file(before.key)
    await place.records.add_image(after, before=before)
    stuck = make_undeletable(place.path(after if stays == "after" else before))
    with pytest.raises(ExpireFailedError):
        await image_service(place.records, place.store).delete(Access(place.project), after.id)
    assert await place.records.images_of_pr(place.project.id, 7, 10) == []
    assert await place.records.known_ids([after.id]) == {after.id}  # only it refers to its before image
    stuck.rmdir()
    await place.sweep()
    assert await place.left() == await place.records.known_ids([after.id, before.id]) == set()


async def test_unfinished_files_and_those_without_a_record_are_deleted_after_an_hour(place: Place) -> None:
    image = await place.image()
    unfinished = f"ab/.{'ab' * 16}.png", f"cd/.{'cd' * 16}.png"
    young = [place.file(key, LEFTOVER_AGE_SECONDS - 1) for key in ("", unfinished[0])]
    old = [place.file(key, LEFTOVER_AGE_SECONDS + 1) for key in ("", unfinished[1])]
    assert await place.sweep() == SweepReport(orphans=1, unfinished=1)
    assert [path.exists() for path in (place.path(image), *young, *old)] == [True, True, True, False, False]


async def test_a_sweep_measures_what_projects_store_by_kind(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await place.add_project(a_project())
    image = await place.image()
    for key in (image.thumbnail_key, image.diff_key, *image.closeup_keys[:2]):
        place.file(key)
    await place.image(kind="before")
    place.file(origin_key("ab" * 16, "png"))  # without a record
    place.file((await place.image(other)).key, age=60)  # too young
    day = NOW // DAY
    for _ in range(2):  # replaces the day
        await place.sweep()
        (measured,) = await place.engines.usage.of_project(place.project.id, 0)
        assert (measured.day, measured.is_estimated) == (day, False)
        assert measured.kinds == {
            "images": (1, 1),
            "thumbnails": (1, 1),
            "differences": (1, 1),
            "closeups": (2, 2),
            "before": (1, 1),
        }
    assert await place.engines.usage.of_project(other.id, 0) == []
    monkeypatch.setattr("prshots.server.domain.upkeep.sweep.LISTED_AT_MOST", 2)
    monkeypatch.setattr("random.sample", lambda shards, count: sorted({image.id[:2], *shards})[:count])
    await place.sweep()
    usage = await place.engines.usage.of_organization(place.project.organization_id, 0)
    assert all(each.is_estimated for each in usage)


async def test_in_a_large_store_each_sweep_looks_into_some_folders(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        await place.image()
    # Of the 10 objects of 5 images.
    monkeypatch.setattr("prshots.server.domain.upkeep.sweep.LISTED_AT_MOST", 5)
    orphans = [place.file(origin_key(f"{shard}{secrets.token_hex(15)}", "png")) for shard in SHARDS]
    assert (await place.sweep(force=True)).orphans == len(SHARDS) // 2
    sweeps = 0
    while any(path.exists() for path in orphans):
        await place.sweep(force=True)
        sweeps += 1
        assert sweeps < 200, "some folders are never looked into"


async def test_a_thumbnail_is_kept_as_long_as_its_record(place: Place) -> None:
    image, old_orphan = await place.image(), secrets.token_hex(16)
    kept = place.file(image.thumbnail_key)
    both = [place.file(origin_key(old_orphan, ext)) for ext in ("png", THUMBNAIL_EXT)]
    alone = place.file(origin_key(secrets.token_hex(16), THUMBNAIL_EXT), LEFTOVER_AGE_SECONDS + 1)
    young = place.file(origin_key(secrets.token_hex(16), THUMBNAIL_EXT), LEFTOVER_AGE_SECONDS - 1)
    assert await place.sweep() == SweepReport(orphans=3)
    assert [path.exists() for path in (kept, *both, alone, young)] == [True, False, False, False, True]
    young.unlink()
    await place.records.schedule([image.id], NOW)
    assert await place.sweep() == SweepReport(expired=1, freed_bytes=1000)
    assert await place.left() == set()


async def test_an_orphan_that_cannot_be_deleted_does_not_stop_the_others(place: Place) -> None:
    stuck, *others = [place.file(origin_key(f"ab{number:030x}", "png")) for number in range(3)]
    make_undeletable(stuck)
    assert await place.sweep() == SweepReport(orphans=2, failed=1)
    assert await place.sweep() == SweepReport(failed=1)
    entries = await place.engines.audit.entries("", AuditFilter(), None, 10)
    assert [entry.details for entry in entries] == [{"files_without_record": 2}]  # nothing deleted, no entry
    assert not any(path.exists() for path in others)


async def test_nothing_is_deleted_from_the_store_of_another_database(place: Place, tmp_path: Path) -> None:
    await place.sweep()
    (tmp_path / "other").mkdir()
    elsewhere = open_records(tmp_path / "other")
    image = await place.image()
    report = await sweep(engines_of(elsewhere, place.store), clock=lambda: NOW)
    await elsewhere.close()
    assert report == SweepReport(foreign_store=True)
    assert await place.left() == {image.key}


async def test_two_concurrent_sweeps_delete_each_image_once(place: Place, tmp_path: Path) -> None:
    kept = [await place.image() for _ in range(10)]
    short_lived = await place.add_project(a_project(Policy.RETAIN_DAYS, 1))
    gone = [await place.image(short_lived, uploaded_at=1) for _ in range(50)]
    orphans = [place.file() for _ in range(10)]
    other = Place(tmp_path)
    reports = await asyncio.gather(place.sweep(), other.sweep())
    await other.close()
    assert sum(report.expired for report in reports) == len(gone)
    assert sum(report.failed for report in reports) == 0
    assert not any(path.exists() for path in orphans)
    assert await place.left() == {image.key for image in kept}


async def test_several_batches_are_deleted_and_progress_is_reported(place: Place) -> None:
    await place.records_only(a_project(Policy.MANUAL, 1), *[1] * (2 * BATCH + 5))
    seen: list[int] = []
    report = await sweep(place.engines, lambda so_far: seen.append(so_far.expired), lambda: NOW, force=True)
    assert report.expired == report.freed_bytes / 1000 == 2 * BATCH + 5
    assert sorted(set(seen)) == [0, BATCH, 2 * BATCH, 2 * BATCH + 5]


async def test_a_broken_database_or_store_raises_an_error(place: Place, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    nowhere = DiskStore(tmp_path / "file" / "images")
    with pytest.raises(StoreError):
        await sweep(engines_of(place.records, nowhere))
    nowhere.close()
    database = place.records._database
    await database.write(lambda connection: connection.exec_driver_sql("DROP TABLE images"))
    with pytest.raises(RecordsError):
        await place.sweep()


async def test_expired_sign_ins_and_sessions_are_deleted(place: Place) -> None:
    people = place.engines.people
    user = User("ann", "github", "1", "ann", "Ann", "", NOW)
    await people.add_user(user, None)
    ages = {"new": (0, 0), "old": (SESSION_SECONDS + 1, 0), "idle": (IDLE_SECONDS + 1, IDLE_SECONDS + 1)}
    for name, (made, seen) in ages.items():
        await people.add_session(Session(name, user.id, NOW - made, NOW - seen))
    for name, made in {"begun": STATE_SECONDS, "given up": STATE_SECONDS + 1}.items():
        await people.add_login_state(LoginState(name, "github", NOW - made))
    assert await place.sweep() == SweepReport(logins=3)
    assert [name for name in ages if await people.session(name)] == ["new"]
    assert await people.take_login_state("begun")


class TestClock:
    """Ages mean nothing if our clock differs from the one that wrote the files."""

    async def test_a_clock_two_hours_ahead_deletes_no_upload_in_progress(self, place: Place) -> None:
        scheduled = await place.image()
        await place.records.schedule([scheduled.id], NOW)
        short_lived = await place.add_project(a_project(Policy.RETAIN_DAYS, 1))
        old = await place.image(short_lived, uploaded_at=NOW - DAY + 3600)
        in_progress = place.file(age=0)  # its record comes next
        report = await sweep(place.engines, clock=lambda: NOW + 7200)
        assert in_progress.exists()
        assert place.path(old).exists()
        assert "clock is 7,200 s ahead of the image store's: set both clocks" in report.refused["clock"]
        assert report.expired == 1  # people asked for this one, and it needs no clock

    async def test_a_difference_of_a_minute_and_a_store_without_a_clock_are_tolerated(
        self, place: Place
    ) -> None:
        for ahead in (-60, 60):
            assert (await sweep(place.engines, clock=lambda ahead=ahead: NOW + ahead)).refused == {}
        behind = await sweep(place.engines, clock=lambda: NOW - 61)
        assert "clock is 61 s behind" in behind.refused["clock"]
        place.store.now = None
        assert (await sweep(place.engines, clock=lambda: NOW - 61)).refused == {}

    async def test_compares_with_the_clock_of_the_database(self, place: Place) -> None:
        class LateUpkeep(SqlUpkeep):
            async def time(self) -> float | None:
                return NOW - 300.0

        engines = place.engines._replace(upkeep=LateUpkeep(place.records._database))
        report = await sweep(engines, clock=lambda: NOW)
        assert "clock is 300 s ahead of the database's" in report.refused["clock"]


class TestBrake:
    """Deleting most of everything needs `--force`."""

    async def test_a_retention_that_expires_most_images_is_refused(self, place: Place) -> None:
        due, kept = [NOW - 32 * DAY] * (MASS + 1), [NOW] * MASS
        images = await place.records_only(a_project(Policy.MANUAL, 30), *due, *kept)
        await place.records.schedule([images[-1].id], NOW)
        report = await place.sweep()
        assert "more than half of all 201 images" in report.refused["retention"]
        assert "prshots sweep --force" in report.refused["retention"]
        assert report.expired == 1  # deleted by a person
        assert (await place.sweep(force=True)).expired == len(due)
        assert (await place.sweep()).refused == {}

    async def test_images_that_became_due_since_yesterday_expire(self, place: Place) -> None:
        """A weekly run may upload all images of an installation at once, and they expire at once."""
        await place.records_only(a_project(Policy.RETAIN_DAYS, 3), *[NOW - 3 * DAY - 3600] * (MASS + 50))
        assert (await place.sweep()).expired == MASS + 50

    async def test_closing_every_pull_request_is_not_refused(self, place: Place) -> None:
        project = a_project()
        await place.records_only(project, *[NOW] * (MASS + 1))
        await place.records.close_pr(project.id, 7, NOW - 2 * DAY, schedule=True)
        report = await place.sweep()
        assert (report.expired, report.refused) == (MASS + 1, {})

    async def test_an_empty_database_beside_a_full_store_deletes_no_files(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # It must not judge by the first batch.
        monkeypatch.setattr("prshots.server.domain.upkeep.sweep.BATCH", 50)
        files = [place.file() for _ in range(MASS + 1)]
        report = await place.sweep()
        assert "have no record (101 of 101), so the sweep deleted none of them." in report.refused["orphans"]
        assert report.orphans == 0
        assert all(file.exists() for file in files)
        assert (await place.sweep(force=True)).orphans == len(files)

    async def test_files_that_were_deleted_before_count_when_the_rest_is_judged(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("sweep.BATCH", "safeguards.MASS"):
            monkeypatch.setattr(f"prshots.server.domain.upkeep.{name}", 2)
        for _ in range(4):
            await place.image(id=f"00{secrets.token_hex(15)}")
        for shard in ("00", "00", "00", "01", "01"):
            place.file(origin_key(f"{shard}{secrets.token_hex(15)}", "png"))
        report = await place.sweep()  # the first folder alone is mostly images
        assert report.orphans == 3
        assert "have no record (5 of 9), so the sweep deleted only 3 of them." in report.refused["orphans"]

    async def test_many_files_without_a_record_beside_more_images_are_deleted(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prshots.server.domain.upkeep.sweep.BATCH", 50)
        for _ in range(MASS + 20):
            await place.image()
        for _ in range(MASS + 1):
            place.file()
        report = await place.sweep()
        assert (report.orphans, report.refused) == (MASS + 1, {})
