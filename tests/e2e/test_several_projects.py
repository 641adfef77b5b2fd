"""Several projects in one repository: jobs of each, with real git, the real service and a GitHub look-alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.clients import CLIENTS, runner_of
from support.compared_shop import Shop
from support.forges.look_alikes import GitHubLookAlike
from support.git_repositories import Repository
from support.service import Service
from support.signed_in_people import Person, sign_in

BASE = {"home": 1, "cart": 1}
CHANGED = {"home": 2, "cart": 2}


@dataclass
class Job:
    """The jobs of one project for the pull request."""

    shop: Shop
    project_id: str
    number: int
    head: str

    def run(self, *args: str, code: int = 0) -> str:
        done = self.shop.in_pull(self.number, self.head, *args)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def upload(self, shots: dict[str, int]) -> None:
        self.shop.pull(self.number, self.head, shots)
        self.run("comment", "--post")


class Monorepo:
    """A repository with the projects `web` and `mobile`, and a pull request."""

    def __init__(
        self, service: Service, github: GitHubLookAlike, owner: Person, folder: Path, run: str
    ) -> None:
        self.service, self.github, self.owner, self.folder, self.client = service, github, owner, folder, run
        self.work = Repository.with_remote(folder / "git")
        self.base = self.work.commit("First")
        self.number = github.new_pr()

    def add(self, name: str, patch: pytest.MonkeyPatch) -> Job:
        project_id = self.owner.project(name)
        folder = self.folder / name
        folder.mkdir()
        token = self.owner.token(project_id)
        shop = Shop(folder, self.service, token, patch, self.work, runner_of(self.client))
        shop.build(self.base, BASE)
        shop.variables = {
            "GITHUB_API_URL": self.github.url,
            "GITHUB_REPOSITORY": self.github.repository,
            "GITHUB_TOKEN": self.github.token,
        }
        return Job(shop, project_id, self.number, "")

    def status(self, head: str, name: str = "prshots") -> tuple[str, str]:
        """Return the newest status of this name."""
        state, words, _ = self.github.statuses(head, name)[-1]
        return state, words

    def comment(self, job: Job) -> str:
        """Return the project's only comment."""
        found = [comment["body"] for comment in self.github.comments(self.number)]
        (ours,) = [body for body in found if body.splitlines()[1] == f"<!-- prshots:{job.project_id} -->"]
        return str(ours)


@pytest.fixture(params=CLIENTS)
def monorepo(
    request: pytest.FixtureRequest, shared_service: Service, github: GitHubLookAlike, tmp_path: Path
) -> Iterator[Monorepo]:
    with sign_in(shared_service) as owner:
        yield Monorepo(shared_service, github, owner, tmp_path, request.param)


@pytest.fixture
def jobs(monorepo: Monorepo, monkeypatch: pytest.MonkeyPatch) -> tuple[Job, Job]:
    """Return the jobs of web and mobile for a commit."""
    made = tuple(monorepo.add(name, monkeypatch) for name in ("web", "mobile"))
    monorepo.work.push("main")
    monorepo.work.branch("change")
    head = monorepo.work.commit()
    for job in made:
        job.head = head
    web, mobile = made
    return web, mobile


@pytest.mark.parametrize("first", ["web", pytest.param("mobile", marks=pytest.mark.slow)])
def test_the_check_waits_for_every_project_whichever_job_ends_last(
    monorepo: Monorepo, jobs: tuple[Job, Job], first: str
) -> None:
    web, mobile = jobs
    for job in (web, mobile) if first == "web" else (mobile, web):
        job.upload(CHANGED if job is web else BASE)
        job.run("gate")
    waits = "2 screenshots to review"
    assert monorepo.status(web.head) == ("pending", f"web: {waits}")
    assert monorepo.status(web.head, "prshots/web") == ("pending", waits)
    assert monorepo.status(web.head, "prshots/mobile") == ("success", "Nothing is left to review")
    assert web.run("gate", "--fail", code=4).startswith(f"waiting: {waits}\n")
    assert mobile.run("gate", "--fail").splitlines() == [
        "passed: Nothing is left to review",
        "  prshots/mobile: success, Nothing is left to review",
        f"  prshots/web: pending, {waits}",
        f"  prshots: pending, web: {waits}",
    ]
    for job, name in ((web, "web"), (mobile, "mobile")):
        job.run("comment", "--post")
        assert monorepo.comment(job).splitlines()[2].startswith(f"### {name}: 2 screenshots: 2 ")

    before = monorepo.comment(web)
    mobile.run("expire", "--post")
    assert "deleted" in monorepo.comment(mobile)
    assert monorepo.comment(web) == before


@pytest.mark.slow
def test_a_skipped_project_does_not_turn_the_check_green(monorepo: Monorepo, jobs: tuple[Job, Job]) -> None:
    web, mobile = jobs
    for job in jobs:
        job.upload(BASE)
    web.head = mobile.head = monorepo.work.commit()
    web.upload(CHANGED)
    skipped = mobile.run("gate", "--skip", "no mobile pages", "--fail").splitlines()
    assert skipped[0] == "passed: Nothing is left to review"
    assert monorepo.status(web.head) == ("pending", "web: 2 screenshots to review")
    assert monorepo.status(web.head, "prshots/mobile") == ("success", "Skipped: no mobile pages")
