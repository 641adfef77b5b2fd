"""Fill a data folder with many images, faster than uploads could."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from bench.pictures import png
from bench.service import PROJECT, Service

IMAGES_PER_PR = 500
FIRST_FILLER_PR = 1_000_000

_INSERT = """
WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count)
INSERT INTO images
    (id, project_id, pr_number, name, commit_sha, viewport, ext, size, uploaded_at, kid, scheduled_at)
SELECT
    lower(hex(randomblob(16))), projects.id, :first_pr + n / :per_pr, 'Checkout, dark mode ' || n,
    '3f9c2ab17d5e', '1280x800', 'png', :size, :uploaded_at, 'k1', :scheduled_at
FROM numbers, projects WHERE projects.name = :project
"""


_COUNT = """
INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit)
SELECT project_id, pr_number, count(*), sum(size), max(uploaded_at), max(commit_sha)
FROM images GROUP BY project_id, pr_number ON CONFLICT DO NOTHING
"""


_ADD_UP = """
INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at)
SELECT project_id, sum(images), sum(bytes), count(*), max(last_upload_at)
FROM pulls WHERE true GROUP BY project_id
ON CONFLICT (project_id) DO UPDATE SET
    images = excluded.images, bytes = excluded.bytes, open_pulls = excluded.open_pulls
"""


def add_records(
    service: Service, count: int, *, size: int, uploaded_at: int, scheduled_at: int | None = None
) -> None:
    """Add image records without bytes, 500 per pull request."""
    with _database(service) as database:
        database.execute(
            _INSERT,
            {
                "count": count,
                "first_pr": FIRST_FILLER_PR,
                "per_pr": IMAGES_PER_PR,
                "size": size,
                "uploaded_at": uploaded_at,
                "scheduled_at": scheduled_at,
                "project": PROJECT,
            },
        )
        database.execute(_COUNT)
        database.execute(_ADD_UP)


def add_bytes(service: Service, size: int) -> None:
    """Write a small image for every record, at the path where the service stores it."""
    content = png(size)
    for number in range(256):
        (service.images / f"{number:02x}").mkdir(parents=True, exist_ok=True)
    with _database(service) as database:
        for (image_id,) in database.execute("SELECT id FROM images"):
            (service.images / image_id[:2] / f"{image_id}.png").write_bytes(content)


def count_records(service: Service) -> int:
    with _database(service) as database:
        return int(database.execute("SELECT count(*) FROM images").fetchone()[0])


def count_files(service: Service) -> int:
    return sum(1 for _ in service.images.glob("??/*.png"))


@contextmanager
def _database(service: Service) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(service.database)) as connection:
        # This data doesn't have to survive a power cut.
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            yield connection
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
