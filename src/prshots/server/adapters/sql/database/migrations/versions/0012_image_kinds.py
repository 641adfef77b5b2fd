"""Add `images.kind`: until now, `pr_number` 0 stood for baselines and staged images, -1 for before images.

There is no release yet, so no process of schema 0011 runs beside this one, which would record new images with
the wrong kind. That is why the rows are changed in this step, and `oldest` excludes schema 0011.
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
    # Before images had their bytes in a separate row.
    op.execute(
        "INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit) "
        "SELECT project_id, 0, images, bytes, last_upload_at, last_commit FROM pulls WHERE pr_number = -1 "
        "ON CONFLICT (project_id, pr_number) DO UPDATE SET "
        "images = pulls.images + excluded.images, bytes = pulls.bytes + excluded.bytes"
    )
    op.execute("DELETE FROM pulls WHERE pr_number = -1")
