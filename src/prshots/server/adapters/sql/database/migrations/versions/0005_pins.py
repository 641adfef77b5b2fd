"""Pins of trusts, the pull request of a short-lived token, and no more sign-ins in progress."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("trusts", sa.Column("pins", text()))
    op.add_column("trusts", sa.Column("refused_ids", text()))
    op.add_column("trusts", sa.Column("refused_at", sa.BigInteger))
    op.add_column("tokens", sa.Column("pr_number", sa.Integer))
    for column in ("verifier", "nonce", "browser_sha256", "return_to"):
        op.drop_column("login_states", column)
