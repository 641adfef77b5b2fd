"""nginx as another user, in the group of the images, as docs/run/behind-nginx.md describes it."""

import grp
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.nginx_front import Nginx, last_log, started
from support.service import Service, png, upload

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="only root can start nginx as another user; run the tests as root"
    ),
]

USER, GROUP = "nobody", "games"
"""Any user and group that every machine has: they act as nginx's user and the group of prshots."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Make a folder that another user can enter, unlike pytest's own."""
    made = Path(tempfile.mkdtemp(prefix="prshots-test-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def give_to_group(service: Service, group: int) -> None:
    """Set the modes that the service gives its files, with another group."""
    for path in (service.data_dir, *service.data_dir.rglob("*")):
        in_images = path.is_relative_to(service.images_dir)
        os.chown(path, -1, group)
        path.chmod((0o750 if path.is_dir() else 0o640) if in_images else 0o700 if path.is_dir() else 0o600)
    service.data_dir.chmod(0o710)  # as StateDirectoryMode in the systemd unit


def test_nginx_reads_images_by_its_group_and_nothing_else(folder: Path) -> None:
    service = Service(folder)
    front = Nginx.of(service, folder / "nginx")
    service.settings = {"IMG_URL": front.url}
    service.start()
    try:
        server = front.server()
        main = folder / "nginx" / "nginx.conf"
        main.write_text(main.read_text().replace("user root root;", f"user {USER} {GROUP};"))
        with service.client(service.new_token()) as client, started(server):
            image = png()
            url = upload(client, image).json()["view_url"]
            give_to_group(service, grp.getgrnam(GROUP).gr_gid)
            reply = httpx.get(url, timeout=30, trust_env=False)
            assert (reply.status_code, reply.content) == (200, image)
            assert "status=305 check=MISS" in last_log(front, reply.url.path)  # nginx opened it

            service.data_dir.chmod(0o700)  # the group may not pass
            (front.folder / "access.log").write_text("")
            reply = httpx.get(url, timeout=30, trust_env=False)
            assert (reply.status_code, reply.content) == (200, image)
            assert "status=200" in last_log(front, reply.url.path)  # delivery sent it
    finally:
        assert service.stop() == 0
