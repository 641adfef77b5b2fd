"""Index the decisions about parts of pairs."""

import sqlalchemy as sa

from prshots.server.adapters.sql.database.steps import create_index

revision = "0034"
down_revision = "0033"
step = "expand"
oldest = "0030"
builds_indexes = True


def upgrade() -> None:
    condition = sa.text("boxes IS NOT NULL")
    create_index(
        "decisions_of_parts",
        "decisions",
        ["project_id", "pr_number", "seq"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
