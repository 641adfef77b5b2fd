"""Record who deleted the screenshots of a pull request, and when."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0015"
down_revision = "0014"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("pulls", sa.Column("deleted_at", sa.BigInteger))
    op.add_column("pulls", sa.Column("deleted_by", text()))
