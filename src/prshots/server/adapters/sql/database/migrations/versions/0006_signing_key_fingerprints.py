"""The fingerprints of the signing keys, so that replicas notice when their keys differ."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("kid", text(32), primary_key=True),
        sa.Column("fingerprint", text(32), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
