"""Images that were uploaded together with their before."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("images", sa.Column("before_id", text(32)))
    paired = sa.text("before_id IS NOT NULL")
    op.create_index(
        "images_paired",
        "images",
        ["project_id", "pr_number", "seq"],
        sqlite_where=paired,
        postgresql_where=paired,
    )
