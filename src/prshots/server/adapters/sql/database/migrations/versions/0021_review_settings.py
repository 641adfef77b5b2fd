"""Add which verdicts need a decision, and whether authors may approve their own pull requests."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0021"
down_revision = "0020"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    verdicts = sa.Column("review_verdicts", text(), nullable=False, server_default="changed,moved,removed")
    op.add_column("projects", verdicts)
    op.add_column("projects", sa.Column("four_eyes", sa.Boolean, nullable=False, server_default=sa.false()))
