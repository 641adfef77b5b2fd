"""Add what a compared shot shows: its pixels, close-ups and traits."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0018"
down_revision = "0017"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    for name in ("pixels_before", "pixels_after"):
        op.add_column("compared_shots", sa.Column(name, text(64), nullable=False, server_default=""))
    for name in ("closeups", "traits"):
        op.add_column("compared_shots", sa.Column(name, text(), nullable=False, server_default=""))
