"""Index the tokens that people created, including those with an end date."""

import sqlalchemy as sa

from prshots.server.adapters.sql.database.steps import create_index

revision = "0026"
down_revision = "0025"
step = "expand"
oldest = "0012"
builds_indexes = True


def upgrade() -> None:
    condition = sa.text("trust_id IS NULL")
    create_index(
        "tokens_of_people",
        "tokens",
        ["project_id", "created_at", "id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
