"""Add references to stored images, the identity of pixels, and the keys of uploads."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0016"
down_revision = "0015"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("images", sa.Column("source_id", text(32)))
    op.add_column("images", sa.Column("pixels", text(64)))
    op.create_table(
        "upload_keys",
        sa.Column("project_id", text(32), primary_key=True),
        sa.Column("key", text(64), primary_key=True),
        sa.Column("reply", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
    )
