"""Index baseline images, because staged and before images share their `pr_number`."""

import sqlalchemy as sa

from prshots.server.adapters.sql.database.steps import create_index

revision = "0013"
down_revision = "0012"
step = "expand"
oldest = "0012"
builds_indexes = True


def upgrade() -> None:
    condition = sa.text("scheduled_at IS NULL AND kind = 'baseline'")
    columns = ["project_id", "name", "seq"]
    create_index("images_of_baselines", "images", columns, sqlite_where=condition, postgresql_where=condition)
