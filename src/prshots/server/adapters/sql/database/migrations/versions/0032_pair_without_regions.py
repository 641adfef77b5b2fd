"""Remove the same columns from the results of pairs."""

from alembic import op

revision = "0032"
down_revision = "0031"
step = "contract"
oldest = "0030"


def upgrade() -> None:
    for name in ("regions", "shift", "closeups", "traits"):
        op.drop_column("pair_results", name)
