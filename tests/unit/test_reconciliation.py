"""`prshots check`: what it finds, what it repairs, and what it leaves alone while the service runs."""

import secrets
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest
from sqlalchemy import text

from prshots.contract.errors import StoreError, WrongClockError
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server.domain.images.models import Image
from prshots.server.domain.upkeep.ports import WrongTotal
from prshots.server.domain.upkeep.reconciliation import CheckReport, Discrepancy, check, repair
from prshots.server.domain.upkeep.safeguards import MASS
from support import places
from support.stores_and_records import NOW


class Place(places.Place):
    async def check(self) -> tuple[CheckReport, list[Discrepancy]]:
        found: list[Discrepancy] = []
        return await check(self.engines, found.append, clock=lambda: NOW), found

    async def repaired(self, *, force: bool = False) -> CheckReport:
        report, _ = await self.check()
        await repair(self.engines, report, force=force, clock=lambda: NOW)
        return report


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    await made.add_project(made.project)
    await made.store.owner(await made.engines.upkeep.installation_id())
    yield made
    await made.close()


@pytest.mark.parametrize("batch", [2, 4000])
async def test_every_record_without_bytes_and_every_file_without_record_is_found(
    place: Place, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """A window may end between any two of them."""
    monkeypatch.setattr("prshots.server.domain.upkeep.reconciliation.BATCH", batch)
    assert await place.check() == (CheckReport(), [])
    images = sorted([await place.image() for _ in range(30)], key=lambda image: image.id)
    place.file(images[5].thumbnail_key)
    assert await place.check() == (CheckReport(records=30, files=31), [])
    missing = [images[0], *images[10:14], images[-1]]
    for image in missing:
        place.path(image).unlink()
    ids = ["00" * 16, *(secrets.token_hex(16) for _ in range(5)), "ff" * 16]
    orphans = [origin_key(image_id, ext) for image_id in ids for ext in ("png", THUMBNAIL_EXT)]
    for key in orphans:
        place.file(key)
    report, found = await place.check()
    assert [finding.id for finding in found if isinstance(finding, Image)] == [image.id for image in missing]
    assert {finding for finding in found if isinstance(finding, str)} == set(orphans)
    assert (report.records, report.files) == (30, 24 + 1 + len(orphans))
    assert len(await place.records.known_ids([image.id for image in images])) == 30  # nothing was changed


class TestWhileTheServiceRuns:
    async def test_uploads_and_expiries_in_progress_are_not_reported(self, place: Place) -> None:
        young = place.file(age=10)  # its record comes next
        uploaded = await place.image()
        place.file(uploaded.key, age=10)  # too young to be listed
        expiring = await place.image()
        await place.records.schedule([expiring.id], NOW)
        place.path(expiring).unlink()  # its record goes next
        report = await place.repaired()
        assert (report.found, report.repaired) == (0, 0)
        assert young.exists()

    async def test_an_image_deleted_during_the_check_is_not_reported(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its file was listed; by the time its record is read, both are gone."""
        image = await place.image()
        listing = place.store.stored_before

        async def listed_then_deleted(cutoff: float) -> AsyncIterator[dict[str, int]]:
            async for keys in listing(cutoff):
                place.path(image).unlink(missing_ok=True)
                await place.records.remove_images([image.id])
                yield keys

        monkeypatch.setattr(place.store, "stored_before", listed_then_deleted)
        assert (await place.check())[0].found == 0


async def test_wrong_totals_are_found_and_repaired(place: Place) -> None:
    for _ in range(2):
        await place.image(pr_number=2)
    breaking = text("UPDATE pulls SET images = images + 5")
    await place.records._database.write(lambda connection: connection.execute(breaking))
    _, found = await place.check()
    stored, counted = {"images": 7, "bytes": 2000}, {"images": 2, "bytes": 2000}
    assert found[0] == WrongTotal("pull request", place.project.id, 2, stored, counted)
    assert [wrong.of for wrong in found[1:] if isinstance(wrong, WrongTotal)] == ["project"]
    assert (await place.repaired()).failed == 0
    assert (await place.check())[1] == []
    assert await place.engines.upkeep.stored() == (2, 2000)


async def test_an_empty_database_does_not_delete_every_file(place: Place) -> None:
    files = [place.file() for _ in range(MASS + 1)]
    report = await place.repaired()
    assert "101 of 101 files have no record: check that PRSHOTS_DATABASE_URL" in report.refused[0]
    assert all(file.exists() for file in files)
    assert (await place.repaired(force=True)).repaired == len(files)


async def test_a_wrong_clock_is_refused(place: Place) -> None:
    with pytest.raises(WrongClockError, match="clock is 7,200 s ahead"):
        await check(place.engines, clock=lambda: NOW + 7200)


async def test_a_store_that_lists_out_of_order_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def out_of_order(cutoff: float) -> AsyncIterator[dict[str, int]]:
        del cutoff
        yield {origin_key("b" * 32, "png"): 1}
        yield {origin_key("a" * 32, "png"): 1}

    monkeypatch.setattr(place.store, "stored_before", out_of_order)
    with pytest.raises(StoreError, match="in order"):
        await place.check()


async def test_a_file_that_cannot_be_deleted_is_reported(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def delete_nothing(keys: Collection[str]) -> set[str]:
        return set(keys)

    place.file()
    monkeypatch.setattr(place.store, "delete", delete_nothing)
    report = await place.repaired()
    assert (report.repaired, report.failed) == (0, 1)
