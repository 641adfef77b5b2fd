"""Record which boxes of a pair a decision is about."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0033"
down_revision = "0032"
step = "expand"
oldest = "0030"


def upgrade() -> None:
    op.add_column("decisions", sa.Column("boxes", text()))
