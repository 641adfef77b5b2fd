"""Add which members joined through a group of their login provider."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    from_group = sa.Column("from_group", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("members", from_group)
