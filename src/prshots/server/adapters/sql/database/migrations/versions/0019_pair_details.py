"""Add the same details to the results of pairs."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0019"
down_revision = "0018"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    for name in ("pixels_before", "pixels_after"):
        op.add_column("pair_results", sa.Column(name, text(64), nullable=False, server_default=""))
    for name in ("closeups", "traits"):
        op.add_column("pair_results", sa.Column(name, text(), nullable=False, server_default=""))
