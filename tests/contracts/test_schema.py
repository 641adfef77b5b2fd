"""The migrations create the same tables as the code defines."""

import asyncio
import re
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from prshots.cli import app
from prshots.contract.errors import RecordsError, SchemaTooNewError
from prshots.server import wiring
from prshots.server.adapters.sql.database.found_schema import FIRST_VERSION, FoundSchema
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION, metadata
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.config.settings import Settings
from support.engine_servers import PostgreSQL
from support.migrations import (
    NEXT_VERSION,
    become_next_version,
    next_migration,
    upgrade_to,
    with_next_migration,
)
from support.stores_and_records import at_once

SCHEMA = {
    "sqlite": "SELECT sql FROM sqlite_master WHERE sql NOT NULL",
    "postgresql": """
        SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
        UNION ALL
        SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
        UNION ALL
        SELECT concat_ws(' ', table_name, column_name, data_type, character_maximum_length, collation_name,
                         is_nullable, column_default) FROM information_schema.columns WHERE table_schema = 'public'
        """,
}


def schema(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return sorted(connection.execute(text(SCHEMA[engine.dialect.name])).scalars())


def test_migrations_create_the_tables_that_the_code_defines(engine: Engine) -> None:
    migrate(engine)
    options = {"compare_type": True, "include_object": lambda _, __, kind, *___: kind != "index"}
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []


def test_text_uses_the_c_collation_on_postgresql(postgresql: PostgreSQL) -> None:
    """Alembic doesn't compare collations. PostgreSQL sorts by an index only if the collations match."""
    engine = open_postgresql(postgresql.new_database()).engine
    migrate(engine)
    texts = [line for line in schema(engine) if re.match(r"(?!alembic)\w+ \w+ (text|character)", line)]
    assert len(texts) > 40
    assert [line for line in texts if " C " not in line] == []
    engine.dispose()


def test_ten_processes_can_open_a_new_database_at_once(settings: Settings) -> None:
    def open_it() -> str:
        upkeep = SqlUpkeep(wiring.open_database(settings))
        return asyncio.run(upkeep.installation_id())

    (installation_id,) = set(at_once(open_it, processes=10))
    assert re.fullmatch("[0-9a-f]{32}", installation_id)


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        (
            "UPDATE alembic_version SET version_num = '9999'; UPDATE installation SET oldest_schema = '9999'",
            SchemaTooNewError,
            "schema 9999",
        ),
        (
            "UPDATE alembic_version SET version_num = '0009'; ALTER TABLE installation DROP COLUMN oldest_schema",
            RecordsError,
            "schema 0009, of a development version",
        ),
    ],
    ids=["newer", "development"],
)
def test_a_database_of_an_unknown_version_is_refused_and_unchanged(
    settings: Settings, engine: Engine, changes: str, error: type[RecordsError], reason: str
) -> None:
    migrate(engine)
    with engine.begin() as connection:
        for change in changes.split("; "):
            connection.execute(text(change))
    before = schema(engine)
    with pytest.raises(error, match=reason) as caught:
        wiring.open_database(settings)
    assert "\n" not in str(caught.value)
    assert schema(engine) == before


def test_a_failed_migration_changes_nothing(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE images (in_the_way INTEGER)"))
    before = schema(engine)
    with pytest.raises(Exception, match=r'images"? already exists'):
        migrate(engine)
    assert schema(engine) == before


@pytest.mark.parametrize(
    ("oldest", "then"),
    [
        (SCHEMA_VERSION, "Processes of the old version keep working: restart them one after another."),
        (NEXT_VERSION, "Processes of the old version do not work with it: stop them now."),
    ],
)
def test_the_migrate_command_reports_the_old_and_new_schema(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oldest: str, then: str
) -> None:
    def said() -> str:
        env = {"PRSHOTS_DATABASE_URL": settings.database_url}
        done = CliRunner().invoke(app, ["migrate"], env=env, catch_exceptions=False)
        assert (done.exit_code, done.stdout) == (0, "")
        return done.stderr

    place = settings.database_place
    assert said() == f"{place} is ready: schema {SCHEMA_VERSION}.\n"
    assert said() == f"{place} is up to date: schema {SCHEMA_VERSION}.\n"
    source = next_migration('op.add_column("images", sa.Column("note", sa.Text))', oldest=oldest)
    become_next_version(monkeypatch, with_next_migration(tmp_path, source))
    assert said() == f"{place} was upgraded from schema {SCHEMA_VERSION} to {NEXT_VERSION}. {then}\n"


def test_a_database_that_a_development_version_brought_to_the_first_schema_is_upgraded(
    engine: Engine,
) -> None:
    upgrade_to(engine, FIRST_VERSION)
    with engine.begin() as connection:
        connection.execute(text("UPDATE installation SET oldest_schema = '0010'"))
    migrated = migrate(engine)
    assert migrated.before == FoundSchema(FIRST_VERSION, "0010")
    assert migrated.now == FoundSchema(SCHEMA_VERSION, "0030")


@pytest.mark.slow
def test_tokens_get_the_user_id_of_their_creator_unless_the_login_is_ambiguous(engine: Engine) -> None:
    upgrade_to(engine, "0013")
    user = "INSERT INTO users VALUES ('{0}', 'github', '{0}', '{1}', '', '', 0)"
    token = (
        "INSERT INTO tokens (id, project_id, label, hint, sha256, created_at, created_by) "
        "VALUES ('{0}', 'shop', '', '', '{0}', 0, '{1}')"
    )
    with engine.begin() as connection:
        for identity, login in (("1", "ann"), ("2", "eve"), ("3", "eve")):
            connection.execute(text(user.format(identity, login)))
        shop = "INSERT INTO projects (id, organization_id, name, policy, created_at) "
        connection.execute(text(f"{shop} VALUES ('shop', 'local', 'shop', 'manual', 0)"))
        for identity, login in (("a", "ann"), ("b", "eve"), ("c", "gone"), ("d", "")):
            connection.execute(text(token.format(identity, login)))
    migrate(engine)
    with engine.connect() as connection:
        creators = connection.execute(text("SELECT creator_id FROM tokens ORDER BY id")).scalars().all()
    assert creators == ["1", None, None, None]
