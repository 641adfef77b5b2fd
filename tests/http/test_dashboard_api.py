"""The dashboard's API, through the web component, on the real service."""

import asyncio
import base64
import io
import re
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest
from PIL import Image as Picture

from prshots.client.ci import Job
from prshots.client.compare import view_and_page
from prshots.client.post_comment import Composer
from prshots.client.service import Client
from prshots.server.api.dashboard.images import SHOTS_PAGE
from support.drawn_pages import drawn_page, sha
from support.places import make_undeletable
from support.raw_requests import send
from support.service import SHA, Service, png, upload
from support.signed_in_people import Person, sign_in
from support.stores_and_records import an_image, open_all
from support.waiting import wait_for


@pytest.fixture(scope="module")
def ann(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


class Shop:
    """A project of Ann's: as she sees it in the dashboard, and as its CI job uploads to it."""

    def __init__(self, ann: Person, service: Service) -> None:
        self.ann, self.service = ann, service
        self.project = ann.project()
        self.url = f"/v1/dashboard/projects/{self.project}"
        self.token = ann.token(self.project)
        self.ci = service.client(self.token)

    def ask(self, method: str, path: str, **body: Any) -> httpx.Response:
        return self.ann.ask(method, f"/projects/{self.project}{path}", **body)

    def get_json(self, path: str = "") -> Any:
        return self.ann.get_json(f"/projects/{self.project}{path}")


@pytest.fixture
def shop(ann: Person, shared_service: Service) -> Iterator[Shop]:
    made = Shop(ann, shared_service)
    with made.ci:
        yield made


def uploaded(client: httpx.Client, image: bytes | None = None, **fields: object) -> str:
    reply = upload(client, image, **fields)
    assert reply.status_code == 200, reply.text
    return str(reply.json()["id"])


def test_me_returns_the_user_the_organizations_and_the_service(ann: Person, shared_service: Service) -> None:
    me = ann.get_json("/me")
    assert me["user"]["id"] == ann.user_id
    assert me["organizations"] == [
        {"id": ann.organization_id, "name": me["user"]["login"], "personal": True, "role": "owner"}
    ]
    assert me["invitations"] == []
    assert me["service"]["base_url"] == shared_service.base_url
    assert me["service"]["max_image_bytes"] == 5 * 1024 * 1024


def test_an_unchanged_project_is_304(shop: Shop) -> None:
    first = shop.ask("GET", "")
    assert first.headers["cache-control"] == "no-store"
    again = shop.ann.get(shop.url, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    shop.ask("PATCH", "", retain_days=9)
    changed = shop.ann.get(shop.url, headers={"If-None-Match": first.headers["etag"]})
    assert (changed.status_code, changed.json()["retain_days"]) == (200, 9)


def pages(person: Person | Shop, path: str, items: str) -> list[list[Any]]:
    """Follow a list to its end. Return the items of each page."""
    found, after = [], ""
    while after is not None:
        page = person.get_json(f"{path}{'&' if '?' in path else '?'}after={after}")
        found.append(page[items])
        after = page["next"]
    return found


class TestPages:
    def fill(self, shop: Shop, *images: dict[str, Any]) -> None:
        async def add() -> None:
            async with open_all(shop.service.data_dir) as (records, _, _):
                (mine,) = [found for found in await records.projects() if found.id == shop.project]
                await asyncio.gather(*(records.add_image(an_image(mine, **about)) for about in images))

        asyncio.run(add())

    def test_projects_are_paged_by_name(self, shared_service: Service) -> None:
        with sign_in(shared_service) as person:
            names = [f"{number:02}" for number in range(30)]
            made = [person.project(name) for name in names]
            found = pages(person, "/projects", "projects")
        assert [len(page) for page in found] == [24, 6]
        assert [(each["name"], each["id"]) for page in found for each in page] == list(
            zip(names, made, strict=True)
        )

    def test_pull_requests_are_paged(self, shop: Shop) -> None:
        numbers = range(1, 71)
        self.fill(shop, *({"pr_number": number} for number in numbers))
        found = pages(shop, "/pulls", "pulls")
        assert [len(page) for page in found] == [30, 30, 10]
        assert sorted(pull["pr_number"] for page in found for pull in page) == list(numbers)

    def test_shots_are_paged_after_a_name_with_any_characters(self, shop: Shop) -> None:
        odd = "b\u3000\n\x1b\u2028\U0001f468\u200d\U0001f469"
        names = [*(f"a{number:03}" for number in range(SHOTS_PAGE - 1)), odd, "c"]
        self.fill(shop, *({"pr_number": 7, "name": name} for name in names))
        found = pages(shop, "/pulls/7/shots", "shots")
        assert [shot["newest"]["name"] for page in found for shot in page] == names
        images = shop.ann.get(
            f"{shop.url}/pulls/7/images",
            params={"name": odd, "viewport": "1280x800"},
        )
        assert [image["name"] for image in images.json()["images"]] == [odd]

    def test_baseline_images_and_staged_images_are_paged(self, shop: Shop) -> None:
        shop.ask("PATCH", "", uploads_per_minute=1000)
        names = [f"{number:02}" for number in range(61)]
        for name in names:
            as_baseline(shop.ci, "one", name, png(100))
            stage(shop.ci, name, image=png(100))
        of_commit = f"/baselines/images?branch=main&commit_sha={sha('one')}"
        images = [each for page in pages(shop, of_commit, "images") for each in page]
        assert [each["name"] for each in images] == names
        assert {(each["pr_number"], each["theme"]) for each in images} == {(0, "dark")}
        assert shop.get_json(of_commit.replace("main", "nowhere"))["images"] == []
        staged = [each for page in pages(shop, "/staged", "staged") for each in page]
        assert [each["image"]["name"] for each in staged] == names[::-1]


def test_a_new_project_is_empty_and_listed_and_its_name_is_taken(ann: Person) -> None:
    reply = ann.ask("POST", "/projects", name="shop ☂", organization_id=ann.organization_id)
    made = reply.json()
    assert (made["name"], made["policy"], made["retain_days"], made["role"]) == (
        "shop ☂",
        "pr_close",
        None,
        "owner",
    )
    assert (made["images"], made["bytes"], made["open_pulls"], made["last_upload_at"]) == (0, 0, 0, None)
    assert made["uploads_per_day"] == [0] * 30
    assert made in ann.get_json("/projects")["projects"]
    again = ann.ask("POST", "/projects", name="shop ☂", organization_id=ann.organization_id)
    assert (again.status_code, again.json()) == (409, {"error": "project 'shop ☂' already exists"})


class TestSettings:
    def test_settings_can_be_changed_one_at_a_time(self, shop: Shop) -> None:
        for change in (
            {"name": f"renamed-{shop.project}"},
            {"retain_days": 7},
            {"policy": "manual"},
            {"retain_days": None},
            {"repository": "https://forge.example/acme/shop"},
            {"repository": ""},
            {"keep_baselines": 7},
            {"uploads_per_minute": 10_000},
            {"uploads_per_minute": None},
        ):
            assert shop.ask("PATCH", "", **change).status_code == 200
            found = shop.get_json()
            assert {name: found[name] for name in change} == change

    def test_would_expire_counts_the_images_that_a_policy_would_delete(self, shop: Shop) -> None:
        shop.ask("PATCH", "", policy="manual")
        for number in (1, 2):
            uploaded(shop.ci, png(100), pr_number=number)
        shop.ci.post("/v1/expire", json={"pr_number": 1})
        assert shop.get_json("/would-expire?policy=pr_close") == {"images": 1, "bytes": 100}
        assert shop.get_json("/would-expire?policy=manual&retain_days=30") == {"images": 0, "bytes": 0}


def test_a_project_and_its_usage_count_uploads_and_what_is_left(shop: Shop) -> None:
    for number in (1, 2, 2, 3):
        uploaded(shop.ci, png(100), pr_number=number)
    shop.ci.post("/v1/expire", json={"pr_number": 1})
    found = shop.get_json()
    assert (found["images"], found["bytes"], found["open_pulls"]) == (3, 300, 2)
    assert sum(found["uploads_per_day"][-2:]) == 4  # midnight may pass
    usage = shop.get_json("/usage?days=3")
    assert len(usage["days"]) == 3
    assert sum(day["uploads"] for day in usage["days"]) == 4
    assert sum(day["bytes"] for day in usage["days"]) == 400
    assert abs(date.fromisoformat(usage["days"][-1]["day"]) - datetime.now(UTC).date()) <= timedelta(1)
    assert (usage["images"], usage["bytes"]) == (3, 300)
    assert [pull["pr_number"] for pull in usage["biggest"]] == [2, 3]


def test_deleting_a_project_requires_its_name_and_deletes_every_image(shop: Shop) -> None:
    images = [upload(shop.ci).json() for _ in range(3)]
    wrong = shop.ask("POST", "/delete", name="something else")
    assert wrong.status_code == 400
    assert httpx.get(images[0]["view_url"]).status_code == 200
    name = shop.get_json()["name"]
    path = make_undeletable(next(shop.service.images_dir.glob(f"*/{images[0]['id']}.png")))
    failed = shop.ask("POST", "/delete", name=name)
    assert (failed.status_code, failed.json()) == (503, {"error": "expire failed, retry later"})
    assert shop.ask("GET", "").status_code == 200
    path.rmdir()
    assert shop.ask("POST", "/delete", name=name).json() == {"remaining": 0}
    assert shop.ask("GET", "").status_code == 404
    assert [httpx.get(image["view_url"]).status_code for image in images] == [410] * 3
    assert upload(shop.ci).status_code == 401


class TestPullRequests:
    def test_pull_requests_have_counts(self, shop: Shop) -> None:
        for number in range(6):
            uploaded(shop.ci, pr_number=5, name=f"shot {number}")
        uploaded(shop.ci, pr_number=3)
        pulls = {pull["pr_number"]: pull for pull in shop.get_json("/pulls")["pulls"]}
        assert list(pulls) in ([3, 5], [5, 3])  # by number, if both were uploaded in the same second
        assert pulls[5]["comparison"] is None
        assert (pulls[5]["images"], pulls[5]["last_commit"], pulls[5]["closed_at"]) == (6, SHA, None)

    def test_pull_requests_are_filtered_by_state_and_search_text(self, shop: Shop) -> None:
        uploaded(shop.ci, pr_number=41, name="login")
        uploaded(shop.ci, pr_number=42, name="cart")
        shop.ci.post("/v1/expire", json={"pr_number": 41})

        def numbers(query: str) -> list[int]:
            pulls = shop.get_json(f"/pulls?{query}")["pulls"]
            return [pull["pr_number"] for pull in pulls]

        assert numbers("state=open") == [42]
        assert numbers("state=closed") == [41]
        assert sorted(numbers("")) == [41, 42]
        assert numbers("q=cart") == [42]
        assert sorted(numbers("q=%234")) == [41, 42]
        assert numbers("q=nothing") == []
        closed = shop.get_json("/pulls/41")
        assert (closed["images"], closed["bytes"]) == (0, 0)
        assert abs(closed["closed_at"] - time.time()) < 60
        assert closed["deleted_at"] is None

    def test_deleting_its_screenshots_leaves_a_pull_request_open(self, shop: Shop) -> None:
        uploaded(shop.ci)
        assert shop.ask("POST", "/pulls/7/expire").json() == {"expired": 1, "failed": 0}
        deleted = shop.get_json("/pulls/7")
        assert (deleted["images"], deleted["closed_at"]) == (0, None)
        assert (bool(deleted["deleted_at"]), deleted["deleted_by"]) == (
            True,
            shop.ann.get_json("/me")["user"]["login"],
        )
        assert [pull["pr_number"] for pull in shop.get_json("/pulls?state=open")["pulls"]] == [7]
        shop.ci.post("/v1/expire", json={"pr_number": 7})
        assert shop.get_json("/pulls/7")["deleted_at"] == deleted["deleted_at"]
        uploaded(shop.ci)
        assert shop.get_json("/pulls/7")["deleted_at"] is None

    @pytest.mark.parametrize("number", ["9", "0", "x", "-1", "99999999999999999999", "1.5"])
    def test_an_unknown_pull_request_is_404(self, shop: Shop, number: str) -> None:
        reply = shop.ask("GET", f"/pulls/{number}")
        assert (reply.status_code, reply.json()) == (404, {"error": "not found"})


class TestGallery:
    def test_gallery_has_the_newest_image_of_each_shot(self, shop: Shop) -> None:
        first = uploaded(shop.ci, name="cart", viewport="375x812")
        old = uploaded(shop.ci, name="cart", viewport="375x812")
        new = uploaded(shop.ci, name="cart", viewport="375x812", commit_sha="f" * 40)
        wide = upload(shop.ci, name="cart", viewport="1280x800").json()
        shots = shop.get_json("/pulls/7/shots")["shots"]
        assert [(shot["newest"]["id"], shot["commits"]) for shot in shots] == [(wide["id"], 1), (new, 2)]
        image = shots[0]["newest"]
        assert (image["url"], image["markdown"]) == (wide["view_url"], wide["markdown"])
        assert (image["type"], image["size"], image["thumbnail"]) == ("image/png", 1000, None)
        images = shop.get_json("/pulls/7/images?name=cart&viewport=375x812")["images"]
        assert [image["id"] for image in images] == [new, old, first]

    def test_a_zip_has_the_newest_image_of_each_shot(self, shop: Shop) -> None:
        old, new, other = png(2000), png(300_000), png(1000)
        for name, data, commit in (("b/10", old, "a"), ("b/10", new, "b"), ("b/2", other, "a")):
            assert upload(shop.ci, data, name=name, commit_sha=commit * 40).status_code == 200
        reply = shop.ask("GET", "/pulls/7/zip")
        assert reply.headers["content-type"] == "application/zip"
        assert re.match(r'attachment; filename="project-\w+-pr-7\.zip"', reply.headers["content-disposition"])
        with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
            assert {name: archive.read(name) for name in archive.namelist()} == {
                "b/2@1280x800.png": other,
                "b/10@1280x800.png": new,
            }
        head = shop.ann.head(f"{shop.url}/pulls/7/zip")
        assert (head.status_code, head.content) == (200, b"")
        assert shop.ask("GET", "/pulls/8/zip").status_code == 404

    def test_a_zip_leaves_out_deleted_images_and_breaks_off_when_the_store_fails(self, shop: Shop) -> None:
        images = [uploaded(shop.ci, png(100_000), name=name) for name in ("a", "b", "c")]
        first, second, last = (shop.service.images_dir / each[:2] / f"{each}.png" for each in images)
        first.unlink()
        with zipfile.ZipFile(io.BytesIO(shop.ask("GET", "/pulls/7/zip").content)) as archive:
            assert archive.namelist() == ["b@1280x800.png", "c@1280x800.png"]
        last.unlink()
        last.mkdir()
        with pytest.raises(httpx.RemoteProtocolError):
            shop.ask("GET", "/pulls/7/zip")
        second.unlink()
        reply = shop.ask("GET", "/pulls/7/zip")
        last.rmdir()
        assert (reply.status_code, reply.json()) == (503, {"error": "storage unavailable, retry later"})

    @pytest.mark.parametrize("body", [b"GET / HTTP/1.1\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n"])
    def test_a_zip_is_refused_for_a_request_with_a_body(self, shop: Shop, body: bytes) -> None:
        uploaded(shop.ci)
        head = [
            f"GET {shop.url}/pulls/7/zip HTTP/1.1",
            *("Host: localhost", f"Cookie: {shop.ann.headers['cookie']}"),
            *("Transfer-Encoding: chunked", "", ""),
        ]
        for _ in range(10):  # the reply and the broken body raced
            reply = send(shop.service, "\r\n".join(head).encode(), body)
            assert (reply.status, reply.error) == (400, "this request must have no body")

    def test_expiring_a_pull_request_deletes_its_images_under_any_policy(self, shop: Shop) -> None:
        shop.ask("PATCH", "", policy="manual")
        urls = [upload(shop.ci).json()["view_url"] for _ in range(3)]
        kept = upload(shop.ci, pr_number=8).json()["view_url"]
        reply = shop.ask("POST", "/pulls/7/expire")
        assert reply.json() == {"expired": 3, "failed": 0}
        assert [httpx.get(url).status_code for url in urls] == [410] * 3
        assert httpx.get(kept).status_code == 200
        assert shop.get_json()["policy"] == "manual"

    def test_the_comment_is_the_one_that_clients_post(self, shop: Shop) -> None:
        """Before a comparison, after it, and when the images are deleted."""
        url = upload(shop.ci, name="<b>*bold*</b>").json()["view_url"]
        with Client(shop.service.base_url, shop.token) as client:

            def posted() -> str:
                view, _ = view_and_page(client, 7, Job())
                return Composer(client, 7, Job(), view=view).markdown()

            latest = shop.get_json("/pulls/7/comment")
            assert latest["markdown"] == posted()
            assert "<h3>1 screenshot</h3>" in latest["html"]
            assert url.replace("&", "&amp;") in latest["html"]
            assert "<b>" not in latest["html"]
            shop.ci.post(
                "/v1/compare", json={"pr_number": 7, "commit_sha": sha("x"), "branch": "main", "commits": []}
            ).raise_for_status()
            changes = shop.get_json("/pulls/7/comment")
            assert changes["markdown"] == posted() != latest["markdown"]
            shop.ci.post("/v1/expire", json={"pr_number": 7}).raise_for_status()
            assert shop.get_json("/pulls/7/comment")["markdown"] == posted()
            assert "deleted" in posted()


def thumbnails(shop: Shop, *image_ids: str) -> dict[str, Any]:
    """Ask for thumbnails as a page does: again, for those that take longer than a request."""
    return wait_for(
        lambda: dict(shop.ask("POST", "/thumbnails", ids=image_ids).json()),
        lambda reply: "later" not in reply["missing"].values(),
    )


class TestThumbnails:
    def test_thumbnail_is_made_on_request_and_deleted_with_its_image(self, shop: Shop) -> None:
        image = upload(shop.ci, drawn_page(scale=4)).json()
        url = thumbnails(shop, image["id"], "0" * 32)["thumbnails"][image["id"]]
        reply = httpx.get(url)
        assert (reply.status_code, reply.headers["content-type"]) == (200, "image/webp")
        assert len(reply.content) <= 30_000
        assert Picture.open(io.BytesIO(reply.content)).size == (480, 300)  # cut to the viewport
        (shot,) = shop.get_json("/pulls/7/shots")["shots"]
        assert (shot["newest"]["thumbnail"], shot["newest"]["thumbnail_url"]) == ("made", url)
        path = f"/images/{image['id']}"
        assert shop.ask("DELETE", path).json() == {"ok": True, "id": image["id"]}
        assert [httpx.get(each).status_code for each in (url, image["view_url"])] == [410, 410]
        assert shop.ask("DELETE", path).status_code == 404

    def test_a_broken_image_has_no_thumbnail(self, shop: Shop) -> None:
        image_id = uploaded(shop.ci)  # starts like a PNG, but is not one
        assert thumbnails(shop, image_id) == {
            "thumbnails": {image_id: None},
            "missing": {image_id: "damaged"},
        }
        (shot,) = shop.get_json("/pulls/7/shots")["shots"]
        assert (shot["newest"]["thumbnail"], shot["newest"]["thumbnail_url"]) == ("damaged", None)


def test_a_token_is_shown_once_and_works_until_it_is_revoked(shop: Shop) -> None:
    made = shop.ask("POST", "/tokens", label=" nightly ").json()
    with shop.service.client(made["secret"]) as ci:
        assert upload(ci).status_code == 200
        (listed,) = [each for each in shop.get_json("/tokens")["tokens"] if each["label"] == "nightly"]
        login = shop.ann.get_json("/me")["user"]["login"]
        assert (listed["created_by"], listed["revoked_at"]) == (login, None)
        assert listed["hint"] == f"msr_…{made['secret'][-4:]}"
        assert made["secret"] not in str(listed)
        assert shop.ask("DELETE", f"/tokens/{listed['id']}").json() == {"ok": True}
        assert upload(ci).status_code == 401
    revoked = {each["label"]: each["revoked_at"] is not None for each in shop.get_json("/tokens")["tokens"]}
    assert revoked == {"ci": False, "nightly": True}


class TestOrganizations:
    def test_owners_invite_promote_and_remove_members_but_one_owner_remains(
        self, shared_service: Service
    ) -> None:
        with sign_in(shared_service) as owner, sign_in(shared_service, "Mem-Ber") as member:
            owner.organization_id = owner.organization()
            path = f"/organizations/{owner.organization_id}"
            project = owner.project()
            own = member.get_json("/me")["organizations"]
            added = owner.ask("POST", f"{path}/invitations", login="mem-ber", role="maintainer")
            assert (added.status_code, added.json()["user"]["login"]) == (201, "Mem-Ber")
            # Until the person accepts, only the invitation is visible.
            assert member.ask("GET", f"/projects/{project}").status_code == 404
            assert member.ask("GET", f"{path}/members").status_code == 404
            assert member.get_json("/projects")["projects"] == []
            before = member.get_json("/me")
            assert (before["organizations"], before["invitations"]) == (own, [added.json()])
            assert owner.get_json(f"{path}/invitations") == {"invitations": [added.json()]}
            twice = owner.ask("POST", f"{path}/invitations", login="mem-ber", role="owner")
            assert (twice.status_code, twice.json()) == (409, {"error": "Mem-Ber is already invited"})
            assert member.ask("POST", f"{path}/members").json() == {"ok": True}
            assert member.get_json("/me")["invitations"] == []
            assert member.get_json(f"/projects/{project}")["role"] == "maintainer"
            assert {found["id"]: found["role"] for found in owner.get_json(f"{path}/members")["members"]} == {
                owner.user_id: "owner",
                member.user_id: "maintainer",
            }
            again = owner.ask("POST", f"{path}/invitations", login="mem-ber", role="maintainer")
            assert (again.status_code, again.json()) == (409, {"error": "Mem-Ber is already a member"})
            assert owner.ask("PATCH", f"{path}/members/{member.user_id}", role="owner").status_code == 200
            assert member.ask("DELETE", f"{path}/members/{owner.user_id}").json() == {"ok": True}
            assert owner.ask("GET", f"/projects/{project}").status_code == 404
            alone = member.ask("DELETE", f"{path}/members/{member.user_id}")
            assert alone.status_code == 409
            assert "needs an owner" in alone.json()["error"]

    def test_an_invitation_can_be_withdrawn_or_declined(self, shared_service: Service) -> None:
        with sign_in(shared_service) as owner, sign_in(shared_service, "eve") as eve:
            path = f"/organizations/{owner.organization()}"
            for person in (owner, eve):
                assert owner.ask("POST", f"{path}/invitations", login="eve").status_code == 201
                assert person.ask("DELETE", f"{path}/members/{eve.user_id}").json() == {"ok": True}
                assert eve.get_json("/me")["invitations"] == []
                assert eve.ask("POST", f"{path}/members").status_code == 404

    def test_a_personal_organization_keeps_one_member_and_cannot_be_deleted(
        self, shared_service: Service
    ) -> None:
        sign_in(shared_service, "stranger").close()
        with sign_in(shared_service, operator=True) as ann:
            path = f"/organizations/{ann.organization_id}"
            reply = ann.ask("POST", f"{path}/invitations", login="stranger")
            assert (reply.status_code, "has no other members" in reply.json()["error"]) == (409, True)
            for organization_id in (ann.organization_id, "local"):
                assert ann.ask("DELETE", f"/organizations/{organization_id}").status_code == 409

    def test_inviting_an_unknown_login_is_404_and_an_invalid_role_is_400(self, ann: Person) -> None:
        path = f"/organizations/{ann.organization()}/invitations"
        reply = ann.ask("POST", path, login="nobody", role="maintainer")
        assert reply.status_code == 404
        assert "has signed in here yet" in reply.json()["error"]
        assert ann.ask("POST", path, login="", role="maintainer").status_code == 404
        assert ann.ask("POST", path, login="x", role="king").status_code == 400

    def test_a_user_can_create_an_organization_and_becomes_its_owner(self, ann: Person) -> None:
        made = ann.ask("POST", "/organizations", name="acme").json()
        assert (made["name"], made["personal"], made["role"]) == ("acme", False, "owner")
        assert made in ann.get_json("/me")["organizations"]
        assert ann.ask("POST", "/organizations", name="acme").status_code == 409
        assert ann.ask("DELETE", f"/organizations/{made['id']}").json() == {"ok": True}
        assert made not in ann.get_json("/me")["organizations"]


class TestInvalidRequests:
    def test_an_invalid_setting_is_400_and_changes_nothing(self, shop: Shop) -> None:
        before = shop.get_json()
        settings: dict[str, list[Any]] = {
            "name": ["", " x", "x" * 101, 5],
            "policy": ["never", None, "retain_days"],
            "retain_days": [0, "7", True, 10**30],
            "repository": ["javascript:alert(1)", None],
            "keep_baselines": [0, "7", True, None],
            "uploads_per_minute": [0, 10_001, "7", True],
        }
        for name, values in settings.items():
            for value in values:
                reply = shop.ask("PATCH", "", **{name: value})
                assert (reply.status_code, set(reply.json())) == (400, {"error"}), (name, value)
        assert shop.get_json() == before

    @pytest.mark.parametrize(
        ("path", "body", "status"),
        [
            ("/projects", {"name": "x", "organization_id": "nobody's"}, 404),
            ("/projects", {"name": "x", "organization_id": None}, 400),
            ("/projects", {}, 400),
            ("/organizations", {"name": ""}, 400),
            *(("/projects/{}/tokens", {"label": label}, 400) for label in (None, 5, "x" * 201, "a\nb")),
            *(
                ("/projects/{}/thumbnails", {"ids": ids}, 400)
                for ids in (None, "x", ["x"], [1], ["0" * 32] * 25, {})
            ),
        ],
    )
    def test_an_invalid_value_is_refused(
        self, shop: Shop, path: str, body: dict[str, object], status: int
    ) -> None:
        reply = shop.ann.ask("POST", path.format(shop.project), **body)
        assert (reply.status_code, set(reply.json())) == (status, {"error"})

    @pytest.mark.parametrize(
        "path",
        [
            "/projects?after=x",
            "/projects/{}/pulls/1/shots?after=x",
            "/projects/{}/pulls?state=ajar",
            f"/projects/{{}}/pulls?q={'x' * 201}",
            "/projects/{}/would-expire?policy=x",
            "/projects/{}/would-expire?retain_days=x",
            *(f"/projects/{{}}/usage?days={days}" for days in ("0", "367", "x", "-1", "")),
        ],
    )
    def test_an_invalid_query_is_400(self, shop: Shop, path: str) -> None:
        reply = shop.ann.ask("GET", path.format(shop.project))
        assert (reply.status_code, set(reply.json())) == (400, {"error"})

    def test_a_wrong_method_is_405_and_an_unknown_route_is_404(self, ann: Person) -> None:
        reply = ann.request("PUT", "/v1/dashboard/me")
        assert (reply.status_code, reply.json()) == (405, {"error": "method not allowed"})
        assert ann.get("/v1/dashboard/nothing").status_code == 404


class TestComparison:
    def push(self, shop: Shop, name: str, image: bytes) -> str:
        return uploaded(shop.ci, image, name=name, commit_sha=sha("push"), viewport="320x240", theme="dark")

    def compare(self, shop: Shop, base: str, **more: object) -> dict[str, Any]:
        asked = {"pr_number": 7, "commit_sha": sha("push"), "branch": "main", "commits": [sha(base)]}
        return dict(shop.ci.post("/v1/compare", json=asked | more, timeout=60).json())

    def test_comparison_has_both_images_and_the_public_verdicts(self, shop: Shop) -> None:
        plain, red = drawn_page(), drawn_page(button="red")
        for name in ("cart", "gone", "same"):
            as_baseline(shop.ci, "base", name, plain)
        shop.ci.post("/v1/baseline/complete", json={"branch": "main", "commit_sha": sha("base")})
        for name, image in {"cart": red, "added": red, "same": plain}.items():
            self.push(shop, name, image)
        public = self.compare(shop, "base", complete=True)
        found = shop.get_json("/pulls/7/comparison")["comparison"]
        of_run = ("commit_sha", "branch", "base_commit", "state", "counts", "groups")
        assert [found[name] for name in of_run] == [public[name] for name in of_run]
        assert found["missing"] == 0
        (listed,) = shop.get_json("/pulls")["pulls"]
        assert listed["comparison"] == {name: public[name] for name in ("commit_sha", "state", "counts")}
        of_shot = ("name", "theme", "verdict", "pixels", "regions", "diff_url")
        for shot, same in zip(found["shots"], public["shots"], strict=True):
            assert [shot[name] for name in of_shot] == [same[name] for name in of_shot]
            urls = [image and image["url"] for image in (shot["before"], shot["after"])]
            assert urls == [same["before_url"], same["view_url"]]
        assert [shot["verdict"] for shot in found["shots"]] == ["changed", "new", "removed", "unchanged"]
        ids = [found["shots"][0][side]["id"] for side in ("before", "after")]
        made = shop.ask("POST", "/thumbnails", ids=ids).json()["thumbnails"]
        assert [httpx.get(made[each]).status_code for each in ids] == [200, 200]

    def test_comparison_is_304_until_something_in_it_changes(self, shop: Shop) -> None:
        as_baseline(shop.ci, "base", "cart", drawn_page())
        image = self.push(shop, "cart", drawn_page())
        url = f"{shop.url}/pulls/7/comparison"
        assert shop.ann.get(url).json() == {"comparison": None, "siblings": []}
        self.compare(shop, "base")
        first = shop.ann.get(url)
        has = {"If-None-Match": first.headers["etag"]}
        again = shop.ann.get(url, headers=has)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == first.headers["etag"]
        made = shop.ask("POST", "/thumbnails", ids=[image]).json()["thumbnails"]
        changed = shop.ann.get(url, headers=has)
        assert changed.json()["comparison"]["shots"][0]["after"]["thumbnail_url"] == made[image]
        assert changed.headers["etag"] != first.headers["etag"]

    def test_comparison_counts_missing_shots_and_marks_other_bases(self, shop: Shop) -> None:
        for name in ("cart", "home", "about"):
            as_baseline(shop.ci, "base", name, drawn_page())
        self.push(shop, "cart", drawn_page())
        said = []
        for commit in ("base", "other"):
            self.compare(shop, commit)
            found = shop.get_json("/pulls/7/comparison")["comparison"]
            said.append((found["state"], found["missing"], found["shots"][0]["ancestor"]))
        assert said == [("incomplete", 2, True), ("compared", 0, False)]


def test_baselines_are_listed_newest_first(shop: Shop) -> None:
    image = drawn_page()
    as_baseline(shop.ci, "one", "cart", image)
    as_baseline(shop.ci, "one", "home", image)
    as_baseline(shop.ci, "two", "cart", image, branch="next")
    shop.ci.post("/v1/baseline/complete", json={"branch": "main", "commit_sha": sha("one")})
    found = shop.get_json("/baselines")
    assert sorted(found["branches"]) == ["main", "next"]
    assert [
        (each["branch"], each["commit_sha"], each["shots"], each["bytes"], each["complete"])
        for each in found["commits"]
    ] == [
        ("next", sha("two"), 1, len(image), False),
        ("main", sha("one"), 2, 2 * len(image), True),
    ]
    of_main = shop.get_json("/baselines?branch=main")
    assert [each["commit_sha"] for each in of_main["commits"]] == [sha("one")]
    assert shop.get_json("/baselines?branch=nowhere")["commits"] == []


def test_the_history_of_a_shot_joins_commits_that_share_an_image(shop: Shop) -> None:
    for commit in ("one", "two", "three"):
        as_baseline(shop.ci, commit, "cart", drawn_page(button="red" if commit == "three" else "blue"))
    of_shot = "/baselines/history?branch=main&name=cart&viewport=320x240&theme=dark"
    newest, oldest = shop.get_json(of_shot)["periods"]
    assert (newest["first_commit"], newest["last_commit"]) == (sha("three"), sha("three"))
    assert (oldest["first_commit"], oldest["last_commit"], oldest["commits"]) == (sha("one"), sha("two"), 2)
    assert httpx.get(oldest["image"]["url"]).content == drawn_page(button="blue")
    past_the_end = base64.urlsafe_b64encode(b"[0]").decode()
    assert shop.get_json(f"{of_shot}&after={past_the_end}")["periods"] == []
    assert shop.get_json(of_shot.replace("dark", "light")) == {"periods": [], "next": None}


def test_staged_images_are_listed_newest_first_and_can_be_deleted(shop: Shop) -> None:
    image = drawn_page()
    cart = stage(shop.ci, "cart", image=image)
    home = stage(shop.ci, "home", "next", image=image, before=drawn_page(button="red"))
    found = shop.get_json("/staged")
    assert [(each["image"]["id"], each["branch"], each["repository"]) for each in found["staged"]] == [
        (home, "next", ""),
        (cart, "fix", ""),
    ]
    assert [bool(each["before"]) for each in found["staged"]] == [True, False]
    assert found["staged"][0]["expires_at"] - found["staged"][0]["image"]["uploaded_at"] == 7 * 86_400
    assert shop.ask("DELETE", f"/images/{home}").status_code == 200
    assert len(shop.get_json("/staged")["staged"]) == 1


def as_baseline(ci: httpx.Client, commit: str, name: str, image: bytes, branch: str = "main") -> None:
    about = {"name": name, "viewport": "320x240", "theme": "dark", "commit_sha": sha(commit)}
    uploaded(ci, image, path="/v1/baseline", branch=branch, **about)


def stage(ci: httpx.Client, name: str, branch: str = "fix", **files: bytes) -> str:
    return uploaded(ci, path="/v1/staged", name=name, branch=branch, **files)
