"""`prshots comment` and `prshots expire` in a workflow, against the service and a GitHub look-alike."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from prshots.client import post_comment
from prshots.forges import sender
from support.clients import CLIENTS, NODE_NIGHTLY, ONLY_PYTHON, run_process, runner_of
from support.forges.look_alikes import GitHubLookAlike
from support.pytest_jobs import Job, job_of, write_event
from support.service import SHA, Service, png, upload
from support.unreliable_proxy import CUT, UnreliableProxy, refuse

KEPT = ("PATH", "HOME", "TMPDIR", "LANG")


@dataclass
class Workflow:
    """A GitHub Actions job for one pull request, on a runner with no other variables."""

    service: Service
    github: GitHubLookAlike
    job: Job
    client: httpx.Client
    client_name: str
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def pr_number(self) -> int:
        return self.job.pr_number

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        run = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_RUN_ID": "42"}
        return kept | self.job.environ | run | self.settings

    def run(self, *args: str, code: int = 0) -> tuple[str, str]:
        """Run the command as a process, and return its standard output and error. Neither has a secret."""
        done = run_process(self.client_name, *args, env=self.env)
        assert done.returncode == code, done.stdout + done.stderr
        self.holds_no_secret(done.stdout + done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def here(self, *args: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run the command, the Python one in this process, which takes a tenth of the time."""
        done = runner_of(self.client_name)(*args, env=self.env | settings)
        self.holds_no_secret(done.stdout + done.stderr)
        return done

    def fails(self, *args: str, **settings: str) -> str:
        """Run a command that must fail, and return its error message."""
        done = self.here(*args, **settings)
        assert (done.returncode in {1, 2}, done.stdout) == (True, ""), done.stderr
        message = done.stderr.splitlines()[-1]
        assert message.startswith("prshots: ")
        return message.removeprefix("prshots: ")

    def holds_no_secret(self, text: str) -> None:
        for secret in (self.job.token, "ghs_", "ghp_"):
            assert secret not in text

    def upload(self, name: str = "checkout/cart") -> str:
        reply = upload(self.client, name=name, pr_number=self.pr_number, commit_sha=SHA)
        assert reply.status_code == 200
        return str(reply.json()["view_url"])

    def reuse_a_baseline(self, name: str = "checkout/cart") -> None:
        """Give the pull request the image of a baseline, without an upload."""
        commit, picture = {"commit_sha": "1" * 40}, png()
        baseline = upload(self.client, picture, path="/v1/baseline", branch="main", name=name, **commit)
        assert baseline.status_code == 200
        shot = {"name": name, "viewport": "1280x800", "theme": "", "sha256": sha256(picture).hexdigest()}
        asked = {"pr_number": self.pr_number, **commit, "shots": [shot]}
        assert self.client.post("/v1/upload/known", json=asked).json() == {"known": 1, "missing": []}

    def markdown(self, view: str = "latest") -> str:
        reply = self.client.get("/v1/comment", params={"pr_number": self.pr_number, "view": view})
        return str(reply.json()["markdown"])

    @property
    def head(self) -> str:
        """The invisible lines of the comment: the marker, and the project's."""
        return "\n".join(self.markdown().splitlines()[:2])

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.github.comments(self.pr_number)]

    def proxied(self) -> list[str]:
        """Return the image proxy's addresses of the images in the last comment."""
        last = self.github.comments(self.pr_number)[-1]["id"]
        reply = self.client.get(
            f"{self.github.url}/repos/{self.github.repository}/issues/comments/{last}",
            headers={"Accept": "application/vnd.github.full+json", "Authorization": ""},
        )
        return re.findall(r'<img src="([^"]+)"', reply.json()["body_html"])


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.002)


@pytest.fixture(params=CLIENTS)
def client_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def workflow(
    client_name: str, shared_service: Service, github: GitHubLookAlike, tmp_path: Path
) -> Iterator[Workflow]:
    job = job_of(tmp_path, shared_service, github)
    with shared_service.client(job.token) as client:
        yield Workflow(shared_service, github, job, client, client_name)


def test_each_push_updates_the_same_comment(workflow: Workflow) -> None:
    foreign = f"<!-- svc:pr-{workflow.pr_number} -->\nsomebody's own"
    workflow.github.write(foreign, workflow.pr_number)
    workflow.upload()

    url, said = workflow.run("comment", "--post")
    done, dashboard = said.splitlines()
    assert done == f"Posted the comment on pull request {workflow.pr_number} at GitHub."
    assert re.fullmatch(
        rf"Dashboard: {workflow.service.web_url}/projects/\w+/prs/{workflow.pr_number}", dashboard
    )
    assert workflow.bodies() == [foreign, workflow.markdown()]
    posted = workflow.github.comments(workflow.pr_number)[-1]
    assert url == f"{posted['html_url']}\n"
    assert posted["user"]["login"] == "github-actions[bot]"

    again, said = workflow.run("comment", "--post")
    assert (again, "already up to date" in said) == (url, True)
    assert workflow.github.comments(workflow.pr_number)[-1] == posted

    workflow.upload("checkout/done")
    again, said = workflow.run("comment", "--post")
    assert (again, said.startswith("Updated the comment")) == (url, True)
    assert workflow.bodies() == [foreign, workflow.markdown()]
    assert "### 2 screenshots" in workflow.bodies()[-1]


@pytest.mark.parametrize("client_name", ONLY_PYTHON, indirect=True)
def test_warns_if_a_public_forge_cannot_fetch_the_images(
    workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(post_comment, "kind_of_public_api", lambda api: api == workflow.github.url)
    workflow.upload()
    done = workflow.here("comment", "--post")
    assert done.returncode == 0
    assert "Warning: GitHub can't fetch the images from http://127.0.0.1:" in done.stderr
    assert "set PRSHOTS_IMG_URL on the service" in done.stderr


@pytest.mark.slow
def test_without_write_access_the_error_says_what_to_do_even_for_a_fork(workflow: Workflow) -> None:
    workflow.upload()
    workflow.settings["GITHUB_TOKEN"] = workflow.github.fork_token
    words = workflow.fails("comment", "--post")
    assert "permissions: pull-requests: write" in words
    assert "fork" not in words

    event = Path(workflow.job.environ["GITHUB_EVENT_PATH"])
    write_event(event, workflow.pr_number, workflow.github.repository, head="mallory/shop")
    out, said = workflow.run("comment", "--post", code=1)
    assert out == ""
    assert said.startswith("prshots: this pull request comes from a fork")
    assert said.count("\n") == 1
    assert "workflow_run" in said
    assert workflow.bodies() == []
    assert workflow.here("comment").stdout == workflow.markdown()


def test_expire_removes_images_from_the_comment_and_the_image_proxy(workflow: Workflow) -> None:
    for name in ("a", "b", "c"):
        workflow.upload(name)
    workflow.here("comment", "--post")
    shown = workflow.proxied()
    assert [workflow.client.get(url).status_code for url in shown] == [200, 200, 200]

    out, said = workflow.run("expire", "--post")
    assert out == ""
    assert said == (
        f"Deleted 3 screenshots of pull request {workflow.pr_number}.\n"
        "Updated the comment: it says that the screenshots were deleted.\n"
    )
    gone = (
        f"{workflow.head}\n### Screenshots deleted\n\n"
        "This project deletes screenshots when the pull request closes.\n"
    )
    assert workflow.bodies() == [gone]
    assert set(shown) <= set(workflow.github.purged())
    assert {workflow.client.get(url).status_code for url in shown} == {404}

    again = workflow.here("expire", "--post", "--json")
    assert json.loads(again.stdout) == {
        "pr_number": workflow.pr_number,
        "policy": "pr_close",
        "marked": 0,
        "expired": 0,
        "left": 0,
        "comment": "unchanged",
        "comment_url": workflow.github.comments(workflow.pr_number)[0]["html_url"],
        "description": 0,
        "purged": 0,
        "not_purged": 0,
    }
    workflow.upload("reopened")
    assert "Updated the comment" in workflow.here("comment", "--post").stderr
    assert workflow.bodies() == [workflow.markdown()]


class TestExpire:
    def test_keeps_images_in_the_comment_that_the_policy_keeps(self, workflow: Workflow) -> None:
        token = workflow.service.new_token(policy="manual")
        workflow.settings = {"PRSHOTS_TOKEN": token}
        with workflow.service.client(token) as workflow.client:
            workflow.reuse_a_baseline()
            workflow.here("comment", "--post")
            said = workflow.here("expire", "--post").stderr
            assert "The project's policy, manual, keeps them for now" in said
            assert "Did not change the comment: it still shows 1 screenshot." in said
            assert workflow.bodies() == [workflow.markdown()]
            assert "### 0 screenshots" in workflow.markdown("all")  # none was uploaded, but none is deleted
            assert not set(workflow.proxied()) & set(workflow.github.purged())

    @pytest.mark.parametrize("client_name", NODE_NIGHTLY, indirect=True)
    def test_shows_an_image_that_is_uploaded_meanwhile(self, workflow: Workflow) -> None:
        def reopen(request: str, _: bytes) -> None:
            if request.startswith("GET /v1/comment") and service.count("GET /v1/comment") == 1:
                workflow.upload("reopened")

        workflow.upload()
        workflow.here("comment", "--post")
        with UnreliableProxy(workflow.service.base_url, reopen) as service:
            assert workflow.here("expire", "--post", PRSHOTS_URL=service.url).returncode == 0
        assert "reopened" in workflow.markdown()
        assert workflow.bodies() == [workflow.markdown()]

    @pytest.mark.parametrize("client_name", NODE_NIGHTLY, indirect=True)
    def test_creates_no_comment_and_leaves_another_users_unchanged(self, workflow: Workflow) -> None:
        workflow.upload()
        workflow.github.write(f"<!-- svc:pr-{workflow.pr_number} -->\n### 1 screenshot", workflow.pr_number)
        before = workflow.bodies()
        assert "There is no comment to update" in workflow.here("expire", "--post").stderr
        assert workflow.bodies() == before

    @pytest.mark.parametrize("client_name", NODE_NIGHTLY, indirect=True)
    def test_run_again_after_a_forge_failure_updates_the_comment(self, workflow: Workflow) -> None:
        view_url = workflow.upload()
        workflow.here("comment", "--post")
        with UnreliableProxy(workflow.github.url) as front:
            front.will(CUT, when="PATCH /repos", times=sender.TRIES)
            words = workflow.fails("expire", "--post", GITHUB_API_URL=front.url)
            assert words.startswith("the screenshots are deleted, but the comment could not be changed")
            assert workflow.client.get(view_url).status_code == 410
            assert "<img" in workflow.bodies()[0]

            again = workflow.here("expire", "--post", GITHUB_API_URL=front.url)
        assert "it says that the screenshots were deleted" in again.stderr
        assert "### Screenshots deleted" in workflow.bodies()[0]

    @pytest.mark.parametrize("client_name", NODE_NIGHTLY, indirect=True)
    def test_only_warns_if_the_image_proxy_keeps_its_copies(self, workflow: Workflow) -> None:
        workflow.upload()
        workflow.here("comment", "--post")
        html = '<img src="http://127.0.0.1:1/camo" data-canonical-src="x">'
        with UnreliableProxy(workflow.github.url) as front:
            rendered = f"GET /repos/{workflow.github.repository}/issues/comments/"
            front.will(refuse(200, body={"body_html": html}), when=rendered)
            done = workflow.here("expire", "--post", GITHUB_API_URL=front.url)
        assert done.returncode == 0
        assert "Warning: the image proxy kept 1 of its copies" in done.stderr


class TestOtherAccounts:
    def test_the_comment_of_another_account_is_kept(self, workflow: Workflow) -> None:
        """CI posts as its bot, and an agent with a person's token."""
        workflow.upload()
        workflow.here("comment", "--post")
        posted = workflow.github.comments(workflow.pr_number)
        person = {"GITHUB_TOKEN": workflow.github.person_token}
        done = workflow.here("comment", "--post", **person)
        assert (done.returncode, done.stdout) == (0, f"{posted[0]['html_url']}\n")
        assert "as it is, because another account wrote it" in done.stderr
        assert "Note: CI keeps the comment current.\n" in done.stderr
        workflow.upload("another")
        done = workflow.here("comment", "--post", **person)
        assert done.returncode == 0
        assert "The comment shows an older state; CI updates it on its next run." in done.stderr
        assert workflow.github.comments(workflow.pr_number) == posted

        closed = workflow.here("expire", "--post", "--json", **person)
        assert (closed.returncode, json.loads(closed.stdout)["comment"]) == (0, "kept")
        assert workflow.github.comments(workflow.pr_number) == posted
        assert "Updated the comment" in workflow.here("expire", "--post").stderr

    def test_comments_of_two_accounts_become_one(self, workflow: Workflow) -> None:
        workflow.upload()
        person = {"GITHUB_TOKEN": workflow.github.person_token}
        workflow.github.write(f"{workflow.head}\nold", workflow.pr_number)
        workflow.github.write(f"{workflow.head}\nold", workflow.pr_number, token=workflow.github.token)
        workflow.here("comment", "--post")
        assert workflow.bodies() == [f"{workflow.head}\nold"]
        assert workflow.here("comment", "--post", **person).returncode == 0
        assert workflow.bodies() == [workflow.markdown()]

    def test_a_stranger_cannot_keep_ci_from_its_comment(self, workflow: Workflow) -> None:
        workflow.upload()
        copied = f"{workflow.head}\n### 0 screenshots"
        workflow.github.write(copied, workflow.pr_number, token=workflow.github.stranger_token)
        assert "Posted the comment" in workflow.here("comment", "--post").stderr
        assert workflow.bodies() == [copied, workflow.markdown()]


class TestDescription:
    def test_only_deleted_screenshots_are_replaced_at_the_close(self, workflow: Workflow) -> None:
        gone = workflow.upload("gone")
        about = {"path": "/v1/baseline", "branch": "main", "name": "kept", "commit_sha": "1" * 40}
        stays = upload(workflow.client, **about).json()["view_url"]
        code = f"```\n![a]({gone})\n```\n"
        before = f"Hi\n\n![a]({gone}) ![b]({stays})\n\n{code}![x](https://img.example.com/x.png)"
        workflow.github.describe(workflow.pr_number, before)
        workflow.here("comment", "--post")
        with UnreliableProxy(workflow.github.url) as front:
            refused = f"PATCH /repos/{workflow.github.repository}/pulls/"
            front.will(refuse(403, body={"message": "no"}), when=refused)
            done = workflow.here("expire", "--post", GITHUB_API_URL=front.url)
        assert done.returncode == 0
        warning = "Warning: can't update the description, which may still show deleted screenshots: GitHub"
        assert done.stderr.count(warning) == 1
        assert "Updated the comment" in done.stderr
        assert workflow.client.get(stays).status_code == 200

        done = workflow.here("expire", "--post", "--json")
        assert json.loads(done.stdout)["description"] == 1
        assert "Replaced 1 deleted screenshot in the description." in done.stderr
        replaced = before.replace(f"![a]({gone}) ", "_(screenshot deleted)_ ", 1)
        assert workflow.github.description(workflow.pr_number) == replaced
        workflow.here("expire", "--post")
        assert workflow.github.description(workflow.pr_number) == replaced


class TestComment:
    def test_without_post_is_printed_and_not_posted(self, workflow: Workflow) -> None:
        workflow.upload("größer {{count}}")
        assert workflow.here("comment").stdout == workflow.markdown()
        other = workflow.here("comment", "--pr", "9999").stdout
        assert re.match(r"<!-- svc:pr-9999 -->\n<!-- prshots:\w+ -->\n### 0 screenshots\n", other)
        assert workflow.bodies() == []

    def test_without_screenshots_is_not_created_but_is_updated(self, workflow: Workflow) -> None:
        with UnreliableProxy(workflow.service.base_url) as service:
            done = workflow.here("comment", "--post", PRSHOTS_URL=service.url)
            assert service.count("GET /v1/comment") == 1
        assert (done.returncode, done.stdout) == (0, "")
        assert "has no screenshots, so no comment was posted" in done.stderr
        workflow.upload()
        workflow.here("comment", "--post")
        said = workflow.here("expire")  # without --post, it leaves the comment as it is
        assert (said.returncode, said.stdout) == (0, "")
        assert said.stderr == f"Deleted 1 screenshot of pull request {workflow.pr_number}.\n"
        printed = json.loads(workflow.here("expire", "--json").stdout)
        assert printed == {"pr_number": workflow.pr_number, "policy": "pr_close", "marked": 0, "expired": 0}
        assert "Updated" in workflow.here("comment", "--post").stderr
        assert "### Screenshots deleted" in workflow.bodies()[0]

    def test_uses_a_template_unless_it_is_too_long_or_invalid(
        self, workflow: Workflow, tmp_path: Path
    ) -> None:
        file = tmp_path / "shots.md"
        file.write_text("Seen at {{commit}} in [this run]({{run_url}})\n\n{{screenshots}}\n")
        workflow.upload()
        rest = workflow.markdown().removeprefix(f"{workflow.head}\n")
        run_url = "https://github.example/octocat/shop/actions/runs/42"
        expected = f"{workflow.head}\nSeen at {SHA} in [this run]({run_url})\n\n{rest}"
        assert workflow.here("comment", "--template", str(file)).stdout == expected
        assert workflow.here("comment", "--post", "--template", str(file)).returncode == 0
        assert workflow.bodies() == [expected]
        assert "already up to date" in workflow.here("comment", "--post", "--template", str(file)).stderr

        file.write_text("x" * 65_500 + "{{entries}}")
        done = workflow.here("comment", "--post", "--template", str(file))
        assert "Note: the template is left out" in done.stderr
        assert workflow.bodies() == [workflow.markdown()]

        file.write_text("{{nonsense}}")
        before = workflow.bodies()
        assert "{{nonsense}}" in workflow.fails("comment", "--post", "--template", str(file), PRSHOTS_URL="")
        assert workflow.bodies() == before

    def test_is_posted_to_github_enterprise_from_options_alone(self, workflow: Workflow) -> None:
        workflow.upload()
        url = workflow.github.enterprise_url
        by_hand = ["--forge", "github", "--forge-url", url, "--repository", "octocat/shop"]
        token = ["--forge-token", workflow.github.person_token, "--pr", str(workflow.pr_number)]
        done = workflow.here("comment", "--post", *by_hand, *token, GITHUB_ACTIONS="", GITHUB_TOKEN="")
        assert done.returncode == 0, done.stderr
        assert workflow.github.comments(workflow.pr_number)[0]["user"]["login"] == "octocat"

    @pytest.mark.parametrize("client_name", NODE_NIGHTLY, indirect=True)
    def test_explains_that_the_service_is_older_than_the_client(self, workflow: Workflow) -> None:
        with UnreliableProxy(workflow.service.base_url) as front:
            older = {"pr_number": workflow.pr_number, "markdown": "<!-- svc:pr-1 -->\n### 0 screenshots\n"}
            front.will(refuse(200, body=older), when="GET /v1/comment")
            words = workflow.fails("comment", PRSHOTS_URL=front.url)
        assert re.search(
            "answered without (heading, count, shown, listed, omitted|markdown and count): ", words
        )
        assert "this client" in words
