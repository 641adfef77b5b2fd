"""The ids that a trust is pinned to, and the pull request that a short-lived token is for."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.text_type import text

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("trusts", sa.Column("pins", text()))
    op.add_column("trusts", sa.Column("refused_ids", text()))
    op.add_column("trusts", sa.Column("refused_at", sa.BigInteger))
    op.add_column("tokens", sa.Column("pr_number", sa.Integer))
