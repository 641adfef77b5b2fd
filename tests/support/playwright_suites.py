"""Folders of Playwright tests that use the reporter, and the CI job that runs them."""

import json
import os
import subprocess
from pathlib import Path

from support.chromium import CHROMIUM, QUIET
from support.clients import PACKAGE, node_package
from support.forges.look_alikes import GitHubLookAlike
from support.processes import completed
from support.pytest_jobs import job_of
from support.service import Service

CONFIG = """
import { defineConfig, devices } from "@playwright/test";
export default defineConfig({
  workers: 1,
  reporter: [["line"], ["prshots/playwright", %(options)s]],
  use: {
    viewport: { width: 320, height: 200 },
    screenshot: "only-on-failure",
    launchOptions: { executablePath: %(chromium)s, args: %(args)s },
  },
  %(more)s
});
"""


class Suite:
    """A user's folder of tests that use the reporter, and the CI job that runs them."""

    def __init__(self, folder: Path, service: Service, github: GitHubLookAlike) -> None:
        self.folder = folder
        job = job_of(folder, service, github)
        self.pr_number, self.token = job.pr_number, job.token
        (folder / "node_modules").mkdir()
        (folder / "node_modules" / "prshots").symlink_to(node_package().name)
        (folder / "node_modules" / "@playwright").symlink_to(PACKAGE / "node_modules" / "@playwright")
        (folder / "package.json").write_text('{"type": "module"}')
        self.secrets = [self.token, github.token]
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("PRSHOTS_", "PYTEST_"))
        }
        own = {"EXPECTED_PR": str(self.pr_number), "CI": "true", "GITHUB_SHA": "f" * 40}
        self.environ = inherited | job.environ | own

    def write(self, **tests: str) -> None:
        for old in self.folder.glob("*.spec.ts"):
            old.unlink()
        for name, text in tests.items():
            (self.folder / f"{name}.spec.ts").write_text(text)

    def run(
        self, options: dict[str, object] | None = None, *args: str, config: str = "", **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the tests, and check that the output contains no secret. `config` adds to the configuration."""
        written = CONFIG % {
            "options": json.dumps(options or {}),
            "chromium": json.dumps(CHROMIUM),
            "args": json.dumps(["--no-sandbox", *QUIET]),
            "more": config,
        }
        (self.folder / "playwright.config.ts").write_text(written)
        done = completed(
            ["node", PACKAGE / "node_modules" / "@playwright" / "test" / "cli.js", *(args or ["test"])],
            cwd=self.folder,
            env=self.environ | environ,
        )
        said = done.stdout + done.stderr
        assert not [secret for secret in self.secrets if secret in said]
        return done

    def called(self, script: str, folder: Path | None = None, **environ: str) -> list[str]:
        """Call the reporter like Playwright does, but without the slow runs, and return its output."""
        (self.folder / "run.mjs").write_text(script)
        done = completed(
            ["node", self.folder / "run.mjs"], cwd=folder or self.folder, env=self.environ | environ
        )
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()
