"""The API routes for staged images."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.drawn_pages import drawn_page, sha
from support.service import Service, png, upload

WEEK = 7 * 86_400
IMAGE = png()
FORM = {"name": "cart", "viewport": "320x240", "commit_sha": sha("1"), "branch": "fix"}
BAD_REPOSITORY = "repository must be owner/name, at most 255 characters"


class Project:
    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def stage(self, name: str = "cart", image: bytes = IMAGE, **fields: object) -> httpx.Response:
        return upload(self.client, image, path="/v1/staged", **FORM | {"name": name} | fields)

    def staged(self, **asked: str) -> list[dict[str, Any]]:
        reply = self.client.get("/v1/staged", params={"branch": "fix"} | asked)
        assert reply.status_code == 200, reply.text
        return list(reply.json()["staged"])

    def move(self, pr_number: int = 7, *, from_fork: bool = False, **changes: object) -> httpx.Response:
        asked = {"branch": "fix", "pr_number": pr_number, "repository": "acme/shop", "from_fork": from_fork}
        return self.client.post("/v1/staged/move", json=asked | changes)

    def comment(self, pr_number: int = 7) -> str:
        return str(self.client.get("/v1/comment", params={"pr_number": pr_number}).json()["markdown"])


@pytest.fixture
def project(shared_service: Service) -> Iterator[Project]:
    with shared_service.client(shared_service.new_token()) as client:
        yield Project(client)


INVALID_FORM = "invalid multipart/form-data body"
NOT_A_PNG = "declared image/png, but the file content is not a valid PNG"


@pytest.mark.parametrize("path", ["/v1/staged", "/v1/baseline"])
@pytest.mark.parametrize(
    ("fields", "image", "refusal"),
    [
        ({}, None, (400, INVALID_FORM)),
        ({"name": "", "branch": ""}, IMAGE, (400, "name required")),
        ({"branch": "", "commit_sha": ""}, IMAGE, (400, "branch required")),
        ({"branch": "x" * 256}, IMAGE, (400, "branch required")),
        ({"commit_sha": "012345", "viewport": ""}, IMAGE, (400, "commit_sha required")),
        ({"viewport": "wide", "theme": "blue"}, IMAGE, (400, "viewport must be like 1280x800")),
        ({"theme": "blue"}, png(5 * 1024 * 1024), (400, "theme must be light or dark")),
        ({}, png(5 * 1024 * 1024), (413, "payload too large (max 5MB)")),
        ({}, b"not a picture", (415, NOT_A_PNG)),
    ],
)
def test_staged_images_and_baselines_are_checked_in_the_order_of_an_upload(
    project, path, fields, image, refusal
):
    files = None if image is None else {"image": ("shot.png", image, "image/png")}
    reply = project.client.post(path, data=FORM | fields, files=files)
    assert (reply.status_code, reply.json()["error"]) == refusal
    assert project.staged() == []


def test_a_baseline_needs_the_whole_commit(project):
    reply = upload(project.client, path="/v1/baseline", **FORM | {"commit_sha": "0123456"})
    assert (reply.status_code, reply.json()) == (400, {"error": "commit_sha required"})


class TestStage:
    @pytest.mark.parametrize("repository", ["shop", "a/" + "x" * 254])
    def test_bad_repository_is_refused_before_the_commit_is_checked(self, project, repository):
        reply = project.stage(repository=repository, commit_sha="")
        assert (reply.status_code, reply.json()) == (400, {"error": BAD_REPOSITORY})

    def test_reply_has_the_fields_of_an_upload_and_the_expiry(self, project, shared_service):
        before = int(time.time())
        reply = project.stage().json()
        assert set(reply) == {"id", "view_url", "markdown", "expires_at", "dashboard_url"}
        assert httpx.get(reply["view_url"]).content == IMAGE
        assert reply["markdown"] == f"![cart]({reply['view_url']})"
        assert before + WEEK <= reply["expires_at"] <= int(time.time()) + WEEK
        assert reply["dashboard_url"].startswith(f"{shared_service.web_url}/projects/")


class TestList:
    def test_list_has_the_images_of_the_branch(self, project):
        first, second = project.stage().json(), project.stage("home", theme="dark").json()
        project.stage(branch="other")
        shots = project.staged()
        assert [shot["id"] for shot in shots] == [first["id"], second["id"]]
        about = {"name": "home", "viewport": "320x240", "theme": "dark", "commit_sha": sha("1")}
        assert shots[1] == second | about

    @pytest.mark.parametrize("query", ["", "branch=", "branch=a&branch=b", "branch=a%00b"])
    def test_list_without_exactly_one_valid_branch_is_400(self, project, query):
        reply = project.client.get(f"/v1/staged?{query}")
        assert reply.status_code == 400

    def test_another_project_sees_and_moves_nothing(self, project, shared_service):
        project.stage()
        with shared_service.client(shared_service.new_token()) as client:
            stranger = Project(client)
            assert stranger.staged() == []
            assert stranger.move().json() | {"moved": 0, "kept": 0} == stranger.move().json()
        assert len(project.staged()) == 1


class TestPair:
    def test_before_image_is_staged_and_moved_with_its_image(self, project):
        before = drawn_page()
        reply = project.stage(image=drawn_page(button="red"), before=before).json()
        assert httpx.get(reply["before_url"]).content == before
        (shot,) = project.staged()
        assert shot["before_url"] == reply["before_url"]
        assert project.move().json()["moved"] == 1
        asked = {"pr_number": 7, "commit_sha": sha("1"), "branch": "main"}
        (compared,) = project.client.post("/v1/compare", json=asked, timeout=60).json()["shots"]
        assert (compared["pair"], compared["verdict"]) == ("manual", "changed")
        assert compared["before_url"] == reply["before_url"]

    def test_bad_before_image_stages_nothing(self, project):
        assert project.stage(before=b"text").status_code == 415
        assert project.staged() == []


class TestMove:
    def test_image_is_in_the_comment_only_after_it_is_moved_and_keeps_its_url(self, project):
        staged = project.stage().json()
        upload(project.client, name="own", pr_number=7)
        assert "1 screenshot" in project.comment()
        assert "cart" not in project.comment()
        moved = {"branch": "fix", "pr_number": 7, "moved": 1, "kept": 0, "reason": ""}
        assert project.move().json() == moved
        assert staged["view_url"] in project.comment()
        assert httpx.get(staged["view_url"]).content == IMAGE
        assert project.staged() == []

    @pytest.mark.parametrize("repository", ["", "acme/shop", "eve/shop"])
    def test_nothing_moves_to_a_pull_request_from_a_fork(self, project, repository):
        """Anyone can name a branch of their fork like ours."""
        project.stage("ours")
        project.stage("theirs", repository="eve/shop")
        reply = project.move(repository=repository, from_fork=True).json()
        assert (reply["moved"], reply["kept"]) == (0, 2)
        assert reply["reason"].startswith("the pull request comes from a fork")
        assert len(project.staged()) == 2

    def test_images_of_a_fork_never_move_to_our_pull_request(self, project):
        project.stage("ours")
        project.stage("named", repository="Acme/Shop")
        project.stage("theirs", repository="eve/shop")
        reply = project.move().json()
        assert (reply["moved"], reply["kept"]) == (2, 1)
        assert reply["reason"] == "the others are staged for a branch of the same name in another repository"
        assert [shot["name"] for shot in project.staged()] == ["theirs"]
        assert "theirs" not in project.comment()

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"branch": ""}, "branch required"),
            ({"branch": None}, "branch required"),
            ({"repository": 7}, BAD_REPOSITORY),
            ({"pr_number": 0}, "pr_number required"),
            ({"from_fork": None}, "from_fork must be true or false"),
        ],
    )
    def test_bad_input_moves_nothing(self, project, changes, error):
        project.stage()
        reply = project.move(**changes)
        assert (reply.status_code, reply.json()) == (400, {"error": error})
        assert len(project.staged()) == 1
