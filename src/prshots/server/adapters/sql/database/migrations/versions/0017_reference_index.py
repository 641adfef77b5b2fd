"""Index references by their source, which is kept as long as they are."""

import sqlalchemy as sa

from prshots.server.adapters.sql.database.steps import create_index

revision = "0017"
down_revision = "0016"
step = "expand"
oldest = "0012"
builds_indexes = True


def upgrade() -> None:
    condition = sa.text("source_id IS NOT NULL")
    create_index(
        "images_by_source", "images", ["source_id"], sqlite_where=condition, postgresql_where=condition
    )
