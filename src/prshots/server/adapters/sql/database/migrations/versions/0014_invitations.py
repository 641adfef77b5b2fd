"""Add invitations, and the user who created a token: a login can pass to another person."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0014"
down_revision = "0013"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.create_table(
        "invitations",
        sa.Column("organization_id", text(32), primary_key=True),
        sa.Column("user_id", text(32), primary_key=True, index=True),
        sa.Column("role", text(16), nullable=False),
        sa.Column("invited_by", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.add_column("tokens", sa.Column("creator_id", text(32)))
    op.execute(
        "UPDATE tokens SET creator_id = (SELECT min(id) FROM users WHERE login = tokens.created_by "
        "GROUP BY login HAVING count(*) = 1) WHERE created_by <> ''"
    )
