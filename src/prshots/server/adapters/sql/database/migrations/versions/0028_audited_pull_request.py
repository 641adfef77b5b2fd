"""Record the pull request of an act, and all shots of a decision."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0028"
down_revision = "0027"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("audit_log", sa.Column("pr_number", sa.Integer))
    op.add_column("audit_log", sa.Column("shots", text()))
