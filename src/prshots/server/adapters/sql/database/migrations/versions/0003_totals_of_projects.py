"""Precomputed totals of projects, and indexes for long lists."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0003"
down_revision = "0002"

_open = sa.text("closed_at IS NULL")
_closed = sa.text("closed_at IS NOT NULL")
_by_upload = ["project_id", "last_upload_at", "pr_number"]


def upgrade() -> None:
    op.add_column("pulls", sa.Column("opened", sa.Integer, nullable=False, server_default="0"))
    op.create_index("pulls_open", "pulls", _by_upload, sqlite_where=_open, postgresql_where=_open)
    op.create_index("pulls_closed", "pulls", _by_upload, sqlite_where=_closed, postgresql_where=_closed)
    op.create_index("ix_sessions_created_at", "sessions", ["created_at"])
    op.create_index("ix_sessions_last_seen_at", "sessions", ["last_seen_at"])
    op.create_table(
        "project_totals",
        sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), primary_key=True),
        sa.Column("images", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("open_pulls", sa.Integer, nullable=False),
        sa.Column("last_upload_at", sa.BigInteger, nullable=False),
    )
    op.execute(
        """
        INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at)
        SELECT project_id, sum(images), sum(bytes), sum(CASE WHEN closed_at IS NULL THEN 1 ELSE 0 END),
               max(last_upload_at)
        FROM pulls GROUP BY project_id
        """
    )
