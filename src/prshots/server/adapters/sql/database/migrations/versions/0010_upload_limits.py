"""A project can have its own limit of uploads per minute."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("projects", sa.Column("uploads_per_minute", sa.Integer))
