"""The Playwright reporter in real Playwright runs, with a real browser and service and the GitHub look-alike."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from support.ci_issuer import CiIssuer
from support.forges.bitbucket_look_alike import BitbucketLookAlike, bitbucket_look_alike
from support.forges.forge_server import ForgeServer
from support.forges.gitea_look_alike import gitea_look_alike
from support.forges.gitlab_look_alike import gitlab_look_alike
from support.forges.look_alikes import GitHubLookAlike
from support.git_repositories import ALONE, Repository, checkout_of
from support.playwright_suites import Suite, build_reporter
from support.service import SHA, Service
from support.unreliable_proxy import UnreliableProxy, refuse

pytestmark = pytest.mark.slow

SHOP = """
import { expect, test } from "@playwright/test";

test.describe("cart", () => {
  test("is empty at first", async ({ page }) => {
    await page.setContent("<h1>Your cart is empty</h1>");
    await test.info().attach("empty.png", { body: await page.screenshot(), contentType: "image/png" });
    await test.info().attach("log", { body: "not a picture", contentType: "text/plain" });
  });

  test("and its screenshot is there while the run goes on", async ({ request }) => {
    const comment = async () =>
      (await request.get(`${process.env.PRSHOTS_URL}/v1/comment?pr_number=${process.env.EXPECTED_PR}`, {
        headers: { Authorization: `Bearer ${process.env.PRSHOTS_TOKEN}` },
      })).text();
    await expect.poll(comment, { timeout: 10_000 }).toContain("shop/cart/is empty at first/empty");
  });
});
"""

FAILING = """
import { expect, test } from "@playwright/test";

test("looks as it did", async ({ page }) => {
  await page.setContent("<h1 style='color: green'>Sold out</h1>");
  await expect(page).toHaveScreenshot("home.png", { timeout: 500 });
});
"""

WITHOUT_BROWSER = """
import { test } from "@playwright/test";
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=", "base64");

test("attaches", async () => {
  await test.info().attach("dot", { body: png, contentType: "image/png" });
  await test.info().attach("dot", { body: png, contentType: "image/png" });
  await test.info().attach("broken", { body: Buffer.from("no picture"), contentType: "image/png" });
  await test.info().attach("huge", { body: Buffer.alloc(5 * 1024 * 1024, png), contentType: "image/png" });
});
"""

A_TEST = """
import Reporter from "prshots/playwright";
const project = { name: "", use: { viewport: null }, testDir: "/shop" };
const aTest = (file, title) => ({
  titlePath: () => ["", "", file, title],
  parent: { project: () => project },
  repeatEachIndex: 0,
  retries: 0,
  expectedStatus: "passed",
});
const begun = (tests, shard = null) => {
  const reporter = new Reporter({ tries: 1 });
  reporter.onBegin({ projects: [project], shard }, { allTests: () => tests });
  return reporter;
};
"""

ONE_TEST_TWO_RUNS = (
    A_TEST
    + """
const body = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=", "base64");
const test = aTest("a.spec.ts", "b");
for (const name of ["one", "two"]) {
  const reporter = begun([test]);
  reporter.onTestEnd(test, { retry: 0, status: "passed", attachments: [{ name, body, contentType: "image/png" }] });
  await reporter.onEnd({ status: "passed" });
}
"""
)

ONE_TEST_PER_PICTURE = (
    A_TEST
    + """
import { readdirSync } from "node:fs";
const { SHARD, RESULT = "passed" } = process.env;
const names = readdirSync("shots");
const reporter = begun(names.map((name) => aTest("shop.spec.ts", name)), SHARD ? { current: 1, total: 2 } : null);
for (const name of names) {
  const attachment = { name: "screenshot", path: `shots/${name}`, contentType: "image/png" };
  reporter.onTestEnd(aTest("shop.spec.ts", name), { retry: 0, status: "passed", attachments: [attachment] });
}
if (RESULT === "failed") {
  const attachment = { name: "screenshot", path: "shots/home", contentType: "image/png" };
  reporter.onTestEnd(aTest("shop.spec.ts", "fails"), { retry: 0, status: "failed", attachments: [attachment] });
}
await reporter.onEnd({ status: RESULT });
"""
)


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    build_reporter()


def uploads_in(said: list[str]) -> list[str]:
    """Return the lines about uploads and the comment."""
    return [line for line in said if " uploaded to " in line]


@pytest.fixture
def suite(tmp_path: Path, shared_service: Service, github: GitHubLookAlike) -> Suite:
    return Suite(tmp_path, shared_service, github)


def test_screenshots_are_uploaded_during_the_run_into_one_comment(
    suite: Suite, shared_service: Service, github: GitHubLookAlike
) -> None:
    suite.write(shop=SHOP)
    done = suite.run()
    assert done.returncode == 0, done.stdout + done.stderr
    (comment,) = github.comments(suite.pr_number)
    assert (
        f"prshots: 1 screenshot uploaded to pull request {suite.pr_number}, comment created: {comment['html_url']}\n"
        in done.stderr
    )
    assert comment["body"].startswith(f"<!-- svc:pr-{suite.pr_number} -->\n### 1 screenshot, not compared\n")
    assert "<code>shop/cart/is empty at first/empty</code>" in comment["body"]
    assert "320x200" in comment["body"]
    assert f"`{SHA[:7]}`" in comment["body"]
    compared, dashboard = [line for line in done.stderr.splitlines() if line.startswith("prshots: ")][1:]
    assert compared.startswith("prshots: Nothing to compare with: main has no baselines yet.")
    assert re.fullmatch(rf"prshots: Dashboard: http://\S+/prs/{suite.pr_number}", dashboard)

    # A failing test uploads what it saw, although the service first answers 429 and 503.
    suite.write(home=FAILING)
    snapshot = suite.folder / "home.spec.ts-snapshots" / "home-linux.png"
    snapshot.parent.mkdir()
    Image.new("RGB", (320, 200), "white").save(snapshot)
    with UnreliableProxy(shared_service.base_url) as front:
        front.will(refuse(429, {"Retry-After": "1"}, {"error": "rate limited"}), when="POST /v1/upload")
        front.will(refuse(503), when="POST /v1/upload")
        failed = suite.run(PRSHOTS_URL=front.url)
    assert failed.returncode == 1
    host = front.url.removeprefix("http://")
    assert re.findall(r"prshots: .*(?:waiting|retrying).*", failed.stderr) in (
        [f"prshots: {host} limits the rate; waiting 1 s"],
        [f"prshots: {host} answered 503; retrying in 1 s, 1 of 5"],
    )  # one line only, for whichever came first
    (comment,) = github.comments(suite.pr_number)
    assert (
        f"prshots: 2 screenshots uploaded to pull request {suite.pr_number}, comment updated: {comment['html_url']}\n"
        in failed.stderr
    )
    names = re.findall(r"<code>(.+?)</code>", comment["body"])
    assert sorted(names) == [
        "failed/home/looks as it did",
        "home/looks as it did/home",
        "shop/cart/is empty at first/empty",
    ]


def test_a_run_passes_when_the_forge_is_down(
    suite: Suite, shared_service: Service, github: GitHubLookAlike
) -> None:
    suite.write(dots=WITHOUT_BROWSER)
    with UnreliableProxy(github.url) as front:
        front.will(refuse(502), times=9)
        done = suite.run({"tries": 2}, GITHUB_API_URL=front.url)
        assert done.returncode == 0, done.stdout + done.stderr
        assert front.count("GET ") == 2
        said = done.stderr.splitlines()
        assert f"prshots: 2 screenshots uploaded to pull request {suite.pr_number}" in said
        assert "prshots: dots/attaches/broken: not uploaded: it is not a PNG, JPEG or WebP image" in said
        assert (
            "prshots: dots/attaches/huge: not uploaded: it has 5 MB, and the service takes less than 5 MB"
            in said
        )
        assert "prshots: the comment was not posted: GitHub answered 502: status 502" in said
    with shared_service.client(suite.token) as client:
        comment = client.get("/v1/comment", params={"pr_number": suite.pr_number}).json()["markdown"]
    names = re.findall(r"^`(.+?)` · 320x200 ", comment, re.MULTILINE)
    assert sorted(names) == ["dots/attaches/dot", "dots/attaches/dot-2"]
    assert github.comments(suite.pr_number) == []


def test_a_wrong_token_is_reported_once_and_not_shown(suite: Suite) -> None:
    wrong = "msr_" + "0" * 64
    said = suite.called(ONE_TEST_TWO_RUNS, PRSHOTS_TOKEN=wrong)
    assert said[0] == f"prshots: 0 screenshots uploaded to pull request {suite.pr_number}"
    assert said[1].startswith("prshots: 1 screenshot not uploaded: http://127.0.0.1:")
    assert said[1].endswith("refused the token: it is wrong or revoked, or belongs to another service")
    assert wrong not in "".join(said)


@pytest.mark.parametrize("look_alike", [gitlab_look_alike, gitea_look_alike, bitbucket_look_alike])
def test_other_forges_get_one_comment_that_is_updated(
    suite: Suite, look_alike: Callable[[], ForgeServer]
) -> None:
    with look_alike() as forge:
        is_bitbucket = isinstance(forge, BitbucketLookAlike)
        marker = (
            f"[//]: # (svc:pr-{forge.pr_number})" if is_bitbucket else f"<!-- svc:pr-{forge.pr_number} -->"
        )
        forge.page_size = 2
        for number in range(3):
            forge.write_as("somebody", f"Looks good {number}")
        forge.write_as("somebody", f"{marker}\nnot ours")
        settings = {
            "PRSHOTS_PR": str(forge.pr_number),
            "PRSHOTS_FORGE": forge.name,
            "PRSHOTS_FORGE_URL": forge.url,
            "PRSHOTS_REPOSITORY": forge.repository,
            "PRSHOTS_FORGE_TOKEN": forge.access_token
            if isinstance(forge, BitbucketLookAlike)
            else forge.token,
        }
        created, updated = uploads_in(suite.called(ONE_TEST_TWO_RUNS, **settings))
        *others, comment = forge.comments()
    assert [other.author for other in others] == ["somebody"] * 4
    assert comment.body.startswith(marker)
    assert "### 2 screenshots" in comment.body
    assert re.fullmatch(
        rf"prshots: 1 screenshot uploaded to pull request 11, comment created: http://.*{comment.id}", created
    )
    assert re.fullmatch(
        rf"prshots: 1 screenshot uploaded to pull request 11, comment updated: http://.*{comment.id}", updated
    )


def test_a_job_without_a_secret_uploads_with_its_id_token(
    suite: Suite, shared_service: Service, ci_issuer: CiIssuer
) -> None:
    shared_service.new_token("keyless reporter")
    trust = ("--issuer", ci_issuer.url, "--claim", "repository=octo/reporter")
    shared_service.run("project", "trust", "keyless reporter", *trust)
    job = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": ci_issuer.job_url(
            repository="octo/reporter", ref=f"refs/pull/{suite.pr_number}/merge"
        ),
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-runner",
        "PRSHOTS_PROJECT": "local/keyless reporter",
    }
    said = uploads_in(suite.called(ONE_TEST_TWO_RUNS, PRSHOTS_TOKEN="", **job))
    assert [line.partition(",")[0] for line in said] == [
        f"prshots: 1 screenshot uploaded to pull request {suite.pr_number}"
    ] * 2
    another = job | {"ACTIONS_ID_TOKEN_REQUEST_URL": ci_issuer.job_url(repository="octo/other")}
    refused = suite.called(ONE_TEST_TWO_RUNS, PRSHOTS_TOKEN="", **another)
    assert "did not accept this job's ID token" in refused[1]
    assert "Check that the project trusts this issuer" in refused[1]


class Jobs:
    """Jobs of main and of pull requests, each with a checkout of one commit."""

    def __init__(self, suite: Suite, work: Repository) -> None:
        self.suite = suite
        self.work = work
        self.count = 0

    def push(self, sha: str, shots: dict[str, str], **environ: str) -> list[str]:
        self.work.push("main")
        event = {"ref": "refs/heads/main", "after": sha, "repository": {"default_branch": "main"}}
        pushed = {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": sha}
        return self._run("refs/heads/main", event, shots, pushed | environ)

    def pull(self, number: int, head: str, onto: str, shots: dict[str, str], **environ: str) -> list[str]:
        self.work.merge_ref(number, onto, head)
        repo = {"full_name": self.suite.environ["GITHUB_REPOSITORY"], "default_branch": "main"}
        of_pull = {
            "number": number,
            "head": {"sha": head, "repo": repo},
            "base": {"ref": "main", "repo": repo},
        }
        event = {"action": "opened", "pull_request": of_pull, "repository": repo}
        return self._run(f"refs/pull/{number}/merge", event, shots, environ)

    def _run(self, ref: str, event: object, shots: dict[str, str], environ: dict[str, str]) -> list[str]:
        self.count += 1
        job = checkout_of(self.work, self.suite.folder / f"job{self.count}", ref)
        (job.folder / "shots").mkdir()
        for name, color in shots.items():
            Image.new("RGB", (64, 40), color).save(job.folder / "shots" / name, "PNG")
        (self.suite.folder / "event.json").write_text(json.dumps(event))
        said = self.suite.called(ONE_TEST_PER_PICTURE, job.folder, **ALONE, **environ)
        return [line.removeprefix("prshots: ") for line in said]


def test_baselines_of_main_are_what_a_pull_request_is_compared_with(
    suite: Suite, github: GitHubLookAlike
) -> None:
    work = Repository.with_remote(suite.folder / "git")
    jobs = Jobs(suite, work)
    both = {"home": "teal", "cart": "teal"}
    first = jobs.push(work.commit(), both)
    assert first == ["2 screenshots uploaded to the baselines of main"]
    failed = jobs.push(work.commit(), both, RESULT="failed")  # the picture of a failure is no baseline
    assert failed == ["2 screenshots uploaded to the baselines of main, 2 of them were already there"]
    main = work.commit()
    assert "2 of them were already there" in jobs.push(main, both | {"old": "teal"})[0]

    work.branch("change")
    head = work.commit()
    changed = {"home": "teal", "cart": "red"}
    shard = jobs.pull(suite.pr_number, head, main, changed, SHARD="1/2")
    at = f"Compared with main at {main[:7]}: 1 changed, "
    assert shard[1].startswith(f"{at}1 unchanged. Some of the base's screenshots are missing in this run")
    failed = jobs.pull(github.new_pr(), head, main, changed, RESULT="failed")
    assert failed[1].startswith(
        f"{at}1 new, 1 unchanged. Some of the base's screenshots are missing in this run"
    )
    uploaded, compared, dashboard = jobs.pull(suite.pr_number, head, main, changed)
    (comment,) = github.comments(suite.pr_number)
    assert uploaded == (
        f"2 screenshots uploaded to pull request {suite.pr_number}, comment updated: {comment['html_url']}"
    )
    assert compared == f"{at}1 removed, 1 unchanged."
    assert "changed, 1 removed" in comment["body"].splitlines()[1]
    assert re.fullmatch(rf"Dashboard: http://\S+/prs/{suite.pr_number}", dashboard)
