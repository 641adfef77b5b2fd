"""An installation of the version before comparison: its images stay, and can be compared after the upgrade."""

from pathlib import Path

import pytest
from sqlalchemy import insert, text

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.pictures.workers import COMPARING, PictureWorkers
from prshots.server.adapters.sql.baselines import SqlBaselines
from prshots.server.adapters.sql.comparisons import SqlComparisons
from prshots.server.adapters.sql.database import Database, open_sqlite
from prshots.server.adapters.sql.migrate import migrate
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.postgresql import open_postgresql
from prshots.server.adapters.sql.records import SqlRecords
from prshots.server.adapters.sql.schema import images
from prshots.server.adapters.sql.upkeep import SqlUpkeep
from prshots.server.domain.comparing import Comparisons
from prshots.server.domain.comparison_models import ComparisonRequest
from prshots.server.domain.models import NO_PULL_REQUEST, Image, Project
from support.drawn_pages import drawn_page, sha
from support.migrations import upgrade_to
from support.stores_and_records import NOW, a_project, an_image, image_service

BEFORE = "0006"
OLD_COLUMNS = (
    *("id", "project_id", "pr_number", "name", "commit_sha", "viewport", "ext", "size", "uploaded_at", "kid"),
    *("closed_at", "scheduled_at", "thumbnail"),
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return Database(open_sqlite(tmp_path / "prshots.db"))
    return open_postgresql(request.getfixturevalue("postgresql").new_database())


def old_installation(database: Database, project: Project, found: list[Image]) -> None:
    upgrade_to(database.engine, BEFORE)
    with database.engine.execution_options(writes=True).begin() as connection:
        connection.execute(
            text("INSERT INTO projects VALUES (:id, 'local', :name, 'pr_close', 30, 0)"),
            {"id": project.id, "name": project.name},
        )
        for image in found:
            row = {name: getattr(image, name) for name in OLD_COLUMNS}
            connection.execute(insert(images).values(row))
        size = sum(image.size for image in found)
        key = {"project": project.id, "images": len(found), "bytes": size, "now": NOW}
        connection.execute(
            text("INSERT INTO pulls VALUES (:project, 7, :images, :bytes, :now, 'x', NULL, 0)"), key
        )
        connection.execute(
            text("INSERT INTO project_totals VALUES (:project, :images, :bytes, 1, :now)"), key
        )


async def test_old_images_are_kept_and_can_be_compared(database: Database, tmp_path: Path) -> None:
    project, store = a_project(retain_days=30), DiskStore(tmp_path / "images")
    pictures = {"cart": drawn_page(button="red"), "home": drawn_page()}
    found = [
        an_image(project, name=name, viewport="320x240", size=len(picture), commit_sha=sha("p"))
        for name, picture in pictures.items()
    ]
    old_installation(database, project, found)
    for image in found:
        await store.put(image.key, [pictures[image.name]])
    migrate(database.engine)
    records, upkeep = SqlRecords(database), SqlUpkeep(database)

    shots = await SqlOverview(database).shots(project.id, 7, None, 10)
    assert [(shot.newest.id, shot.newest.theme, shot.newest.sha256) for shot in shots] == [
        (image.id, "", None) for image in found
    ]
    assert await upkeep.wrong_projects() == []
    stored = await records.project(project.name, project.organization_id)
    assert stored
    assert (stored.keep_baselines, stored.repository, stored.uploads_per_minute) == (50, "", None)

    for name in pictures:
        base = an_image(
            project, name=name, viewport="320x240", commit_sha=sha("1"), pr_number=NO_PULL_REQUEST
        )
        await store.put(base.key, [drawn_page()])
        await records.add_image(base, "main")
    workers = PictureWorkers(COMPARING)
    comparisons = Comparisons(
        records=SqlComparisons(database),
        baselines=SqlBaselines(database),
        store=store,
        images=image_service(records, store),
        compare=workers.compare,
    )
    asked = ComparisonRequest(project.id, 7, sha("p"), "main", (sha("1"),))
    compared = await comparisons.compare(project, asked, seconds=60)
    assert compared.state is ComparisonState.COMPARED
    assert {shot.name: shot.verdict for shot in compared.shots} == {
        "cart": Verdict.CHANGED,
        "home": Verdict.UNCHANGED,
    }

    assert await records.schedule_due(NOW + 31 * 86_400, 10) == len(found)  # and no baseline
    await comparisons.close()
    await workers.close()
    await records.close()
