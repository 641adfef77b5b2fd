"""Describe the difference of a pair in the same way."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0030"
down_revision = "0029"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("pair_results", sa.Column("difference", text(), nullable=False, server_default=""))
