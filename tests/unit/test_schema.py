"""The migrations and the tables in the code are one and the same."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from parts import at_once
from prshots import wiring
from prshots.errors import SchemaTooNewError
from prshots.settings import Settings
from prshots.stores.engine import open_sqlite
from prshots.stores.migrate import MIGRATIONS, migrate
from prshots.stores.schema import SCHEMA_VERSION, metadata


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = open_sqlite(tmp_path / "prshots.db")
    yield made
    made.dispose()


def schema(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(connection.execute(text("SELECT sql FROM sqlite_master WHERE sql NOT NULL")).scalars())


def test_the_newest_migration_is_the_version_the_code_asks_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    assert ScriptDirectory.from_config(config).get_heads() == [SCHEMA_VERSION]


def test_migrations_lead_to_the_tables_in_the_code(engine: Engine) -> None:
    migrate(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_indexes_have_the_same_conditions(engine: Engine, tmp_path: Path) -> None:
    """Alembic does not compare what a partial index holds, and the sweep's speed hangs on it."""
    migrate(engine)
    from_code = open_sqlite(tmp_path / "from_code.db")
    metadata.create_all(from_code)
    indexes = [sql for sql in schema(engine) if "INDEX" in sql]
    assert indexes == [sql for sql in schema(from_code) if "INDEX" in sql]
    assert sum(" WHERE " in sql for sql in indexes) == 3
    from_code.dispose()


def test_migrating_twice_changes_nothing(engine: Engine) -> None:
    migrate(engine)
    before = schema(engine)
    migrate(engine)
    assert schema(engine) == before


def test_ten_processes_open_a_new_database_at_once(tmp_path: Path) -> None:
    def open_it() -> str:
        records = wiring.open_records(Settings(data_dir=tmp_path))
        return asyncio.run(records.installation_id())

    (installation_id,) = set(at_once(open_it, processes=10))
    assert re.fullmatch("[0-9a-f]{32}", installation_id)


def test_a_database_of_a_newer_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    engine = open_sqlite(settings.database_path)
    migrate(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = schema(engine)
    with pytest.raises(SchemaTooNewError, match="schema 9999") as caught:
        wiring.open_records(settings)
    assert "\n" not in str(caught.value)
    assert schema(engine) == before
    assert "images" in inspect(engine).get_table_names()
    engine.dispose()


def test_a_migration_that_fails_leaves_nothing_behind(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE images (in_the_way INTEGER)"))
    before = schema(engine)
    with pytest.raises(Exception, match="images already exists"):
        migrate(engine)
    assert schema(engine) == before


def test_a_database_of_the_first_version_is_counted_through(engine: Engine) -> None:
    """Whoever used the service before there was a dashboard finds what is there in it."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    day = 20_000
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO projects VALUES ('p', 'local', 'web', 'pr_close', NULL, 0), ('q', 'local', 'app', 'manual', NULL, 0)"
            )
        )
        connection.execute(text("INSERT INTO tokens VALUES ('t', 'p', 'ci', 'msr_…', 'hash', 0, NULL, NULL)"))
        for image_id, pr, sha, size, at, closed in (
            ("a", 7, "old", 10, day * 86_400, None),
            ("b", 7, "new", 20, day * 86_400 + 9, day * 86_400 + 10),
            ("c", 8, "new", 30, day * 86_400 + 86_400, None),
        ):
            connection.execute(
                text(
                    "INSERT INTO images (id, project_id, pr_number, name, commit_sha, viewport, ext, size, "
                    "uploaded_at, kid, closed_at) VALUES (:id, 'p', :pr, 'n', :sha, '1x1', 'png', :size, :at, 'k', :closed)"
                ),
                {"id": image_id, "pr": pr, "sha": sha, "size": size, "at": at, "closed": closed},
            )
    migrate(engine)
    with engine.connect() as connection:
        pulls = connection.execute(text("SELECT * FROM pulls ORDER BY pr_number")).all()
        days = connection.execute(text("SELECT * FROM uploads_by_day ORDER BY day")).all()
        kept = connection.execute(text("SELECT created_by FROM tokens")).scalar_one()
    assert [tuple(row) for row in pulls] == [
        ("p", 7, 2, 30, day * 86_400 + 9, "new", day * 86_400 + 10),
        ("p", 8, 1, 30, day * 86_400 + 86_400, "new", None),
    ]
    assert [tuple(row) for row in days] == [("p", day, 2, 30), ("p", day + 1, 1, 30)]
    assert kept == ""
