"""The Playwright reporter in real Playwright runs, with a real browser and service and the GitHub look-alike."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from support.ci_issuer import CiIssuer
from support.forges.look_alikes import GitHubLookAlike
from support.git_repositories import ALONE, Repository, checkout_of
from support.playwright_suites import Suite
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


@pytest.fixture
def suite(tmp_path: Path, shared_service: Service, github: GitHubLookAlike) -> Suite:
    return Suite(tmp_path, shared_service, github)


def test_screenshots_are_uploaded_during_the_run_into_one_comment(
    suite: Suite, github: GitHubLookAlike
) -> None:
    suite.write(shop=SHOP)
    done = suite.run()
    assert done.returncode == 0, done.stdout + done.stderr
    (comment,) = github.comments(suite.pr_number)
    assert (
        f"prshots: 1 screenshot uploaded to pull request {suite.pr_number}, comment created: {comment['html_url']}\n"
        in done.stderr
    )
    marker, _, heading, *_ = comment["body"].splitlines()
    assert (marker, heading) == (f"<!-- svc:pr-{suite.pr_number} -->", "### 1 screenshot, not compared")
    assert "<code>shop/cart/is empty at first/empty</code>" in comment["body"]
    assert "320x200" in comment["body"]
    assert f"`{SHA[:7]}`" in comment["body"]
    compared, dashboard = [line for line in done.stderr.splitlines() if line.startswith("prshots: ")][1:]
    assert compared.startswith("prshots: Nothing to compare with: main has no baselines yet.")
    assert re.fullmatch(rf"prshots: Dashboard: http://\S+/prs/{suite.pr_number}", dashboard)


def test_a_run_passes_when_the_forge_is_down(suite: Suite, github: GitHubLookAlike) -> None:
    with UnreliableProxy(github.url) as front:
        front.will(refuse(502), times=9)
        said = suite.called(ONE_TEST_TWO_RUNS, GITHUB_API_URL=front.url)
    assert said[0] == f"prshots: 1 screenshot uploaded to pull request {suite.pr_number}"
    assert "prshots: the comment was not posted: GitHub answered 502: status 502" in said
    assert github.comments(suite.pr_number) == []


def test_a_wrong_token_is_reported_once_and_not_shown(suite: Suite) -> None:
    wrong = "msr_" + "0" * 64
    said = suite.called(ONE_TEST_TWO_RUNS, PRSHOTS_TOKEN=wrong)
    assert said[0] == f"prshots: 0 screenshots uploaded to pull request {suite.pr_number}"
    assert said[1].startswith("prshots: 1 screenshot not uploaded: http://127.0.0.1:")
    assert said[1].endswith("refused the token: it is wrong or revoked, or belongs to another service")
    assert wrong not in "".join(said)


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
    said = suite.called(ONE_TEST_TWO_RUNS, PRSHOTS_TOKEN="", **job)
    assert said[0].startswith(f"prshots: 1 screenshot uploaded to pull request {suite.pr_number}")


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


def test_a_pull_request_is_compared_with_the_baselines_of_main(suite: Suite, github: GitHubLookAlike) -> None:
    work = Repository.with_remote(suite.folder / "git")
    jobs = Jobs(suite, work)
    both = {"home": "teal", "cart": "teal"}
    first = jobs.push(work.commit(), both)
    assert first == ["2 screenshots uploaded to the baselines of main"]
    failed = jobs.push(work.commit(), both, RESULT="failed")  # a failure's picture never becomes a baseline
    assert failed == ["2 screenshots uploaded to the baselines of main, 2 of them already there"]
    main = work.commit()
    assert "2 of them already there" in jobs.push(main, both | {"old": "teal"})[0]

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
        f"2 screenshots uploaded to pull request {suite.pr_number}, 2 of them already there, "
        f"comment updated: {comment['html_url']}"
    )
    assert compared == f"{at}1 removed, 1 unchanged."
    assert "changed, 1 removed" in comment["body"].splitlines()[2]
    assert re.fullmatch(rf"Dashboard: http://\S+/prs/{suite.pr_number}", dashboard)
