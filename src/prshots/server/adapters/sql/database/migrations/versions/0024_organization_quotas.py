"""Add the quotas of organizations."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("organizations", sa.Column("quota_bytes", sa.BigInteger))
