"""Remember which commit of a pull request takes no screenshots."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0027"
down_revision = "0026"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("pulls", sa.Column("skipped_commit", text(40)))
