"""The API routes for baselines, comparison, the comment's views, and what a client says about a pull request."""

import hashlib
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PIL import Image

from support.drawn_pages import HEIGHT, WIDTH, drawn_page, sha
from support.project_client import Project
from support.service import Service, png, upload

PLAIN = drawn_page()
RED = drawn_page(button="#d70022")


@pytest.fixture
def project(shared_service: Service) -> Iterator[Project]:
    with shared_service.client(shared_service.new_token()) as client:
        yield Project(client)


def verdicts(reply: dict[str, Any]) -> dict[str, str]:
    return {shot["name"]: shot["verdict"] for shot in reply["shots"]}


class TestBaselines:
    def test_equal_bytes_of_a_shot_are_one_image(self, project):
        first, again = (
            upload(project.client, PLAIN, path="/v1/baseline", commit_sha=sha(commit), branch="main")
            for commit in ("1", "2")
        )
        assert again.json() == first.json()

    def test_known_records_shots_that_the_service_has(self, project):
        project.build("1", cart=PLAIN)
        known, unknown = (
            {"name": name, "viewport": "320x240", "theme": "", "sha256": hashlib.sha256(PLAIN).hexdigest()}
            for name in ("cart", "home")
        )
        body = {"branch": "main", "commit_sha": sha("2"), "shots": [known, unknown]}
        reply = project.client.post("/v1/baseline/known", json=body)
        assert reply.json() == {
            "branch": "main",
            "commit_sha": sha("2"),
            "recorded": 1,
            "missing": [unknown],
        }
        assert project.complete("2")["shots"] == 1

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"branch": None}, "branch required"),
            ({"commit_sha": "0123456"}, "commit_sha required"),
            *(
                ({"shots": shots}, "shots must be a list of at most 1,000 objects")
                for shots in ("cart", ["cart"], [{}] * 1001)
            ),
            ({"shots": [{"viewport": "1x1"}]}, "name required"),
            ({"shots": [{"name": "a", "viewport": 7}]}, "viewport must be like 1280x800"),
            ({"shots": [{"name": "a", "viewport": "1x1", "theme": 7}]}, "theme must be light or dark"),
            (
                {"shots": [{"name": "a", "viewport": "1x1", "sha256": "A" * 64}]},
                "sha256 must be 64 lower-case hexadecimal characters",
            ),
        ],
    )
    def test_known_refuses_bad_input(self, project, changes, error):
        body = {"branch": "main", "commit_sha": sha("2"), "shots": []} | changes
        reply = project.client.post("/v1/baseline/known", json=body)
        assert (reply.status_code, reply.json()) == (400, {"error": error})

    def test_known_accepts_a_thousand_long_names(self, project):
        shots = [
            {"name": "\N{GRINNING FACE}" * 190 + str(number), "viewport": "1x1", "sha256": "0" * 64}
            for number in range(1000)
        ]
        body = {"branch": "main", "commit_sha": sha("2"), "shots": shots}
        reply = project.client.post("/v1/baseline/known", content=json.dumps(body))
        assert reply.json()["recorded"] == 0


class TestKnownUploads:
    def test_a_known_image_takes_part_as_if_it_had_been_uploaded(self, project):
        project.build("1", complete=True, same=PLAIN, button=PLAIN)
        project.push("p", button=RED)
        missing = [{"name": name, "viewport": "320x240", "theme": ""} for name in ("added", "other")]
        assert project.known("p", same=PLAIN, added=PLAIN, other=RED) == {"known": 1, "missing": missing}
        assert verdicts(project.compare("p", "1", complete=True)) == {
            "button": "changed",
            "same": "unchanged",
        }
        # The next push has both, and the first commit stays as it is.
        assert project.known("q", same=PLAIN, button=RED) == {"known": 2, "missing": []}
        assert project.known("q", same=PLAIN, button=RED) == {"known": 2, "missing": []}
        reply = project.compare("q", "1", complete=True)
        assert verdicts(reply) == {"button": "changed", "same": "unchanged"}
        for shot in reply["shots"]:
            for url in (shot["view_url"], shot["before_url"], shot["diff_url"]):
                assert url is None or httpx.get(url).status_code == 200
        latest = project.comment("latest")
        assert "same" in latest
        assert sha("q")[:7] in latest
        assert project.comment().count("![") == 1  # only the upload
        closed = project.expire()
        assert (closed["marked"], closed["expired"]) == (4, 4)
        changed = next(shot for shot in reply["shots"] if shot["name"] == "button")
        assert {httpx.get(changed[field]).status_code for field in ("view_url", "diff_url")} == {410}
        assert httpx.get(changed["before_url"]).status_code == 200
        assert project.known("q", button=RED)["known"] == 0

    def test_a_merged_reference_becomes_a_separate_baseline(self, project):
        project.build("1", complete=True, cart=PLAIN)
        project.push("p", cart=RED)
        project.known("q", cart=RED)
        project.compare("q", "1", complete=True)
        merged = {"pr_number": 7, "merged_as": sha("2"), "branch": "main"}
        assert project.client.post("/v1/expire", json=merged).json()["baselines"] == 1
        project.pr_number = 8
        assert project.known("r", cart=RED)["known"] == 1
        reply = project.compare("r", "2")
        assert verdicts(reply) == {"cart": "unchanged"}
        assert httpx.get(reply["shots"][0]["view_url"]).content == RED

    def test_images_of_other_pull_requests_and_shots_are_unknown(self, project):
        project.push("p", cart=PLAIN)
        assert project.known("q", home=PLAIN)["known"] == 0
        project.pr_number = 8
        assert project.known("q", cart=PLAIN)["known"] == 0

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"pr_number": "7"}, "pr_number required"),
            ({"commit_sha": "012345"}, "commit_sha required"),
            ({"shots": [{}] * 1001}, "shots must be a list of at most 1,000 objects"),
            ({"shots": [{"viewport": "1x1"}]}, "name required"),
        ],
    )
    def test_bad_input_is_refused(self, project, changes, error):
        body = {"pr_number": 7, "commit_sha": sha("2"), "shots": []} | changes
        reply = project.client.post("/v1/upload/known", json=body)
        assert (reply.status_code, reply.json()) == (400, {"error": error})


class TestVerdicts:
    def test_compare_returns_each_verdict_with_its_fields(self, project):
        project.build("1", complete=True, same=PLAIN, encoded=PLAIN, button=PLAIN, banner=PLAIN, gone=PLAIN)
        project.push(
            "p",
            same=PLAIN,
            encoded=drawn_page(encoding="JPEG"),
            button=drawn_page(button="#0064e6"),
            banner=drawn_page(banner=24),
            added=PLAIN,
        )
        reply = project.compare("p", "1", complete=True)
        assert verdicts(reply) == {
            "button": "changed",
            "banner": "changed",
            "added": "new",
            "gone": "removed",
            "encoded": "unchanged",
            "same": "unchanged",
        }
        assert [shot["verdict"] for shot in reply["shots"]] == [
            *("changed", "changed", "new", "removed", "unchanged", "unchanged")
        ]
        assert reply["counts"] == {"changed": 2, "moved": 0, "new": 1, "removed": 1, "unchanged": 2}
        assert (reply["state"], reply["base_commit"], reply["branch"]) == ("compared", sha("1"), "main")
        shots = {shot["name"]: shot for shot in reply["shots"]}
        button = shots["button"]
        assert set(button) == {
            *("name", "viewport", "theme", "verdict", "pixels", "regions", "shift"),
            *("view_url", "before_url", "diff_url", "base_commit"),
            *("pixels_before", "pixels_after", "closeups", "review", "group"),
            *("gone", "moves", "colors", "groups", "parts"),
        }
        assert button["pixels"] > 1000
        ((left, top, width, height),) = button["regions"]
        assert (left, top) == pytest.approx((20, 180), abs=4)
        assert (width, height) == pytest.approx((101, 31), abs=8)
        assert httpx.get(button["before_url"]).content == PLAIN
        assert Image.open(io.BytesIO(httpx.get(button["diff_url"]).content)).size == (WIDTH, HEIGHT)
        (closeup,) = button["closeups"]
        assert closeup["region"] == button["regions"][0]
        served = httpx.get(closeup["url"])
        assert (served.headers["content-type"], served.content[:4]) == ("image/png", b"\x89PNG")
        plain = button["pixels_before"]
        assert {name: shot["pixels_before"] for name, shot in shots.items()} == {
            **dict.fromkeys(shots, plain),
            "added": "",
        }
        after = {name: shot["pixels_after"] for name, shot in shots.items()}
        assert (after["same"], after["added"], after["gone"]) == (plain, plain, "")
        assert len({after[name] for name in ("same", "encoded", "button", "banner")}) == 4
        assert [len(shots[name]["closeups"]) for name in ("banner", "added", "gone", "same")] == [1, 0, 0, 0]
        assert shots["banner"]["shift"] == shots["banner"]["moves"][0][5] == 24
        (part,) = button["parts"]
        boxes = {"regions": [0], "gone": [], "closeup": 0}
        assert part == {"group": button["group"], **boxes, "review": "open", "by": []}
        assert button["groups"] == [button["group"]]
        assert shots["encoded"]["diff_url"] is None
        assert (shots["added"]["before_url"], shots["added"]["base_commit"]) == (None, None)
        assert (shots["gone"]["view_url"], shots["gone"]["before_url"] is None) == (None, False)
        latest = project.client.get("/v1/compare", params={"pr_number": project.pr_number})
        assert latest.json() == reply

    def test_broken_picture_fails_only_its_own_shot(self, project):
        project.build("1", cart=PLAIN, home=PLAIN)
        project.push("p", cart=png(), home=drawn_page(button="red"))
        reply = project.compare("p", "1")
        assert (reply["state"], verdicts(reply)) == ("compared", {"home": "changed", "cart": "failed"})
        assert reply["counts"]["failed"] == 1
        assert reply["shots"][1]["reason"]


class TestBases:
    def test_state_is_no_baseline_if_there_are_none(self, project):
        project.push("p", cart=PLAIN)
        reply = project.compare("p", "1", complete=True)
        assert (reply["state"], reply["shots"], reply["base_commit"]) == ("no_baseline", [], None)
        assert set(reply["counts"].values()) == {0}

    def test_newest_baseline_is_used_if_no_listed_commit_has_the_shot(self, project):
        project.build("1", cart=PLAIN)
        project.push("p", cart=drawn_page(button="red"), other=PLAIN)
        shots = {shot["name"]: shot for shot in project.compare("p", "2")["shots"]}
        assert (shots["cart"]["verdict"], shots["cart"]["ancestor"]) == ("changed", False)
        assert shots["other"]["verdict"] == "new"
        assert "ancestor" not in shots["other"]

    def test_shot_is_removed_only_if_both_runs_are_complete(self, project):
        def removed(commit: str, **fields: object) -> tuple[int, str]:
            reply = project.compare(commit, "1", **fields)
            return reply["counts"]["removed"], reply["state"]

        project.build("1", cart=PLAIN, home=PLAIN)
        for commit in ("p", "q"):
            project.push(commit, cart=PLAIN)
        assert removed("p", complete=False) == (0, "incomplete")
        assert removed("p", complete=True) == (0, "compared")
        project.complete("1")
        assert removed("p", complete=True) == (1, "compared")
        assert removed("p") == (1, "compared")  # remembered for the commit
        assert removed("q") == (0, "incomplete")


BAD_QUEUED_PULLS = "queued_pulls must be a list of at most 50 pull request numbers"
BAD_COMMITS = "commits must be a list of at most 200 commits of 40 hexadecimal characters"


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"pr_number": "7"}, "pr_number required"),
            ({"commit_sha": "xyz"}, "commit_sha required"),
            ({"branch": ""}, "branch required"),
            ({"branch": "a\0b"}, "the body must contain valid Unicode without NUL characters"),
            ({"commits": ["0123456"]}, BAD_COMMITS),
            ({"commits": ["0" * 40] * 201}, BAD_COMMITS),
            ({"queued_pulls": 7}, BAD_QUEUED_PULLS),
            ({"queued_pulls": ["7"]}, BAD_QUEUED_PULLS),
            ({"queued_pulls": [7] * 51}, BAD_QUEUED_PULLS),
            ({"complete": "yes"}, "complete must be true or false"),
        ],
    )
    def test_compare_refuses_bad_input(self, project, changes, error):
        reply = project.asked("p", **changes)
        assert (reply.status_code, reply.json()) == (400, {"error": error})

    def test_missing_comparison_is_404(self, project):
        reply = project.client.get("/v1/compare", params={"pr_number": project.pr_number})
        assert (reply.status_code, reply.json()) == (404, {"error": "not found"})
        assert project.client.get("/v1/compare").json() == {"error": "pr_number required"}

    def test_commit_without_images_is_incomplete(self, project):
        project.build("1", cart=PLAIN)
        for commits, complete in ([("1",), False], [(), False], [(), True]):
            reply = project.compare("p", *commits, complete=complete)
            assert (reply["state"], reply["shots"]) == ("incomplete", [])

    def test_a_commit_without_images_never_replaces_one_with_images(self, project):
        project.build("1", complete=True, cart=PLAIN)
        project.push("p", cart=RED)
        for complete in (False, True):
            assert project.compare("p", "1")["counts"]["changed"] == 1
            assert project.compare("empty", "1", complete=complete)["counts"]["changed"] == 0
            latest = project.client.get("/v1/compare", params={"pr_number": project.pr_number}).json()
            assert (latest["commit_sha"], latest["counts"]["changed"]) == (sha("p"), 1)
        assert "1 changed" in project.comment("changes")


class TestTheEnd:
    def test_expiry_also_deletes_the_difference(self, project):
        project.build("1", cart=PLAIN)
        project.push("p", cart=drawn_page(button="red"))
        (shot,) = project.compare("p", "1")["shots"]
        project.client.post("/v1/expire", json={"pr_number": project.pr_number})
        (closeup,) = shot["closeups"]
        for url, status in (
            (shot["view_url"], 410),
            (shot["diff_url"], 410),
            (closeup["url"], 410),
            (shot["before_url"], 200),
        ):
            assert httpx.get(url).status_code == status
        assert project.client.get("/v1/compare", params={"pr_number": project.pr_number}).status_code == 404

    def test_a_merged_pull_request_leaves_baselines(self, project):
        project.build("1", cart=PLAIN, home=PLAIN)
        project.push("p", cart=drawn_page(button="red"), home=PLAIN, added=drawn_page("added"))
        shots = {shot["name"]: shot for shot in project.compare("p", "1")["shots"]}
        reply = project.client.post(
            "/v1/expire",
            json={"pr_number": project.pr_number, "merged_as": sha("merge"), "branch": "main"},
        )
        assert reply.json() == {
            "pr_number": project.pr_number,
            "policy": "pr_close",
            "marked": 3,
            "expired": 3,
            "baselines": 2,
        }
        assert httpx.get(shots["cart"]["view_url"]).status_code == 410
        project.pr_number = 8
        project.push("q", cart=drawn_page(button="red"), home=PLAIN, added=drawn_page("added"))
        assert project.compare("q", "merge", "1")["counts"]["unchanged"] == 3
        project.build("merge", cart=drawn_page(button="green"))
        assert verdicts(project.compare("q", "merge", "1"))["cart"] == "changed"

    @pytest.mark.parametrize("merged_as", ["0123456", 7, ["0" * 40]])
    def test_a_bad_merge_commit_expires_nothing(self, project, merged_as):
        project.push("p", cart=PLAIN)
        body = {"pr_number": project.pr_number, "merged_as": merged_as}
        reply = project.client.post("/v1/expire", json=body)
        assert reply.json() == {"error": "merged_as must be 40 hexadecimal characters"}
        assert project.comment("latest").count("<img") == 1


def test_latest_shows_each_shot_and_changes_a_close_up(project):
    project.build("1", cart=PLAIN, home=PLAIN)
    for commit, button in (("old", "blue"), ("new", "red")):
        project.push(commit, cart=drawn_page(button=button), home=PLAIN)
    latest = project.comment("latest")
    assert latest.splitlines()[0] == f"<!-- svc:pr-{project.pr_number} -->"
    assert re.fullmatch("<!-- prshots:[0-9a-f]{16} -->", latest.splitlines()[1])
    assert latest.splitlines()[2] == "### 2 screenshots"
    assert latest.count("<img") == 2
    assert f"/prs/{project.pr_number})" in latest
    assert "prshots compare" in project.comment("changes")
    compared = project.compare("new", "1")
    changes = project.comment("changes")
    assert changes.splitlines()[2] == "### 2 screenshots: 1 changed, 1 unchanged"
    assert f"?group={compared['groups'][0]['id']})" in changes
    assert compared["shots"][0]["closeups"][0]["url"].replace("&", "&amp;") in changes
    assert changes.count("<img") == 1


class TestPairs:
    def test_a_pair_is_compared_without_baselines(self, project):
        project.push("one", before=PLAIN, cart=RED)
        found = project.compare("one")
        (shot,) = found["shots"]
        assert (found["state"], found["base_commit"], found["pairs"]) == ("compared", None, 1)
        assert (shot["verdict"], shot["pair"], shot["base_commit"]) == ("changed", "manual", None)
        assert {"ancestor", "commit_sha"}.isdisjoint(shot)
        assert httpx.get(shot["before_url"]).content == PLAIN
        assert httpx.get(shot["view_url"]).content == RED
        assert httpx.get(shot["diff_url"]).status_code == 200
        comment = project.comment("changes")
        assert "before and after uploaded together" in comment
        assert shot["closeups"][0]["url"].replace("&", "&amp;") in comment

    def test_a_merge_adopts_a_pair_only_if_the_branch_has_its_shot(self, project):
        project.build("base", cart=PLAIN)
        project.push("one", before=PLAIN, cart=RED, by_hand=RED)
        project.compare("one", "base")
        merged = {"pr_number": project.pr_number, "merged_as": sha("merge"), "branch": "main"}
        assert project.client.post("/v1/expire", json=merged).json()["baselines"] == 1
        project.push("two", cart=RED, by_hand=RED)
        found = project.compare("two", "merge", "base")
        assert verdicts(found) == {"cart": "unchanged", "by_hand": "new"}


class TestPullRequests:
    def test_pull_accepts_what_the_client_knows_about_a_pull_request_with_images(self, project):
        project.push("p", cart=PLAIN)
        body = {
            "pr_number": project.pr_number,
            "repository": "https://github.com/acme/shop",
            "url": "https://github.com/acme/shop/pull/7",
            "title": "Fix the\ncart " + "x" * 400,
            "author": "ann",
        }
        reply = project.client.post("/v1/pull", json=body)
        assert reply.status_code == 200
        assert reply.json()["dashboard_url"].endswith(f"/prs/{project.pr_number}")
        nothing_new = project.client.post("/v1/pull", json={"pr_number": project.pr_number})
        assert nothing_new.status_code == 200
        assert project.client.post("/v1/pull", json={"pr_number": 9999}).status_code == 404

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"pr_number": 0}, "pr_number required"),
            ({"repository": "javascript:alert(1)"}, "repository takes a web address"),
            ({"repository": "https://user:pass@forge.example/a"}, "repository takes a web address"),
            ({"title": 7}, "title must be a string"),
        ],
    )
    def test_pull_refuses_bad_input(self, project, changes, error):
        body = {"pr_number": 1, "repository": "https://forge.example/acme/shop"} | changes
        reply = project.client.post("/v1/pull", json=body)
        assert reply.status_code == 400
        assert error in reply.json()["error"]
