"""The files in .github/: workflows that actionlint accepts, and issue forms that GitHub accepts."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.deploy_checkers import ROOT, lint_workflows, passes, walk

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
FIELDS = {"input", "textarea", "dropdown", "checkboxes"}


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


class TestWorkflows:
    def test_actionlint_and_zizmor_accept_every_workflow(self) -> None:
        assert f"Checking {len(WORKFLOWS)} workflow" in lint_workflows(GITHUB / "workflows")
        passes("zizmor", "--offline", "--no-progress", ROOT)

    @pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
    def test_a_workflow_pins_its_actions_reads_only_and_has_timeouts(self, path: Path) -> None:
        used = re.findall(r"uses: ([^.\s].*)", path.read_text())
        by_commit = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
        assert [action for action in used if not by_commit.match(action)] == []
        workflow = load(path)
        assert workflow["permissions"] in ({}, {"contents": "read"})
        for job in workflow["jobs"].values():
            assert "timeout-minutes" in job or "uses" in job
        # Scripts get values from environment variables, where they cannot become commands.
        scripts = [part["run"] for part in walk(workflow) if isinstance(part, dict) and "run" in part]
        assert [script for script in scripts if "${{" in str(script)] == []

    def test_only_jobs_in_the_release_environment_can_publish(self) -> None:
        jobs = load(GITHUB / "workflows" / "release.yml")["jobs"]
        publishing = {name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()}
        assert publishing == {"pypi", "npm", "image", "github"}
        assert all(jobs[name]["environment"] == "release" for name in publishing)
        assert all({"ci", "build"} <= set(jobs[name]["needs"]) for name in publishing - {"github"})


class TestIssueForms:
    @pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
    def test_a_form_has_what_github_requires(self, path: Path) -> None:
        form = load(path)
        assert form["name"]
        assert form["description"]
        fields = [part for part in form["body"] if part["type"] in FIELDS]
        texts = [part for part in form["body"] if part["type"] == "markdown"]
        assert len(fields) + len(texts) == len(form["body"])
        assert all(text["attributes"]["value"].strip() for text in texts)
        ids = [field["id"] for field in fields]
        labels = [field["attributes"]["label"] for field in fields]
        assert len(set(ids)) == len(ids) > 0
        assert len(set(labels)) == len(labels)
        for field in fields:
            if field["type"] in {"dropdown", "checkboxes"}:
                options = [str(option) for option in field["attributes"]["options"]]
                assert len(set(options)) == len(options) > 0

    def test_the_chooser_disables_blank_issues_and_has_valid_links(self) -> None:
        config = load(GITHUB / "ISSUE_TEMPLATE" / "config.yml")
        assert config["blank_issues_enabled"] is False
        for link in config["contact_links"]:
            assert set(link) == {"name", "url", "about"}


def test_dependabot_covers_every_package_folder() -> None:
    updates = load(GITHUB / "dependabot.yml")["updates"]
    named = {
        (update["package-ecosystem"], folder.removeprefix("/"))
        for update in updates
        for folder in update.get("directories", [update.get("directory")])
    }
    locks = [
        lock
        for place in (".", "clients", "tests/support")
        for lock in ROOT.glob(f"{place}/*/package-lock.json")
    ]
    npm = {folder for ecosystem, folder in named if ecosystem == "npm"}
    assert npm == {str(lock.parent.relative_to(ROOT)) for lock in locks}
    assert {("github-actions", ""), ("pip", "requirements"), ("docker", "")} <= named
