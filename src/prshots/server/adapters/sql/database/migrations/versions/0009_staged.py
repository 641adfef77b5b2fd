"""Staged images, and one-time URLs for uploads."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "staged",
        sa.Column("image_id", text(32), primary_key=True),
        _project_column(),
        sa.Column("branch", text(), nullable=False),
        sa.Column("repository", text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_staged_expires_at", "staged", ["expires_at"])
    op.create_index("staged_by_branch", "staged", ["project_id", "branch"])
    op.create_table(
        "put_urls",
        sa.Column("sha256", text(64), primary_key=True),
        sa.Column("before_sha256", text(64), unique=True),
        sa.Column("before_id", text(32)),
        _project_column(),
        sa.Column("token_id", text(32), nullable=False),
        sa.Column("pr_number", sa.Integer, nullable=False),
        sa.Column("branch", text(), nullable=False),
        sa.Column("repository", text(), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("commit_sha", text(40), nullable=False),
        sa.Column("viewport", text(16), nullable=False),
        sa.Column("theme", text(8), nullable=False),
        sa.Column("content_type", text(32), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    for name in ("project_id", "expires_at"):
        op.create_index(f"ix_put_urls_{name}", "put_urls", [name])


def _project_column() -> sa.Column[str]:
    return sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), nullable=False)
