"""The first tables: organizations, projects, tokens, images."""

import secrets

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0001"
down_revision = None

_waiting = sa.text("scheduled_at IS NULL")
_scheduled = sa.text("scheduled_at IS NOT NULL")
_closed = sa.text("closed_at IS NOT NULL AND scheduled_at IS NULL")


def upgrade() -> None:
    _create_accounts()
    _create_images()
    op.create_table("installation", sa.Column("id", text(32), primary_key=True))
    op.execute(sa.text("INSERT INTO installation (id) VALUES (:id)").bindparams(id=secrets.token_hex(16)))
    op.execute("INSERT INTO organizations (id, name) VALUES ('local', 'local')")


def _create_accounts() -> None:
    op.create_table(
        "organizations",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("name", text(), nullable=False, unique=True),
    )
    op.create_table(
        "projects",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("organization_id", text(32), sa.ForeignKey("organizations.id"), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("policy", text(16), nullable=False),
        sa.Column("retain_days", sa.Integer),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("organization_id", "name", name="projects_name"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("label", text(), nullable=False),
        sa.Column("hint", text(16), nullable=False),
        sa.Column("sha256", text(64), nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
    )
    op.create_index("ix_tokens_project_id", "tokens", ["project_id"])


def _create_images() -> None:
    op.create_table(
        "images",
        sa.Column(
            "seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True
        ),
        sa.Column("id", text(32), nullable=False),
        sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("pr_number", sa.Integer, nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("commit_sha", text(40), nullable=False),
        sa.Column("viewport", text(16), nullable=False),
        sa.Column("ext", text(8), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("uploaded_at", sa.BigInteger, nullable=False),
        sa.Column("kid", text(32), nullable=False),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("scheduled_at", sa.BigInteger),
    )
    op.create_index("images_by_id", "images", ["id", "project_id"], unique=True)
    op.create_index("images_by_pr", "images", ["project_id", "pr_number", "seq"])
    op.create_index(
        "images_by_age",
        "images",
        ["project_id", "uploaded_at"],
        sqlite_where=_waiting,
        postgresql_where=_waiting,
    )
    op.create_index(
        "images_closed", "images", ["project_id", "seq"], sqlite_where=_closed, postgresql_where=_closed
    )
    op.create_index(
        "images_scheduled", "images", ["id"], sqlite_where=_scheduled, postgresql_where=_scheduled
    )
