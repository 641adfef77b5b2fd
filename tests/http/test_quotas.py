"""Quotas over HTTP: each way to upload, the operator's routes, and what the dashboard shows."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from support.drawn_pages import sha
from support.service import Service, png, upload
from support.signed_in_people import Person, sign_in, sign_in_operator

REACHED = (507, {"error": "storage quota reached"})
ABOUT = {"name": "cart", "viewport": "320x240", "commit_sha": sha("1")}


@pytest.fixture(scope="module")
def operator(shared_service: Service) -> Iterator[Person]:
    with sign_in_operator(shared_service) as operator:
        yield operator


@pytest.fixture(scope="module")
def ann(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as ann:
        yield ann


class Place:
    """A project in its own organization, with a quota."""

    def __init__(self, service: Service, ann: Person, operator: Person) -> None:
        self.service, self.ann, self.operator = service, ann, operator
        self.organization_id = ann.organization()
        made = ann.ask("POST", "/projects", name="shop", organization_id=self.organization_id)
        self.project_id: str = made.json()["id"]
        self.client = service.client(ann.token(self.project_id))

    def limit(self, quota_bytes: int | None, of: str = "projects") -> None:
        holder_id = self.project_id if of == "projects" else self.organization_id
        reply = self.operator.ask("PATCH", f"/installation/{of}/{holder_id}", quota_bytes=quota_bytes)
        assert reply.json() == {"ok": True}

    def put_url(self, *, with_before: bool = False) -> dict[str, Any]:
        body = ABOUT | {"pr_number": 7, "content_type": "image/png", "with_before": with_before}
        return dict(self.client.post("/v1/put-urls", json=body).json())

    def put(self, url: str, size: int = 1000) -> httpx.Response:
        return httpx.put(url, content=png(size), headers={"Content-Type": "image/png"})

    def stored(self) -> int:
        return int(self.ann.get_json(f"/projects/{self.project_id}")["bytes"])


@pytest.fixture
def place(shared_service: Service, ann: Person, operator: Person) -> Iterator[Place]:
    made = Place(shared_service, ann, operator)
    with made.client:
        yield made


WAYS: dict[str, Callable[[Place], httpx.Response]] = {
    "upload": lambda place: upload(place.client, png(1000)),
    "pair": lambda place: upload(place.client, png(500), before=png(500)),
    "baseline": lambda place: upload(place.client, png(1000), path="/v1/baseline", branch="main", **ABOUT),
    "staged": lambda place: upload(place.client, png(1000), path="/v1/staged", branch="fix", **ABOUT),
    "one-time URL": lambda place: place.put(place.put_url()["put_url"]),
    "before image of a one-time URL": lambda place: place.put(
        place.put_url(with_before=True)["before_put_url"]
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_upload_beyond_the_quota_is_507_and_stores_nothing(
    place: Place, shared_service: Service, way: str
) -> None:
    place.limit(999, "organizations")
    files = shared_service.stored_files()
    reply = WAYS[way](place)
    assert (reply.status_code, reply.json()) == REACHED
    assert "Retry-After" not in reply.headers  # waiting doesn't help
    assert shared_service.stored_files() == files
    assert place.stored() == 0
    place.limit(1000, "organizations")
    assert WAYS[way](place).status_code == 200
    assert place.stored() == 1000


def test_everything_but_uploads_works_at_the_quota(place: Place) -> None:
    image = png(1000)
    first = upload(place.client, image).json()
    assert upload(place.client, image, path="/v1/baseline", branch="main", **ABOUT).status_code == 200
    place.limit(100)
    assert (upload(place.client).status_code, place.stored()) == (507, 2000)
    assert httpx.get(first["view_url"]).content == image
    assert place.client.get("/v1/comment", params={"pr_number": 7}).status_code == 200
    again = upload(place.client, image, path="/v1/baseline", branch="next", **ABOUT)
    assert again.status_code == 200  # these bytes are already stored
    assert place.client.delete(f"/v1/images/{first['id']}").status_code == 200
    assert place.client.post("/v1/expire", json={"pr_number": 7}).status_code == 200
    place.limit(None)
    assert upload(place.client).status_code == 200


def test_a_refused_one_time_url_stays_valid(place: Place) -> None:
    url = place.put_url()["put_url"]
    place.limit(10)
    assert place.put(url).status_code == 507
    place.limit(0)
    assert place.put(url).status_code == 200
    assert place.put(url).status_code == 404


def test_the_dashboard_shows_the_quotas_and_the_usage(place: Place) -> None:
    upload(place.client, png(1000))
    at_project, at_organization = f"/projects/{place.project_id}", f"/organizations/{place.organization_id}"
    assert place.ann.get_json(f"{at_project}/quotas") == {"quotas": []}
    place.limit(1200)
    place.limit(5000, "organizations")
    of_project = {"of": "project", "bytes": 1000, "limit": 1200}
    of_organization = {"of": "organization", "bytes": 1000, "limit": 5000}
    assert place.ann.get_json(f"{at_project}/quotas") == {"quotas": [of_project, of_organization]}
    assert place.ann.get_json(f"{at_organization}/quotas") == {"quotas": [of_organization]}
    assert place.ann.get_json(f"{at_organization}/usage?days=30") == {
        "images": 1,
        "bytes": 1000,
        "projects": [{"id": place.project_id, "name": "shop", "images": 1, "bytes": 1000}],
        "measured": {"day": None, "estimated": False, "kinds": [], "days": []},
    }
    assert place.ann.ask("GET", f"{at_organization}/usage?days=9999").status_code == 400
    place.limit(0)
    newest, oldest = place.ann.get_json(f"{at_organization}/audit?action=quota.changed")["entries"][::2]
    assert newest["actor"]["name"] == "operator"
    changes = [entry["details"] for entry in (newest, oldest)]
    assert changes == [{"from": "1.2 KB", "to": "no limit"}, {"from": "default", "to": "1.2 KB"}]


def test_the_operator_sees_all_organizations_and_their_projects(place: Place) -> None:
    upload(place.client, png(1000))
    place.limit(5000, "organizations")
    listed, after = [], ""
    while after is not None:
        page = place.operator.get_json(f"/installation/organizations?after={after}")
        listed += page["holders"]
        after = page["next"]
    assert [each["bytes"] for each in listed] == sorted((each["bytes"] for each in listed), reverse=True)
    (mine,) = [each for each in listed if each["id"] == place.organization_id]
    assert (mine["images"], mine["bytes"], mine["quota_bytes"]) == (1, 1000, 5000)
    found = place.operator.get_json(f"/installation/organizations/{place.organization_id}/projects")
    project = {"id": place.project_id, "name": "shop", "images": 1, "bytes": 1000, "quota_bytes": None}
    assert found == {"holders": [project], "default_bytes": 0, "next": None}


def test_an_owner_of_local_is_not_the_operator(shared_service: Service, operator: Person) -> None:
    assert operator.get_json("/me")["operator"] is True
    with sign_in(shared_service, operator=True) as other:
        assert other.get_json("/me")["operator"] is False
        for method, path in (("GET", "organizations"), ("PATCH", "organizations/local")):
            reply = other.ask(method, f"/installation/{path}", quota_bytes=1)
            assert (reply.status_code, reply.json()) == (404, {"error": "not found"})


@pytest.mark.parametrize("value", [-1, 2**61, 10**400, 1.5, "20GB", True, [], float("nan")])
def test_an_invalid_quota_is_refused(place: Place, value: object) -> None:
    reply = place.operator.request(
        "PATCH",
        f"/v1/dashboard/installation/projects/{place.project_id}",
        content=f'{{"quota_bytes": {repr(value).replace("True", "true").replace(chr(39), chr(34))}}}',
    )
    assert reply.status_code == 400
    assert "quota_bytes" in reply.json()["error"] or "JSON" in reply.json()["error"]


def test_a_quota_of_something_unknown_is_404(operator: Person) -> None:
    for path in (f"organizations/{secrets.token_hex(8)}", f"projects/{secrets.token_hex(8)}", "projects/%00"):
        assert operator.ask("PATCH", f"/installation/{path}", quota_bytes=1).status_code == 404
    assert operator.ask("PATCH", "/installation/organizations/local").status_code == 400


def test_a_maintainer_cannot_set_a_quota_with_other_settings(place: Place) -> None:
    place.limit(10)
    place.ann.ask("PATCH", f"/projects/{place.project_id}", retain_days=9, quota_bytes=0)
    assert upload(place.client).status_code == 507
