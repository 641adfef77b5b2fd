"""The commands of docs/run/backup.md and docs/run/engines.md that prshots does not run itself, exactly as printed."""

import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from support.deploy_checkers import ROOT
from support.engine_servers import PostgreSQL
from support.raw_requests import running_service
from support.service import Service
from support.service_processes import key_of, records
from support.upload_load import UploadLoad
from support.waiting import wait_until

pytestmark = pytest.mark.slow  # starts services

BACKUP = (ROOT / "docs/run/backup.md").read_text().partition("### Incremental backup of a large folder")[2]
VACUUM = (
    (ROOT / "docs/run/engines.md").read_text().partition("### Vacuum PostgreSQL")[2].partition("\n## ")[0]
)


def code(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


def shell(script: str, data: Path, backups: Path) -> None:
    here = script.replace("/var/lib/prshots", str(data)).replace("/backups/prshots", str(backups))
    here = re.sub(r"^systemctl .*$", "", here, flags=re.MULTILINE).replace("chown -R prshots:prshots", "true")
    done = subprocess.run(["sh", "-ec", here], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in {0, 24}, done.stderr


def test_an_incremental_backup_under_load_has_the_bytes_of_every_record(tmp_path: Path) -> None:
    """Without deletes in between, no record may lack its bytes: the database is copied first."""
    take, put_back = code(BACKUP, "console")[:2]
    assert take.index("VACUUM INTO") < take.index("rsync")
    backups = tmp_path / "backups"
    backups.mkdir()
    with running_service(tmp_path, UPLOADS_PER_MINUTE="100000") as service:
        load = UploadLoad(service.new_token(), 1, [service.base_url], [service.img_url])

        def back_up_three_times() -> None:  # the second and third copy only what is new
            for count in (5, 15, 25):
                wait_until(lambda: len(load.shots) > count, "uploads")  # noqa: B023 - used at once
                shell(take, service.data_dir, backups)

        load.run_during(back_up_three_times)
        assert service.stop() == 0
    assert load.wrong == []
    assert not list(backups.rglob(".*.new"))

    restored = Service(tmp_path / "other")
    restored.data_dir.mkdir(parents=True)
    shell(put_back, restored.data_dir, backups)
    known = [image for (image,) in records(restored)]
    assert known
    gone = {Path(key_of(url)).stem for shot in load.shots if shot.may_be_gone for url in shot.urls}
    without_bytes = [
        image for image in known if image not in gone and not list(restored.images_dir.rglob(f"{image}.*"))
    ]
    assert without_bytes == []
    keys = "signing-keys"  # so the URLs from before stay valid
    assert (restored.data_dir / keys).read_bytes() == (service.data_dir / keys).read_bytes()


def test_postgresql_accepts_the_vacuum_statements(postgresql: PostgreSQL, tmp_path: Path) -> None:
    url = postgresql.new_database()
    assert Service(tmp_path, {"DATABASE_URL": url}).run("migrate").returncode == 0
    statements = code(VACUUM, "sql")
    assert len(statements) == 3
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        [options] = connection.execute("SELECT reloptions FROM pg_class WHERE relname = 'images'").fetchall()
        assert "autovacuum_vacuum_scale_factor=0.02" in options[0]
