"""Add `images.kind`. Before, a `pr_number` of 0 marked baselines and staged images, and -1 before images.

A process with schema 0011 would record new images with the wrong kind. There is no release yet, so none runs
alongside this one. That's why this step changes the rows and `oldest` excludes schema 0011.
"""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0012"
down_revision = "0011"
step = "expand"
oldest = "0012"


def upgrade() -> None:
    op.add_column("images", sa.Column("kind", text(16), nullable=False, server_default="pull_request"))
    op.execute("UPDATE images SET kind = 'before', pr_number = 0 WHERE pr_number = -1")
    op.execute(
        "UPDATE images SET kind = 'staged' WHERE pr_number = 0 AND kind <> 'before' "
        "AND id IN (SELECT image_id FROM staged)"
    )
    op.execute("UPDATE images SET kind = 'baseline' WHERE pr_number = 0 AND kind = 'pull_request'")
    # Bytes of before images were counted in a separate row.
    op.execute(
        "INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit) "
        "SELECT project_id, 0, images, bytes, last_upload_at, last_commit FROM pulls WHERE pr_number = -1 "
        "ON CONFLICT (project_id, pr_number) DO UPDATE SET "
        "images = pulls.images + excluded.images, bytes = pulls.bytes + excluded.bytes"
    )
    op.execute("DELETE FROM pulls WHERE pr_number = -1")
