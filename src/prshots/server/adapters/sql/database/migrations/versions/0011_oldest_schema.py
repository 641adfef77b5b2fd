"""The database says which processes may run on it: those of this schema and newer ones."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0011"
down_revision = "0010"
step = "expand"
oldest = "0010"


def upgrade() -> None:
    op.add_column("installation", sa.Column("oldest_schema", text(16), nullable=False, server_default="0010"))
