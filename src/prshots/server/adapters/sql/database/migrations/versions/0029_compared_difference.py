"""Describe the difference of a compared shot in one column: its pieces, moves and colors."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0029"
down_revision = "0028"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("compared_shots", sa.Column("difference", text(), nullable=False, server_default=""))
