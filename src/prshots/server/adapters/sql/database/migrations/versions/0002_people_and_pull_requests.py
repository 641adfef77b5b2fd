"""Users, their organizations and sessions; precomputed totals for the dashboard."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column(
        "organizations", sa.Column("personal", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column("organizations", sa.Column("created_at", sa.BigInteger, nullable=False, server_default="0"))
    op.add_column("tokens", sa.Column("created_by", text(), nullable=False, server_default=""))
    op.add_column("images", sa.Column("thumbnail", text(16)))
    op.create_index("images_by_shot", "images", ["project_id", "pr_number", "name", "viewport", "seq"])
    _create_people()
    _create_summaries()
    _fill_summaries()


def _create_people() -> None:
    op.create_table(
        "users",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("provider", text(16), nullable=False),
        sa.Column("subject", text(), nullable=False),
        sa.Column("login", text(), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("avatar_url", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("provider", "subject", name="users_subject"),
    )
    op.create_index("ix_users_login", "users", ["login"])
    op.create_table(
        "members",
        sa.Column("organization_id", text(32), sa.ForeignKey("organizations.id"), primary_key=True),
        sa.Column("user_id", text(32), sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("role", text(16), nullable=False),
    )
    op.create_index("ix_members_user_id", "members", ["user_id"])
    op.create_table(
        "sessions",
        sa.Column("sha256", text(64), primary_key=True),
        sa.Column("user_id", text(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_seen_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_sessions_user_id", "sessions", ["user_id"])
    op.create_table(
        "login_states",
        sa.Column("sha256", text(64), primary_key=True),
        sa.Column("provider", text(16), nullable=False),
        sa.Column("verifier", text(), nullable=False),
        sa.Column("nonce", text(), nullable=False),
        sa.Column("browser_sha256", text(64), nullable=False),
        sa.Column("return_to", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _create_summaries() -> None:
    op.create_table(
        "pulls",
        sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), primary_key=True),
        sa.Column("pr_number", sa.Integer, primary_key=True),
        sa.Column("images", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("last_upload_at", sa.BigInteger, nullable=False),
        sa.Column("last_commit", text(40), nullable=False),
        sa.Column("closed_at", sa.BigInteger),
    )
    op.create_index("pulls_by_upload", "pulls", ["project_id", "last_upload_at", "pr_number"])
    op.create_index("pulls_by_bytes", "pulls", ["project_id", "bytes", "pr_number"])
    op.create_table(
        "uploads_by_day",
        sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True),
        sa.Column("uploads", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    )


def _fill_summaries() -> None:
    """Fill the totals from the images that exist."""
    op.execute(
        """
        INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit, closed_at)
        SELECT counted.project_id, counted.pr_number, counted.images, counted.bytes,
               newest.uploaded_at, newest.commit_sha, newest.closed_at
        FROM (
            SELECT project_id, pr_number, count(*) AS images, sum(size) AS bytes, max(seq) AS seq
            FROM images GROUP BY project_id, pr_number
        ) AS counted
        JOIN images AS newest ON newest.seq = counted.seq
        """
    )
    op.execute(
        """
        INSERT INTO uploads_by_day (project_id, day, uploads, bytes)
        SELECT project_id, uploaded_at / 86400, count(*), sum(size)
        FROM images GROUP BY project_id, uploaded_at / 86400
        """
    )
