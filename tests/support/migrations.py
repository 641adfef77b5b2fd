"""Migrations of a later version."""

import shutil
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from prshots.server.adapters.sql.database import found_schema, migrate
from prshots.server.adapters.sql.database.migrate import MIGRATIONS
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION

NEXT_VERSION = f"{int(SCHEMA_VERSION) + 1:04}"

HEAD = f'''"""A step of the next version."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.steps import create_index

revision = "{NEXT_VERSION}"
down_revision = "{SCHEMA_VERSION}"
'''


def upgrade_to(engine: Engine, version: str, migrations: Path = MIGRATIONS) -> None:
    """Create or upgrade a database, but only up to this schema."""
    config = Config()
    config.set_main_option("script_location", str(migrations))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


def next_migration(body: str, *, step: str = "expand", oldest: str = SCHEMA_VERSION, more: str = "") -> str:
    """Return the source of a migration of the next version, whose `upgrade` is this line or these lines."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f'{HEAD}step = "{step}"\noldest = "{oldest}"\n{more}\n\ndef upgrade() -> None:\n{lines}'


def with_next_migration(folder: Path, source: str) -> Path:
    """Copy our migrations into a folder, with one more. Return the copy."""
    copy = folder / "migrations"
    shutil.copytree(MIGRATIONS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "versions" / f"{NEXT_VERSION}_next.py").write_text(source)
    return copy


def become_next_version(monkeypatch: pytest.MonkeyPatch, migrations: Path) -> None:
    """Let `migrate` in this process migrate like the next version."""
    monkeypatch.setattr(migrate, "MIGRATIONS", migrations)
    monkeypatch.setattr(found_schema, "SCHEMA_VERSION", NEXT_VERSION)


def source_of_next_release(folder: Path, migration: str) -> Path:
    """Copy our source into this folder, with one more migration, and return it."""
    copy = folder / "next" / "src"
    ours = MIGRATIONS.parents[5]
    shutil.copytree(ours, copy, ignore=shutil.ignore_patterns("__pycache__", "dist", "node_modules"))
    sql = copy / MIGRATIONS.parent.relative_to(ours)
    (sql / "migrations" / "versions" / f"{NEXT_VERSION}_next.py").write_text(migration)
    schema = sql / "schema.py"
    ours_is, next_is = (f'SCHEMA_VERSION = "{version}"' for version in (SCHEMA_VERSION, NEXT_VERSION))
    assert ours_is in schema.read_text()
    schema.write_text(schema.read_text().replace(ours_is, next_is))
    return copy
