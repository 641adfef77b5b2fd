"""Add the pull requests ahead in a merge queue, whose decisions count for a comparison."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0022"
down_revision = "0021"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("comparisons", sa.Column("queued_pulls", text(), nullable=False, server_default="[]"))
