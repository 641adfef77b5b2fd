"""Remove the columns of a compared shot that its difference replaces."""

from alembic import op

revision = "0031"
down_revision = "0030"
step = "contract"
oldest = "0030"


def upgrade() -> None:
    for name in ("regions", "shift", "closeups", "traits"):
        op.drop_column("compared_shots", name)
