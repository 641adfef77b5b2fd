"""Add who revoked a token."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0023"
down_revision = "0022"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("tokens", sa.Column("revoked_by", text()))
