"""Each migration after the first leaves a database that processes of the version before can use."""

import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
import structlog
from sqlalchemy import Engine

from prshots.contract.errors import RecordsError
from prshots.server.adapters.sql.database import migrate as migrating
from prshots.server.adapters.sql.database.database import open_sqlite
from prshots.server.adapters.sql.database.found_schema import FIRST_VERSION, FoundSchema
from prshots.server.adapters.sql.database.migrate import MIGRATIONS, migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION, metadata
from prshots.server.adapters.sql.database.steps import Step, next_steps, steps_of
from support.engine_servers import PostgreSQL
from support.migrations import (
    NEXT_VERSION,
    become_next_version,
    next_migration,
    upgrade_to,
    with_next_migration,
)
from support.schema_rules import broken_rules, note_statements, schema_of
from support.waiting import wait_until

OURS = {table.name: set(table.columns.keys()) for table in metadata.sorted_tables}
STEPS = steps_of(migrating._config())
FIRST_RELEASED = "0012"
"""No process of a lower schema was ever released, so that none can run beside a newer one."""

ADDING = """op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True))
op.create_table(
    "notes_of_projects",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("project_id", sa.String(32), sa.ForeignKey("projects.id", ondelete="CASCADE")),
)
op.add_column("images", sa.Column("note", sa.Text))
op.add_column("images", sa.Column("size_class", sa.Integer, nullable=False, server_default="0"))
"""

BREAKING = {
    "an expand step removes put_urls": 'op.drop_table("put_urls")',
    "an expand step removes images.diff_base": 'op.drop_column("images", "diff_base")',
    "an expand step removes images.kid": 'op.alter_column("images", "kid", new_column_name="key_id")',
    "an expand step removes the index images_paired": 'op.drop_index("images_paired", "images")',
    "images gets a unique that rows": 'op.create_index("u", "images", ["name"], unique=True)',
    "builds an index of images while uploads wait": 'op.create_index("i", "images", ["name"])',
    "notes refers to projects without ON DELETE": """op.create_table(
    "notes",
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("project_id", sa.String(32), sa.ForeignKey("projects.id")),
)""",
    "several tables at once": 'op.add_column("projects", sa.Column("note", sa.Text))',
}
BREAKING_ON_POSTGRESQL = {
    "images.note is required": 'op.add_column("images", sa.Column("note", sa.Text, nullable=False))',
    "images.size changes": 'op.alter_column("images", "size", type_=sa.SmallInteger)',
    "images.before_id changes": 'op.alter_column("images", "before_id", nullable=False)',
    "images gets a check that rows": 'op.create_check_constraint("c", "images", "size > 0")',
    "images gets a foreign key that rows": (
        'op.create_foreign_key("f", "images", "projects", ["name"], ["id"])'
    ),
}


def broken_by(engine: Engine, step: Step, migrations: Path, used: dict[str, set[str]]) -> list[str]:
    """Take a step on a database that has the schema before it, and return which rules it breaks."""
    before, sent = schema_of(engine), note_statements(engine)
    is_concurrent = step.builds_indexes and engine.dialect.name == "postgresql"
    options = {"isolation_level": "AUTOCOMMIT"} if is_concurrent else {}  # as `migrate` does
    upgrade_to(engine.execution_options(**options), step.revision, migrations)
    if step.builds_indexes and not is_concurrent:
        sent.clear()  # on SQLite, writers wait for any change of the schema
    return broken_rules(step.kind, before, schema_of(engine), sent, used)


def test_every_step_keeps_the_rules(engine: Engine) -> None:
    first, *later = STEPS
    assert (first.revision, first.oldest) == (FIRST_VERSION, FIRST_VERSION)
    upgrade_to(engine, first.revision)
    for step in later:
        assert broken_by(engine, step, MIGRATIONS, OURS) == [], step.revision


def test_every_step_says_what_it_is_and_who_may_run_beside_it() -> None:
    for before, step in pairwise(STEPS):
        assert step.kind in {"expand", "contract"}
        newest = max(before.revision, FIRST_RELEASED)
        assert before.oldest <= step.oldest <= newest, f"{step.revision} needs a stop"
        if step.builds_indexes:  # it is not a transaction, so it cannot change who may run
            assert (step.kind, step.oldest) == ("expand", before.oldest)


def test_an_expand_step_that_breaks_the_version_before_is_found(engine: Engine, tmp_path: Path) -> None:
    breaking = BREAKING | (BREAKING_ON_POSTGRESQL if engine.dialect.name == "postgresql" else {})
    found = "\n".join(broken_by_scratch(engine, tmp_path, next_migration("\n".join(breaking.values()))))
    assert [words for words in breaking if words not in found] == [], found


def test_a_contract_step_only_removes_what_the_version_before_does_not_use(tmp_path: Path) -> None:
    source = next_migration('op.drop_table("put_urls")\nop.drop_table("staged")', step="contract")
    used = {name: columns for name, columns in OURS.items() if name != "put_urls"}
    broken = broken_by_scratch(open_sqlite(tmp_path / "prshots.db"), tmp_path, source, used)
    assert broken == ["staged is removed, but the version before uses it"]


def broken_by_scratch(
    engine: Engine, folder: Path, source: str, used: dict[str, set[str]] | None = None
) -> list[str]:
    migrate(engine)
    migrations = with_next_migration(folder, source)
    kind = "contract" if 'step = "contract"' in source else "expand"
    step = Step(NEXT_VERSION, kind, SCHEMA_VERSION, builds_indexes=False)
    return broken_by(engine, step, migrations, used if used is not None else OURS)


@pytest.mark.slow
def test_a_step_behind_a_long_transaction_lets_uploads_pass(
    postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ALTER TABLE` queues behind the reader, and everybody else behind it. It must give up and try again."""
    url = postgresql.new_database()
    engine = open_postgresql(url).engine
    migrate(engine)
    become_next_version(monkeypatch, with_next_migration(tmp_path, next_migration(ADDING)))
    monkeypatch.setattr(migrating, "RETRY_SECONDS", 0.2)
    with (
        psycopg.connect(url, application_name="nightly-dump") as reading,
        psycopg.connect(url, autocommit=True, options="-c statement_timeout=90s") as uploading,
    ):
        reading.execute("SELECT count(*) FROM images")
        with structlog.testing.capture_logs() as logged, ThreadPoolExecutor(1) as thread:
            migrated = thread.submit(migrate, engine)
            wait_until(lambda: logged, "the migration to say that it waits")
            for _ in range(20):  # some of them queue behind the step until it gives up
                uploading.execute("UPDATE images SET scheduled_at = 1 WHERE id = 'none'")
                time.sleep(0.05)
            assert not migrated.done()
            reading.rollback()
            assert migrated.result(timeout=90).now == FoundSchema(NEXT_VERSION, SCHEMA_VERSION)
    assert "of nightly-dump, open for" in logged[0]["oldest_transaction"]
    engine.dispose()


ADVISORY_LOCKS = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database()
"""


@pytest.mark.slow
@pytest.mark.parametrize("left_by_a_kill", ["nothing", "an invalid index", "a valid index"])
def test_an_index_is_built_while_others_write(
    postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_by_a_kill: str
) -> None:
    url = postgresql.new_database()
    engine = open_postgresql(url).engine
    migrate(engine)
    body = 'create_index("images_by_name", "images", ["name"])'
    source = next_migration(body, more="builds_indexes = True\n")
    become_next_version(monkeypatch, with_next_migration(tmp_path, source))
    sent = note_statements(engine)
    with psycopg.connect(url, autocommit=True) as other:
        if left_by_a_kill != "nothing":
            other.execute("CREATE INDEX images_by_name ON images (name)")
        if left_by_a_kill == "an invalid index":
            other.execute(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'images_by_name'::regclass"
            )
        with psycopg.connect(url) as writing, ThreadPoolExecutor(2) as threads:
            writing.execute("UPDATE images SET scheduled_at = 1 WHERE id = 'none'")
            migrating_twice = [threads.submit(migrate, engine) for _ in range(2)]
            if left_by_a_kill != "a valid index":
                wait_until(lambda: "CONCURRENTLY" in "".join(sent), "the index to be built")
                other.execute("UPDATE images SET scheduled_at = 1 WHERE id = 'none'")  # does not wait
            writing.commit()
            assert {each.result(timeout=90).now.version for each in migrating_twice} == {NEXT_VERSION}
        valid = other.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = 'images_by_name'::regclass"
        ).fetchone()
        # The server drops the lock of a connection that was closed when it gets to it.
        wait_until(lambda: other.execute(ADVISORY_LOCKS).fetchone() == (0,), "the end of the advisory lock")
    assert valid == (True,)
    concurrently = [statement.split()[0] for statement in sent if "CONCURRENTLY" in statement]
    expected = {"nothing": ["CREATE"], "an invalid index": ["DROP", "CREATE"], "a valid index": []}
    assert concurrently == expected[left_by_a_kill]
    engine.dispose()


@pytest.mark.slow
def test_an_index_of_a_new_or_embedded_database_is_built_in_the_transaction(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next_migration(
        'create_index("images_by_name", "images", ["name"])', more="builds_indexes = True\n"
    )
    become_next_version(monkeypatch, with_next_migration(tmp_path, source))
    if engine.dialect.name == "sqlite":
        upgrade_to(engine, SCHEMA_VERSION)
    assert migrate(engine).now.version == NEXT_VERSION
    assert "images_by_name" in schema_of(engine)["images"].indexes


def test_a_new_database_takes_all_steps_at_once_and_another_one_each() -> None:
    steps = [Step(f"{n:04}", "expand", "0011", builds_indexes=False) for n in range(11, 14)]

    def taken(version: str | None) -> list[str]:
        return [step.revision for step in next_steps(steps, version)]

    assert taken(None) == ["0011", "0012", "0013"]
    assert (taken("0011"), taken("0012")) == (["0012"], ["0013"])
    with pytest.raises(RecordsError, match="unknown schema '0010'"):
        taken("0010")
