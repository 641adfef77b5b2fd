"""Add the audit log, groups of login providers, links to join and to share, webhooks, and usage by day.

Also add who revoked a token.
"""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0022"
down_revision = "0021"
step = "expand"
oldest = "0012"

_sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_WAITS = sa.text("due_at IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("seq", _sequence, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("organization_id", text(32), nullable=False),
        sa.Column("project_id", text(32), nullable=False),
        sa.Column("project", text(), nullable=False),
        sa.Column("actor_kind", text(16), nullable=False),
        sa.Column("actor_id", text(32), nullable=False),
        sa.Column("actor", text(), nullable=False),
        sa.Column("address", text(64), nullable=False),
        sa.Column("action", text(32), nullable=False),
        sa.Column("target", text(), nullable=False),
        sa.Column("details", text(), nullable=False),
        sa.Index("audit_log_of_organization", "organization_id", "seq"),
        sa.Index("audit_log_at", "at"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "organization_groups",
        sa.Column("organization_id", text(32), primary_key=True),
        sa.Column("provider", text(16), primary_key=True),
        sa.Column("name", text(), primary_key=True),
        sa.Column("role", text(16), nullable=False),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Index("organization_groups_name", "provider", "name"),
    )
    op.create_table(
        "user_groups",
        sa.Column("user_id", text(32), primary_key=True),
        sa.Column("name", text(), primary_key=True),
    )
    op.create_table(
        "invitation_links",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("organization_id", text(32), nullable=False),
        sa.Column("sha256", text(64), nullable=False, unique=True),
        sa.Column("role", text(16), nullable=False),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Index("invitation_links_of_organization", "organization_id", "created_at"),
        sa.Index("invitation_links_expiry", "expires_at"),
    )
    op.create_table(
        "share_links",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("project_id", text(32), nullable=False),
        sa.Column("pr_number", sa.Integer, nullable=False),
        sa.Column("sha256", text(64), nullable=False, unique=True),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("ended_by", text(), nullable=False, server_default=""),
        sa.Index("share_links_of_pull", "project_id", "pr_number"),
    )
    op.create_table(
        "webhooks",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("organization_id", text(32), nullable=False),
        sa.Column("project_id", text(32), nullable=False),
        sa.Column("url", text(), nullable=False),
        sa.Column("format", text(16), nullable=False),
        sa.Column("events", text(), nullable=False),
        sa.Column("kid", text(32), nullable=False),
        sa.Column("secret", text(), nullable=False),
        sa.Column("old_kid", text(32), nullable=False, server_default=""),
        sa.Column("old_secret", text(), nullable=False, server_default=""),
        sa.Column("old_until", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("sent_at", sa.BigInteger),
        sa.Column("failing_since", sa.BigInteger),
        sa.Column("disabled_at", sa.BigInteger),
        sa.Index("webhooks_of_organization", "organization_id", "project_id"),
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("seq", _sequence, primary_key=True, autoincrement=True),
        sa.Column("id", text(48), nullable=False, unique=True),
        sa.Column("webhook_id", text(32), nullable=False),
        sa.Column("organization_id", text(32), nullable=False),
        sa.Column("project_id", text(32), nullable=False),
        sa.Column("pr_number", sa.Integer, nullable=False),
        sa.Column("event", text(16), nullable=False),
        sa.Column("cause", text(), nullable=False),
        sa.Column("payload", text(), nullable=False, server_default=""),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("due_at", sa.BigInteger),
        sa.Column("first_due_at", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("holder", text(32), nullable=False, server_default=""),
        sa.Column("lease_until", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("sent_at", sa.BigInteger),
        sa.Column("status", sa.Integer, nullable=False, server_default="0"),
        sa.Column("reply", text(), nullable=False, server_default=""),
        sa.Column("error", text(), nullable=False, server_default=""),
        sa.Index("webhook_deliveries_of_webhook", "webhook_id", "seq"),
        sa.Index("webhook_deliveries_of_pull", "webhook_id", "project_id", "pr_number", "seq"),
        sa.Index(
            "webhook_deliveries_waiting",
            *("webhook_id", "project_id", "pr_number", "seq"),
            sqlite_where=_WAITS,
            postgresql_where=_WAITS,
        ),
        sa.Index("webhook_deliveries_due", "due_at", sqlite_where=_WAITS, postgresql_where=_WAITS),
        sa.Index("webhook_deliveries_created", "created_at"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "usage_by_day",
        sa.Column("project_id", text(32), primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True),
        sa.Column("kind", text(16), primary_key=True),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("estimated", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Index("usage_by_day_day", "day"),
    )
    op.add_column("tokens", sa.Column("revoked_by", text()))
