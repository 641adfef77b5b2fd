"""Add decisions, quarantine, the history of branches, merge queues, connections to forges, and the outbox."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0020"
down_revision = "0019"
step = "expand"
oldest = "0012"

_sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_SHOT = ("project_id", "name", "viewport", "theme")
_WAITS, _RESTS = sa.text("due_at IS NOT NULL"), sa.text("due_at IS NULL")
_IS_OPEN = sa.text("due_at IS NOT NULL OR error <> ''")


def _shot_columns() -> list[sa.Column[str]]:
    return [
        sa.Column("name", text(), nullable=False),
        sa.Column("viewport", text(16), nullable=False),
        sa.Column("theme", text(8), nullable=False),
    ]


def upgrade() -> None:
    op.create_table(
        "decisions",
        sa.Column("seq", _sequence, primary_key=True, autoincrement=True),
        sa.Column("project_id", text(32), nullable=False),
        sa.Column("pr_number", sa.Integer, nullable=False),
        *_shot_columns(),
        sa.Column("pixels_before", text(64), nullable=False),
        sa.Column("pixels_after", text(64), nullable=False),
        sa.Column("decision", text(16), nullable=False),
        sa.Column("by", text(), nullable=False),
        sa.Column("user_id", text(32), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("note", text(), nullable=False),
        sa.Column("pin_x", sa.Float),
        sa.Column("pin_y", sa.Float),
        sa.Column("is_newest", sa.Boolean, nullable=False),
        sa.Index("decisions_of_pull", "project_id", "pr_number", "seq"),
        sa.Index(
            "decisions_newest",
            *("project_id", "pr_number"),
            sqlite_where=sa.text("is_newest = 1"),  # as SQLAlchemy writes it
            postgresql_where=sa.text("is_newest"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "asked_pairs",
        sa.Column("project_id", text(32), primary_key=True),
        sa.Column("pr_number", sa.Integer, primary_key=True),
        sa.Column("pair", text(64), primary_key=True),
        sa.Column("after_decision", sa.BigInteger, nullable=False),
        sa.Index("asked_pairs_of_pull", "project_id", "pr_number", "after_decision"),
    )
    op.create_table(
        "quarantines",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("project_id", text(32), nullable=False),
        *_shot_columns(),
        sa.Column("reason", text(), nullable=False),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("until", sa.BigInteger, nullable=False, index=True),
        sa.UniqueConstraint(*_SHOT, name="quarantines_shot"),
    )
    op.create_table(
        "quarantined_commits",
        sa.Column("quarantine_id", text(32), primary_key=True),
        sa.Column("pr_number", sa.Integer, primary_key=True),
        sa.Column("commit_sha", text(40), primary_key=True),
        sa.Column("project_id", text(32), nullable=False, index=True),
        sa.Column("differed", sa.Integer, nullable=False),
    )
    op.create_table(
        "branch_pixels",
        sa.Column("seq", _sequence, primary_key=True, autoincrement=True),
        sa.Column("project_id", text(32), nullable=False),
        sa.Column("branch", text(), nullable=False),
        sa.Column("commit_sha", text(40), nullable=False),
        *_shot_columns(),
        sa.Column("image_id", text(32), nullable=False, index=True),
        sa.Column("pixels", text(64), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
        sa.Index("branch_pixels_shot", *_SHOT, "branch", "seq"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "connections",
        sa.Column("project_id", text(32), primary_key=True),
        sa.Column("forge", text(16), nullable=False),
        sa.Column("api_url", text(), nullable=False),
        sa.Column("repository", text(), nullable=False),
        sa.Column("kid", text(32), nullable=False),
        sa.Column("secret", text(), nullable=False),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("project_id", text(32), primary_key=True),
        sa.Column("pr_number", sa.Integer, primary_key=True),
        sa.Column("kind", text(16), primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("first_due_at", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("error", text(), nullable=False, server_default=""),
        sa.Column("holder", text(32), nullable=False, server_default=""),
        sa.Column("lease_until", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("sent", text(), nullable=False, server_default=""),
        sa.Index("outbox_due", "due_at", sqlite_where=_WAITS, postgresql_where=_WAITS),
        sa.Index("outbox_open", "project_id", "pr_number", sqlite_where=_IS_OPEN, postgresql_where=_IS_OPEN),
        sa.Index("outbox_old", "first_due_at", sqlite_where=_RESTS, postgresql_where=_RESTS),
    )
    op.add_column("comparisons", sa.Column("queued_pulls", text(), nullable=False, server_default="[]"))
