"""The trusts of projects, and the short-lived tokens issued through them."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0004"
down_revision = "0003"

_lasting = sa.text("expires_at IS NULL")
_short_lived = sa.text("expires_at IS NOT NULL")
_of_trust = sa.text("trust_id IS NOT NULL")


def upgrade() -> None:
    op.create_table(
        "trusts",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("project_id", text(32), sa.ForeignKey("projects.id"), nullable=False),
        sa.Column("issuer", text(), nullable=False),
        sa.Column("claims", text(), nullable=False),
        sa.Column("anchor", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("created_by", text(), nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
    )
    op.create_index("ix_trusts_project_id", "trusts", ["project_id"])
    op.create_index("trusts_by_anchor", "trusts", ["issuer", "anchor"])
    op.add_column("tokens", sa.Column("expires_at", sa.BigInteger))
    # In the same statement, because SQLite cannot add a constraint to an existing table.
    op.add_column(
        "tokens", sa.Column("trust_id", text(32), sa.ForeignKey("trusts.id")), inline_references=True
    )
    op.create_index(
        "tokens_lasting",
        "tokens",
        ["project_id", "created_at", "id"],
        sqlite_where=_lasting,
        postgresql_where=_lasting,
    )
    op.create_index(
        "tokens_by_expiry",
        "tokens",
        ["expires_at"],
        sqlite_where=_short_lived,
        postgresql_where=_short_lived,
    )
    op.create_index(
        "tokens_by_trust", "tokens", ["trust_id"], sqlite_where=_of_trust, postgresql_where=_of_trust
    )
