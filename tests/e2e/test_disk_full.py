"""A full disk: clear errors, no partial files, and normal operation once there is room again."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from support.service import Service, png, upload
from support.service_processes import (
    fetch,
    image_files,
    key_of,
    recorded_files,
    wait_for_first_sweep,
)
from support.stores_and_records import filled_up, small_disk

pytestmark = pytest.mark.slow

IMAGE_BYTES = 700_000
MOST_UPLOADS = 100


@contextlib.contextmanager
def running_service(service: Service) -> Iterator[httpx.Client]:
    """Run the service inside the block only: a disk in use cannot be unmounted."""
    service.settings["UPLOADS_PER_MINUTE"] = "1000"
    service.start()
    wait_for_first_sweep(service)  # while there is room: the sweep writes too
    try:
        with service.client(service.new_token()) as client:
            yield client
    finally:
        code = service.stop()
    assert code == 0
    assert "worker died" not in service.log
    assert "Traceback" not in service.log


def upload_until_full(client: httpx.Client) -> dict[str, bytes]:
    """Upload until five uploads in a row are refused. Return the accepted images by URL."""
    accepted: dict[str, bytes] = {}
    refused = 0
    for _ in range(MOST_UPLOADS):
        image = png(IMAGE_BYTES)
        response = upload(client, image)
        if response.status_code == 200:
            accepted[response.json()["view_url"]], refused = image, 0
        else:
            assert_no_room(response)
            refused += 1
        if refused == 5:
            return accepted
    pytest.fail("the disk did not fill up")


def assert_no_room(response: httpx.Response) -> None:
    assert (response.status_code, response.json()) == (507, {"error": "storage full, retry later"})


def assert_all_is_whole(service: Service, accepted: dict[str, bytes]) -> None:
    assert image_files(service) == recorded_files(service) == set(map(key_of, accepted))
    for view_url, image in accepted.items():
        assert fetch(view_url).content == image


def delete(client: httpx.Client, view_url: str) -> None:
    image_id = Path(httpx.URL(view_url).path).stem
    response = client.delete(f"/v1/images/{image_id}")
    assert (response.status_code, response.json()) == (200, {"ok": True, "id": image_id})


def assert_goes_on(service: Service, client: httpx.Client, accepted: dict[str, bytes]) -> None:
    """Delete a few images from a full disk, and check that new ones fit."""
    for view_url in list(accepted)[:5]:
        delete(client, view_url)
        del accepted[view_url]
        assert fetch(view_url).status_code == 410
    for image in (png(IMAGE_BYTES), png(IMAGE_BYTES)):
        response = upload(client, image)
        assert response.status_code == 200
        accepted[response.json()["view_url"]] = image
    assert_all_is_whole(service, accepted)


def test_a_full_data_folder_refuses_uploads_until_images_are_deleted_or_expire(service: Service) -> None:
    """Both work even with no byte left, when no record can be changed."""
    with small_disk(service.data_dir, "12m"), running_service(service) as client:
        accepted = upload_until_full(client)
        assert len(accepted) > 5
        assert_all_is_whole(service, accepted)
        with filled_up(service.data_dir):
            assert_no_room(upload(client))
            assert_goes_on(service, client, accepted)
        with filled_up(service.data_dir):
            reply = client.post("/v1/expire", json={"pr_number": 7}).json()
        count = len(accepted)
        assert reply == {"pr_number": 7, "policy": "pr_close", "marked": count, "expired": count}
        assert_all_is_whole(service, {})


def test_a_full_disk_of_the_images_or_of_the_database_refuses_uploads(service: Service) -> None:
    """On a full database disk the file can be stored but its record cannot, so the file is deleted again."""
    service.data_dir.mkdir()
    disk = service.folder / "disk"
    service.settings["DATABASE_URL"] = f"sqlite:///{disk}/prshots.db"
    with small_disk(service.images_dir, "6m"), small_disk(disk, "2m"), running_service(service) as client:
        accepted = upload_until_full(client)
        assert len(accepted) > 5
        delete(client, accepted.popitem()[0])

        with filled_up(disk):
            for _ in range(20):
                assert_no_room(upload(client))
            assert image_files(service) == set(map(key_of, accepted))
            view_url, image = next(iter(accepted.items()))
            assert fetch(view_url).content == image
            assert client.get("/v1/comment", params={"pr_number": 7}).status_code == 200
        assert upload(client).status_code == 200
        assert len(image_files(service)) == len(accepted) + 1
