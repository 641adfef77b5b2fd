"""action.yml, run by act as on a GitHub runner, against the service and a GitHub look-alike."""

import copy
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml
from PIL import Image

from support.ci_issuer import CiIssuer
from support.forges.look_alikes import GitHubLookAlike
from support.git_repositories import ALONE, commit_all
from support.git_repositories import Repository as Checkout
from support.processes import completed
from support.service import Service, upload
from support.signed_in_people import sign_in
from support.unreliable_proxy import NEVER, UnreliableProxy, refuse

pytestmark = pytest.mark.slow  # act starts a job for each event

ROOT = Path(__file__).parents[2]
CI = ROOT / "tests" / "support" / "workflow"
ACT = Path(sys.executable).with_name("act")
NODE = shutil.which("node") or "node"
BUNDLE = ROOT / "action" / "index.mjs"
POISONED = (
    *("index.js", "index.mjs", "action/index.mjs", "dist/action/index.js", "node_modules/prshots/index.js"),
    *("node_modules/undici/index.js", "node_modules/fs/index.js", "node_modules/fetch/index.js"),
)
"""Modules that a stranger may put into a repository. Node starts one if it looks there for its own."""
POISONED_PROGRAMS = ("git", "git.exe", "node", "node_modules/.bin/git", "node_modules/.bin/prshots")
POISONED_SETTINGS = {
    ".npmrc": "registry=http://127.0.0.1:9/\nnode-options=--require ./index.js\n",
    "package.json": json.dumps({"type": "commonjs", "imports": {"#*": "./index.js"}, "main": "index.js"}),
}

FIRST, SECOND = "1" * 40, "2" * 40
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
EVENT: dict[str, Any] = json.loads((CI / "pull_request.json").read_text())


@dataclass
class Run:
    """The result of a workflow run. `said` is its log, `seen` the outputs that a later step received."""

    succeeded: bool
    said: str
    annotations: list[tuple[str, str]]
    summary: str
    seen: dict[str, str]


@dataclass
class Repository:
    """A repository with the workflow, and everything a run needs."""

    folder: Path
    service: Service
    github: GitHubLookAlike
    issuer: CiIssuer
    token: str

    @property
    def pictures(self) -> Path:
        return self.folder / "repository" / "pictures"

    @property
    def git(self) -> Checkout:
        return Checkout(self.folder / "repository")

    @property
    def remote(self) -> str:
        return (self.folder / "remote.git").as_uri()

    def push(self, branch: str) -> None:
        self.git.git("push", "--quiet", self.remote, branch)

    def run(self, event: dict[str, Any], *, on: str = "pull_request", **given: str) -> Run:
        """Run the workflow for an event. Arguments override the defaults."""
        usual = {"url": self.service.base_url, "token": self.token, "github_token": self.github.token}
        taken = usual | given
        variables = {
            "GITHUB_API_URL": self.github.url,
            "NODE_PATH": "node_modules",  # as a project may set it for its tests
            "DEPLOY_KEY": "secret-of-the-job",
            "SEEN": str(self.folder / "seen.json"),
            # Not in the repository's configuration: act reads the repository's name from its remote.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self.remote}.insteadOf",
            "GIT_CONFIG_VALUE_0": f"https://github.com/{self.github.repository}.git",
            "FAIL_ON": taken.get("fail_on", ""),
            "GATE": taken.get("gate", ""),
            "BROKEN": taken.get("broken", ""),
            "ACTIONS_ID_TOKEN_REQUEST_URL": taken.get("id_token_url", ""),
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-runner",
        }
        (self.folder / "event.json").write_text(json.dumps(event))
        (self.folder / "seen.json").unlink(missing_ok=True)
        done = completed(
            [
                *(ACT, on, "--eventpath", self.folder / "event.json", "--json"),
                # No container and no download: the action is this checkout.
                *("--platform", "ubuntu-latest=-self-hosted", "--no-cache-server"),
                *("--action-cache-path", self.folder / "act"),
                *("--local-repository", f"prshots/prshots@v0={self.folder / 'checkout'}"),
                *("--var", f"PRSHOTS_URL={taken['url']}"),
                *("--secret", f"PRSHOTS_TOKEN={taken['token']}"),
                *("--secret", f"GITHUB_TOKEN={taken['github_token']}"),
                *(word for name, value in variables.items() for word in ("--env", f"{name}={value}")),
            ],
            cwd=self.folder / "repository",
            env={
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("PRSHOTS_", "PYTHON"))
            },
            timeout=200,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        said = "".join(line["msg"] for line in lines)
        assert (self.folder / "seen.json").exists(), said + done.stderr
        return Run(
            succeeded=done.returncode == 0,
            said=said,
            annotations=[
                (line["command"], line["arg"])
                for line in lines
                if line.get("command") in {"notice", "warning", "error"}
            ],
            summary=next((line["content"] for line in lines if line.get("command") == "summary"), ""),
            seen=dict.fromkeys(ACTION["outputs"], "") | json.loads((self.folder / "seen.json").read_text()),
        )


@pytest.fixture(scope="module")
def repository(
    tmp_path_factory: pytest.TempPathFactory,
    shared_service: Service,
    ci_issuer: CiIssuer,
    github: GitHubLookAlike,
) -> Repository:
    folder = tmp_path_factory.mktemp("action")
    shutil.copytree(ROOT / "action", folder / "checkout" / "action")
    shutil.copy(ROOT / "action.yml", folder / "checkout")
    token = shared_service.new_token("github action")
    trusted = ("--issuer", ci_issuer.url, "--claim", "repository=octocat/shop")
    shared_service.run("project", "trust", "github action", *trusted)
    made = Repository(folder, shared_service, github, ci_issuer, token)
    workflows = folder / "repository" / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(CI / "screenshots.yml", workflows)
    for name, size in (("phone/home", (390, 844)), ("check out/cart@1280x800", (64, 40))):
        (made.pictures / name).parent.mkdir(parents=True)
        Image.new("RGB", size, "teal").save(made.pictures / f"{name}.png")
    for place in (folder / "repository", made.pictures):
        poison(place, folder / "poisoned")
    (made.pictures / "around.md").write_text("Look at {{commit}}:\n\n{{screenshots}}\n")
    remote = f"https://github.com/{github.repository}.git"
    commit_all(folder / "repository", remote=remote)
    made.git.git("init", "--quiet", "--bare", "--initial-branch=main", str(folder / "remote.git"))
    made.push("main")
    return made


def poison(place: Path, told: Path) -> None:
    """Put files into a folder of the workspace that say so when something runs them."""
    for name in POISONED:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(
            f"process.getBuiltinModule('fs').appendFileSync({str(told)!r}, 'module ');\n"
        )
    for name in POISONED_PROGRAMS:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(f"#!/bin/sh\necho {name} >> {told}\n")
        (place / name).chmod(0o755)
    for name, text in POISONED_SETTINGS.items():
        (place / name).write_text(text)


def event(
    action: str, number: int, sha: str = FIRST, head_repository: str = "octocat/shop"
) -> dict[str, Any]:
    """Return GitHub's event for a pull request."""
    said = copy.deepcopy(EVENT) | {"action": action, "number": number}
    said["pull_request"] |= {"number": number, "state": "closed" if action == "closed" else "open"}
    said["pull_request"]["head"]["sha"] = sha
    said["pull_request"]["head"]["repo"]["full_name"] = head_repository
    return said


def statuses(urls: str) -> set[int]:
    return {httpx.get(url, trust_env=False).status_code for url in urls.split()}


def test_the_action_uploads_updates_the_comment_and_expires_on_close(
    repository: Repository,
) -> None:
    github, number = repository.github, repository.github.new_pr()

    opened = repository.run(event("opened", number))
    assert opened.succeeded, opened.said
    assert opened.annotations == []
    assert opened.seen["count"] == "2"
    assert len(opened.seen["urls"].split()) == 2
    assert statuses(opened.seen["urls"]) == {200}
    assert re.findall(r"!\[(.+?)\]", opened.seen["markdown"]) == ["check out/cart", "phone/home"]
    [comment] = github.comments(number)
    assert comment["body"].startswith(f"<!-- svc:pr-{number} -->\n")
    assert "Look at 1111111" in comment["body"]
    assert comment["html_url"] == opened.seen["comment-url"]
    for url in opened.seen["urls"].split():
        assert url in unescape(comment["body"])
        assert url in unescape(opened.summary)
    assert repository.token not in opened.said

    broken = repository.pictures / "::notice::broken.png"  # the runner must not run this as a command
    broken.write_text("no image")
    keyless = {
        "token": "",
        "id_token_url": repository.issuer.job_url(repository="octocat/shop", ref=f"refs/pull/{number}/merge"),
    }
    pushed = repository.run(event("synchronize", number, SECOND), **keyless)
    broken.unlink()
    assert not pushed.succeeded  # one file is invalid, but all other work is done
    assert not re.search(r"msr_[0-9a-f]|eyJ\w{20}", pushed.said)
    assert [level for level, _ in pushed.annotations] == ["error"]
    assert r":\:notice::broken.png: is not a PNG, JPEG or WebP image" in pushed.said
    assert pushed.seen["count"] == "2"
    assert pushed.seen["comment-url"] == opened.seen["comment-url"]
    [updated] = github.comments(number)
    assert updated["id"] == comment["id"]
    assert "### 2 screenshots" in updated["body"]  # of the second commit
    assert "Look at 2222222" in updated["body"]
    assert "### 2 screenshots" in pushed.summary

    closed = repository.run(event("closed", number, SECOND))
    assert closed.succeeded, closed.said
    assert closed.seen == dict.fromkeys(ACTION["outputs"], "") | {"comment-url": comment["html_url"]}
    [gone] = github.comments(number)
    assert gone["id"] == comment["id"]
    assert "<img" not in gone["body"]
    assert statuses(f"{opened.seen['urls']}\n{pushed.seen['urls']}") == {410}

    # None of this ran a file of the workspace.
    poisoned = repository.folder / "poisoned"
    assert not poisoned.exists(), poisoned.read_text()
    # The poison works: a program that looks for its modules there does run it.
    subprocess.run([NODE, "index.js"], cwd=repository.pictures, timeout=60, check=True)
    assert poisoned.read_text() == "module "
    poisoned.unlink()


def test_the_action_asks_github_for_what_the_event_omits(repository: Repository) -> None:
    github, number = repository.github, repository.github.new_pr()
    pull = github.call("GET", f"/repos/{github.repository}/pulls/{number}").json()
    head = pull["head"]["sha"]
    comment = {"action": "created", "issue": {"number": number, "pull_request": {"url": "…"}}}
    done = repository.run(comment, on="issue_comment")
    assert done.succeeded, done.said
    [posted] = github.comments(number)
    assert f"Look at {head[:7]}" in posted["body"]  # not the checkout, which is the base branch


def push(branch: str, sha: str) -> dict[str, Any]:
    """Return GitHub's event for a push."""
    return {"ref": f"refs/heads/{branch}", "after": sha, "repository": EVENT["repository"]}


def test_a_pull_request_is_compared_with_the_baselines_of_a_push(repository: Repository) -> None:
    github, number, git = repository.github, repository.github.new_pr(), repository.git
    main, token = git.head, repository.service.new_token()  # a project without other baselines
    built = repository.run(push("main", main), on="push", token=token, fail_on="changed")
    assert built.succeeded, built.said
    assert (built.annotations, built.summary) == ([], "")
    assert (built.seen["count"], built.seen["comment-url"], built.seen["comparison"]) == ("2", "", "")

    git.branch("change")
    Image.new("RGB", (64, 40), "red").save(repository.pictures / "check out/cart@1280x800.png")
    git.git("add", ".")
    head = git.commit()
    repository.push("change")
    opened = event("opened", number, head)
    changed = repository.run(opened, token=token, fail_on="changed,removed", gate="true")
    assert not changed.succeeded
    [(level, words)] = changed.annotations
    assert level == "error"
    assert words == (f"1 shot matched `fail-on: changed,removed`. Dashboard: {changed.seen['dashboard-url']}")
    counts = {"changed": "1", "moved": "0", "new": "0", "removed": "0", "unchanged": "1"}
    assert {name: changed.seen[name] for name in counts} == counts
    assert (changed.seen["comparison"], changed.seen["gate"]) == ("compared", "waiting")
    status = ("pending", "1 screenshot to review", changed.seen["dashboard-url"])
    assert github.statuses(head) == [status]
    [comment] = github.comments(number)
    for shown in (comment["body"], changed.summary):
        assert "### 2 screenshots: 1 changed, 1 unchanged" in shown
        assert main[:7] in shown

    merged = event("closed", number, head)
    merged["pull_request"] |= {"merged": True, "merge_commit_sha": head}
    closed = repository.run(merged, token=token)
    assert closed.succeeded, closed.said
    assert "Kept 1 screenshot of the merged pull request as baselines." in closed.said
    git.branch("main", main)


def test_a_run_with_nothing_to_upload_succeeds_with_a_note(repository: Repository) -> None:
    preview = {"deployment": {"sha": FIRST}, "deployment_status": {}, "repository": {"id": 1}}
    for on, event_of_run, broken, words in (
        ("deployment_status", preview, "", ""),  # no open pull request has this head
        ("push", push("main", FIRST), "yes", "A step before this one failed, "),
    ):
        done = repository.run(event_of_run, on=on, broken=broken)
        assert done.succeeded == (not broken), done.said
        [(level, said)] = done.annotations
        assert (level, said[: len(words)], done.seen["count"]) == ("notice", words, "")


@dataclass
class Step:
    """The action's file alone, in a checkout: what act adds is not needed for this."""

    folder: Path
    service: Service
    token: str
    environ: dict[str, str] = field(default_factory=lambda: ALONE | {"PATH": os.environ["PATH"]})

    def run(self, said: dict[str, Any], ref: str, sha: str, *, status: str = "success", **inputs: str) -> Run:
        """Run the step for an event."""
        for name in ("event.json", "output", "summary"):
            (self.folder / name).write_text(json.dumps(said) if name == "event.json" else "")
        given = {"URL": self.service.base_url, "TOKEN": self.token, "COMMENT": "false"} | inputs
        done = completed(
            [NODE, BUNDLE],
            env=self.environ
            | {f"INPUT_{name.replace('_', '-')}": value for name, value in given.items()}
            | {
                "INPUT_JOB-STATUS": status,
                "GITHUB_ACTIONS": "true",
                "GITHUB_SERVER_URL": "https://github.com",
                "GITHUB_REPOSITORY": "octocat/shop",
                "GITHUB_EVENT_NAME": next(
                    (name for name in ("pull_request", "merge_group") if name in said), "push"
                ),
                "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
                "GITHUB_REF": ref,
                "GITHUB_SHA": sha,
                "GITHUB_OUTPUT": str(self.folder / "output"),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary"),
            },
            cwd=self.folder / "work",
        )
        lines = (self.folder / "output").read_text().splitlines()
        return Run(
            succeeded=done.returncode == 0,
            said=done.stdout + done.stderr,
            annotations=re.findall(r"^::(notice|warning|error) [^:]*::(.*)", done.stdout, re.MULTILINE),
            summary=(self.folder / "summary").read_text(),
            seen=dict(line.split("=", 1) for line in lines if re.match(r"[a-z-]+=", line))
            | {"view-url": next((line for line in lines if line.startswith("http")), "")},
        )


def test_only_the_job_after_the_last_shard_finds_what_was_removed(
    shared_service: Service, tmp_path: Path
) -> None:
    work = Checkout.with_remote(tmp_path)
    step = Step(tmp_path, shared_service, shared_service.new_token())
    for name in ("home", "cart", "old"):
        Image.new("RGB", (64, 40), "teal").save(work.folder / f"{name}.png")
    main = work.commit()
    work.push("main")
    of_main = (push("main", main), "refs/heads/main", main)
    failed = step.run(*of_main, status="failure", PATHS="home.png")
    assert (failed.succeeded, failed.seen) == (True, {"view-url": ""})
    assert failed.annotations[0][1].startswith(
        "A step before this one failed, so its screenshots can't be baselines"
    )
    for paths in ("home.png\ncart.png", "old.png"):
        assert step.run(*of_main, PATHS=paths, PARTIAL="true").succeeded
    done = step.run(*of_main, COMPLETE="true")
    assert done.succeeded
    assert f"Marked the baselines of main at {main[:7]} complete." in done.said

    work.branch("change")
    head = work.commit()
    of_pull = (event("opened", 7, head), "refs/pull/7/merge", head)
    # An earlier step failed, so the run is incomplete even without PARTIAL.
    failed = step.run(*of_pull, status="failure", PATHS="home.png", FAIL_ON="removed")
    assert failed.succeeded, failed.said
    assert (failed.seen["comparison"], failed.seen["removed"]) == ("incomplete", "0")
    shard = step.run(*of_pull, PATHS="cart.png", PARTIAL="true", FAIL_ON="removed")
    assert (shard.succeeded, shard.seen["comparison"]) == (True, "incomplete")
    last = step.run(*of_pull, COMPLETE="true", FAIL_ON="removed", VIEW="changes")
    assert not last.succeeded
    assert [level for level, _ in last.annotations] == ["error"]
    assert (last.seen["comparison"], last.seen["removed"], last.seen["unchanged"]) == ("compared", "1", "2")
    assert "1 removed" in last.summary


def test_the_status_follows_the_review_into_the_merge_queue(
    shared_service: Service, github: GitHubLookAlike, tmp_path: Path, stack: ExitStack
) -> None:
    work = Checkout.with_remote(tmp_path)
    owner = stack.enter_context(sign_in(shared_service))  # other tests' projects are no siblings
    step = Step(tmp_path, shared_service, owner.token(owner.project()))
    step.environ |= {"GITHUB_API_URL": github.url}
    gated = {"PATHS": "home.png", "GATE": "true", "GITHUB_TOKEN": github.token}
    Image.new("RGB", (64, 40), "teal").save(work.folder / "home.png")
    main = work.commit()
    work.push("main")
    built = step.run(push("main", main), "refs/heads/main", main, **gated)
    assert (built.succeeded, built.annotations, github.statuses(main)) == (True, [], [])

    Image.new("RGB", (64, 40), "red").save(work.folder / "home.png")
    head = work.commit()
    of_pull = (event("opened", 7, head), "refs/pull/7/merge", head)
    assert step.run(*of_pull, **gated).seen["gate"] == "waiting"
    with shared_service.client(step.token) as client:
        found = client.get("/v1/compare", params={"pr_number": 7}).json()
        keys = ("name", "viewport", "theme", "pixels_before", "pixels_after")
        pairs = [{key: shot[key] for key in keys} for shot in found["shots"]]
        decisions = urlsplit(found["dashboard_url"]).path.replace("/prs/", "/pulls/") + "/decisions"
        assert owner.ask("POST", decisions, decision="approved", pairs=pairs).is_success

    group = work.git("commit-tree", f"{head}^{{tree}}", "-p", main, "-p", head, "-m", "Queue")
    ref = f"refs/heads/gh-readonly-queue/main/pr-7-{main}"
    work.push(f"{group}:{ref}")
    about = {"head_sha": group, "head_ref": ref, "base_sha": main, "base_ref": "refs/heads/main"}
    queued = {"merge_group": about, "repository": EVENT["repository"]}
    for inputs, succeeds in (({}, False), ({"APPROVED_PASS": "true"}, True)):
        done = step.run(queued, ref, group, FAIL_ON="changed", **gated, **inputs)
        assert (done.succeeded, done.seen["gate"]) == (succeeds, "passed"), done.said
    assert [state for state, _, _ in github.statuses(group)] == ["success", "success"]

    # A run without screenshots. A token that may not set the status only warns.
    skipped = {"PATHS": "", "GATE_SKIP": "Only the docs changed"}
    for action, token, levels in (("opened", github.token, []), ("closed", github.fork_token, ["warning"])):
        said = event(action, 8, FIRST)
        done = step.run(said, "refs/pull/8/merge", FIRST, **skipped, GITHUB_TOKEN=token)
        assert (done.succeeded, [level for level, _ in done.annotations]) == (True, levels), done.said
    assert [words for _, words, _ in github.statuses(FIRST)] == ["Skipped: Only the docs changed"]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


@pytest.fixture
def step(shared_service: Service, tmp_path: Path) -> Step:
    """Return a step in a folder that isn't a repository, with one screenshot."""
    (tmp_path / "work").mkdir()
    Image.new("RGB", (64, 40), "teal").save(tmp_path / "work" / "home.png")
    return Step(tmp_path, shared_service, shared_service.new_token())


def test_the_action_needs_nothing_but_node_even_to_shrink_images_that_are_too_large(step: Step) -> None:
    """As in a container that has no git, no Python and no shell."""
    step.environ = {"PATH": ""}
    Image.effect_noise((150, 150), 60).save(step.folder / "work" / "home.png")
    limits = {"max_image_bytes": 12_000, "uploads_per_minute": 120, "max_name_characters": 200}
    of_pull = (event("opened", 7, FIRST), "refs/pull/7/merge", FIRST)
    with UnreliableProxy(step.service.base_url) as front:
        front.will(refuse(200, body=limits), when="GET /v1/limits", times=2)
        refused = step.run(*of_pull, PATHS="home.png", URL=front.url)
        done = step.run(*of_pull, PATHS="home.png", URL=front.url, SHRINK="true")
    assert (refused.succeeded, refused.seen["count"]) == (False, "0")
    [(level, words)] = refused.annotations
    assert (level, words[:35]) == ("error", "No file was uploaded. home.png: is ")
    assert done.succeeded, done.said
    assert (done.seen["count"], done.annotations) == ("1", [])
    assert "home" in done.summary
    content = httpx.get(done.seen["view-url"], trust_env=False).content
    assert len(content) < limits["max_image_bytes"]
    assert Image.open(io.BytesIO(content)).format == "PNG"


def test_the_action_sends_nothing_if_it_is_too_late_and_gives_up_at_the_timeout(step: Step) -> None:
    labeled = event("labeled", 7, FIRST)
    labeled["pull_request"] |= {"state": "closed", "merged": True}
    pushed = {"head_sha": FIRST, "event": "push", "head_branch": "main", "conclusion": "cancelled"}
    run = {
        "repository": EVENT["repository"],
        "workflow_run": pushed | {"head_repository": EVENT["repository"]},
    }
    with UnreliableProxy(step.service.base_url) as front:
        for said, branch, words in (
            (labeled, "main", "Pull request 7 is closed, so nothing was sent."),
            (
                run,
                "main",
                "The workflow run did not succeed, so its screenshots can't be baselines. Nothing was uploaded.",
            ),
            (
                push("cart", FIRST),
                "cart",
                "This job runs for neither a pull request nor the branch of the baselines: nothing to do.",
            ),
        ):
            done = step.run(said, f"refs/heads/{branch}", FIRST, PATHS="home.png", URL=front.url)
            assert (done.succeeded, done.annotations) == (True, [("notice", words)]), done.said
        assert front.seen == []
        front.will(NEVER, times=9)
        opened = event("opened", 7, FIRST)
        done = step.run(opened, "refs/pull/7/merge", FIRST, PATHS="home.png", URL=front.url, TIMEOUT="1")
        assert len(front.seen) == 1  # the upload isn't tried after the first call has failed
    [(level, words)] = done.annotations
    assert (level, "gave up, because waiting would exceed" in words) == ("error", True)


def stage(step: Step, name: str, repository: str) -> None:
    place = {"branch": "change", "repository": repository, "commit_sha": FIRST, "pr_number": None}
    with step.service.client(step.token) as client:
        upload(client, path="/v1/staged", name=name, **place).raise_for_status()


def test_screenshots_staged_before_the_pull_request_existed_move_to_it(step: Step) -> None:
    stage(step, "staged", "octocat/shop")
    stage(step, "other", "somebody/shop")
    fork = event("opened", 7, FIRST, head_repository="somebody/shop")
    of_a_fork = step.run(fork, "refs/pull/7/merge", FIRST, PATHS="home.png", VIEW="all")
    assert "2 staged screenshots not moved: " in of_a_fork.said
    assert "fork" in of_a_fork.said
    assert "staged" not in of_a_fork.summary
    own = event("opened", 8, FIRST)
    done = step.run(own, "refs/pull/8/merge", FIRST, PATHS="home.png", VIEW="all")
    assert done.succeeded, done.said
    assert "1 staged screenshot moved to pull request 8; 1 staged screenshot not moved: " in done.said
    assert "staged" in done.summary
    assert "other" not in done.summary


def test_a_forks_job_warns_and_uploads_only_with_a_token_and_never_comments(repository: Repository) -> None:
    number, github = repository.github.new_pr(), repository.github
    of_a_fork = event("opened", number, head_repository="somebody/shop")
    without_secrets = repository.run(of_a_fork, token="")
    done = repository.run(of_a_fork, github_token=github.fork_token)
    for run in (without_secrets, done):
        assert run.succeeded, run.said
        [(level, words)] = run.annotations
        assert level == "warning"
        assert "fork" in words
    assert "comes from a fork" in without_secrets.annotations[0][1]
    assert (without_secrets.seen["count"], done.seen["count"]) == ("", "2")
    assert all(url in unescape(done.summary) for url in done.seen["urls"].split())
    assert github.comments(number) == []
    assert github.fork_token not in done.said
