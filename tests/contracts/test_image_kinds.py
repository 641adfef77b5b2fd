"""Databases of schema 0011 have no `kind` of image: it follows from `pr_number` and the staged rows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, text

from prshots.server.adapters.sql.database.database import open_sqlite
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION
from prshots.server.adapters.sql.upkeep.upkeep import wrong_projects, wrong_pulls
from support.migrations import upgrade_to
from support.stores_and_records import ENGINES, PARTITIONED, partition_images

WITHOUT_KINDS = "0011"
PROJECTS = ("pairs and baselines", "pairs only")
IMAGES = {  # id, without the project's number: pr_number, size, before_id
    "of-pr": (7, 1, None),
    "with-before": (7, 2, "before"),
    "before": (-1, 4, None),
    "staged": (0, 8, "of-staged"),
    "of-staged": (-1, 16, None),
    "baseline": (0, 32, None),
}
WITHOUT_BASELINES = [image for image in IMAGES if image not in {"staged", "of-staged", "baseline"}]
ADD_PROJECT = text(
    "INSERT INTO projects (id, organization_id, name, policy, created_at) "
    "VALUES (:id, 'local', :name, 'keep', 0)"
)
ADD_IMAGE = text(
    "INSERT INTO images (id, project_id, pr_number, name, commit_sha, viewport, ext, size, uploaded_at, kid, "
    "before_id) VALUES (:id, :project, :pr_number, 'cart', 'c0ffee', '1x1', 'png', :size, 86400, 'k1', :before)"
)
ADD_STAGED = text(
    "INSERT INTO staged (image_id, project_id, branch, repository, expires_at) "
    "SELECT id, project_id, 'fix', '', 1 FROM images WHERE id = '0-staged'"
)
COUNT_PULLS = text(
    "INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit) "
    "SELECT project_id, pr_number, sum(CASE WHEN pr_number < 0 THEN 0 ELSE 1 END), sum(size), 86400, 'c0ffee' "
    "FROM images GROUP BY project_id, pr_number"
)
COUNT_TOTALS = text(
    "INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at) "
    "SELECT project_id, sum(images), sum(bytes), 1, 86400 FROM pulls GROUP BY project_id"
)


@pytest.fixture(params=[*ENGINES, PARTITIONED])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Make a database of schema 0011."""
    if request.param == "sqlite":
        made = open_sqlite(tmp_path / "prshots.db")
        upgrade_to(made, WITHOUT_KINDS)
    else:
        url = request.getfixturevalue("postgresql").new_database()
        made = open_postgresql(url).engine
        upgrade_to(made, WITHOUT_KINDS)
        if request.param == "partitioned":
            partition_images(url)
    yield made
    made.dispose()


def fill(connection: Connection) -> None:
    for number, project in enumerate(PROJECTS):
        connection.execute(ADD_PROJECT, {"id": project, "name": project})
        for image in WITHOUT_BASELINES if number else IMAGES:
            pr_number, size, before = IMAGES[image]
            of_image = {"id": f"{number}-{image}", "before": f"{number}-{before}" if before else None}
            connection.execute(
                ADD_IMAGE, of_image | {"project": project, "pr_number": pr_number, "size": size}
            )
    for statement in (ADD_STAGED, COUNT_PULLS, COUNT_TOTALS):
        connection.execute(statement)


def test_a_database_without_kinds_is_upgraded(engine: Engine) -> None:
    with engine.begin() as connection:
        fill(connection)

    assert migrate(engine).now.version == SCHEMA_VERSION

    with engine.connect() as connection:
        rows = connection.execute(text("SELECT id, kind, pr_number FROM images"))
        assert {image: (kind, number) for image, kind, number in rows} == {
            "0-of-pr": ("pull_request", 7),
            "0-with-before": ("pull_request", 7),
            "0-before": ("before", 0),
            "0-staged": ("staged", 0),
            "0-of-staged": ("before", 0),
            "0-baseline": ("baseline", 0),
            "1-of-pr": ("pull_request", 7),
            "1-with-before": ("pull_request", 7),
            "1-before": ("before", 0),
        }
        pulls = connection.execute(text("SELECT project_id, pr_number, images, bytes FROM pulls"))
        assert {tuple(row) for row in pulls} == {
            (PROJECTS[0], 7, 2, 3),
            (PROJECTS[0], 0, 2, 60),
            (PROJECTS[1], 7, 2, 3),
            (PROJECTS[1], 0, 0, 4),
        }
        assert [wrong_pulls(connection, project, -1) for project in PROJECTS] == [([], None)] * 2
        assert wrong_projects(connection) == []
