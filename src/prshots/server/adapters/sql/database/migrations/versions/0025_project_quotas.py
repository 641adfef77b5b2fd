"""Add the quotas of projects."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("projects", sa.Column("quota_bytes", sa.BigInteger))
