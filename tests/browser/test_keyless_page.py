"""Keyless uploads, allowed and revoked in real Chromium, and a setup page whose snippets work."""

import json
import time
import tomllib
from itertools import chain

import pytest
import yaml
from playwright.sync_api import Page, expect

from prshots import __version__
from support.deploy_checkers import ROOT, parse_command
from support.service import Service
from support.service_processes import change_database
from support.signed_in_people import Person

pytestmark = pytest.mark.slow

GITHUB = "https://token.actions.githubusercontent.com"
NPX = f"npx --yes prshots@{__version__} "
WAYS = ("GitHub Actions", "GitLab CI", "Playwright", "pytest", "Command line", "curl")


def trusts(ann: Person, project: str) -> list[dict[str, object]]:
    found = ann.get_json(f"/projects/{project}/trusts")["trusts"]
    return [{"issuer": trust["issuer"], "claims": trust["claims"]} for trust in found]


def test_a_trust_can_be_added_and_removed(page: Page, ann: Person, project: str) -> None:
    page.goto(f"/projects/{project}/setup")
    page.get_by_role("link", name="Without a token").click()
    page.get_by_role("link", name="Choose jobs").click()
    expect(page.get_by_text("No jobs are allowed yet.")).to_be_visible()

    allow = page.get_by_role("button", name="Allow these jobs")
    page.get_by_label("Repository").fill("octo*")
    allow.click()
    expect(page.get_by_role("alert")).to_contain_text("a * may only come after a whole name")
    assert trusts(ann, project) == []

    page.get_by_label("Repository").fill(" octo-org/web-shop ")
    page.get_by_label("Ref").fill("refs/pull/*")
    page.get_by_text("Other claims").click()
    page.get_by_label("Name of claim 1").fill("actor")
    allow.click()
    expect(page.get_by_role("alert")).to_contain_text("a name and a value for each claim")
    page.get_by_label("Value of claim 1").fill("ann")
    allow.click()
    expect(page.get_by_text("CI jobs of octo-org/web-shop can now upload.")).to_be_visible()
    row = page.get_by_role("listitem").filter(has_text="octo-org/web-shop")
    expect(row).to_contain_text("GitHub Actions")
    expect(row).to_contain_text("ref=refs/pull/*")
    expect(row).to_contain_text("Never used")
    expect(page.get_by_label("Repository")).to_have_value("")
    claims = {"repository": "octo-org/web-shop", "ref": "refs/pull/*", "actor": "ann"}
    assert trusts(ann, project) == [{"issuer": GITHUB, "claims": claims}]

    page.get_by_role("button", name="Remove octo-org/web-shop").click()
    dialog = page.get_by_role("dialog", name="Remove octo-org/web-shop?")
    expect(dialog).to_contain_text("can no longer upload")
    dialog.get_by_role("button", name="Cancel").click()
    assert len(trusts(ann, project)) == 1
    page.get_by_role("button", name="Remove octo-org/web-shop").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No jobs are allowed yet.")).to_be_visible()
    assert trusts(ann, project) == []


def test_a_gitlab_trust_uses_gitlab_terms_and_cannot_be_added_twice(
    page: Page, shared_service: Service, ann: Person, project: str
) -> None:
    page.goto(f"/projects/{project}/tokens?kind=keyless")
    page.get_by_label("CI system").select_option("GitLab")
    page.get_by_label("Project path").fill("group/web-shop")
    page.get_by_role("button", name="Allow these jobs").click()
    expect(page.get_by_text("CI jobs of group/web-shop can now upload")).to_be_visible()
    page.get_by_label("Project path").fill("group/web-shop")
    page.get_by_role("button", name="Allow these jobs").click()
    expect(page.get_by_role("alert")).to_contain_text("already trusts")
    assert trusts(ann, project) == [
        {"issuer": "https://gitlab.com", "claims": {"project_path": "group/web-shop"}}
    ]
    page.get_by_role("button", name="Copy", exact=True).click()
    lines = yaml.safe_load(page.evaluate("navigator.clipboard.readText()"))
    shown = ann.get_json(f"/projects/{project}")
    assert lines == {
        "id_tokens": {"PRSHOTS_ID_TOKEN": {"aud": shared_service.base_url}},
        "variables": {"PRSHOTS_PROJECT": f"{shown['organization']['name']}/{shown['name']}"},
    }


def test_snippets_on_the_setup_page_use_only_existing_commands(
    page: Page, ann: Person, project: str, pytestconfig: pytest.Config
) -> None:
    """This also covers the options, inputs and packages that a snippet names."""
    page.goto(f"/projects/{project}/setup")
    name = ann.get_json(f"/projects/{project}")["name"]
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    for access in ("With a token", "Without a token"):
        page.get_by_role("link", name=access, exact=True).click()
        shown = {way: snippets(page, way) for way in WAYS}
        commands = [line for code in chain(*shown.values()) for line in code.splitlines()]
        commands = [line.replace(NPX, "prshots ") for line in commands if line.startswith(("prshots ", NPX))]
        assert len(commands) == 7
        for command in commands:
            parse_command(command)
        for way in ("GitHub Actions", "Playwright", "pytest"):
            check_workflow(shown[way][-1], keyless=access != "With a token")
        check_include(shown["GitLab CI"][0])
    assert json.loads((ROOT / "clients/node/package.json").read_text())["name"] in shown["Playwright"][0]
    pytestconfig.getoption("--prshots-post")
    assert "--prshots-post" in shown["pytest"][-1]
    assert (
        "pytest" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )


def snippets(page: Page, way: str) -> list[str]:
    page.get_by_role("link", name=way, exact=True).click()
    expect(page.get_by_role("link", name=way, exact=True)).to_have_attribute("aria-current", "true")
    return page.locator("pre").all_inner_texts()


def check_workflow(text: str, *, keyless: bool) -> None:
    workflow = yaml.safe_load(text)
    assert workflow[True]["push"] == {"branches": ["main"]}  # without it, there are no baselines
    assert ("id-token" in workflow["permissions"]) == keyless
    assert ("PRSHOTS_TOKEN" in text) != keyless
    (job,) = workflow["jobs"].values()
    (step,) = (step for step in job["steps"] if step.get("uses") == f"prshots/prshots@v{__version__}")
    assert set(step["with"]) <= set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])


def check_include(text: str) -> None:
    (include,) = yaml.safe_load(text)["include"]
    template = ROOT / include["remote"].partition(f"/v{__version__}/")[2]
    inputs = next(yaml.safe_load_all(template.read_text()))["spec"]["inputs"]
    needed = {name for name, said in inputs.items() if "default" not in said}
    assert needed <= set(include["inputs"]) <= set(inputs)


def test_pins_and_a_refused_repository_are_shown_and_can_be_reset(
    page: Page, shared_service: Service, ann: Person, project: str
) -> None:
    path = f"/projects/{project}/trusts"
    body = {"issuer": GITHUB, "claims": {"repository": "octo-org/web-shop", "ref": "refs/pull/*"}}
    trust_id = ann.ask("POST", path, **body).json()["id"]
    change_database(
        shared_service,
        "UPDATE trusts SET pins = ?, refused_ids = ?, refused_at = ? WHERE id = ?",
        '{"repository_id": "4711", "repository_owner_id": "583231"}',
        '{"repository_id": "4712", "repository_owner_id": ""}',
        int(time.time()) - 300,
        trust_id,
    )
    page.goto(f"/projects/{project}/tokens?kind=keyless")
    row = page.get_by_role("listitem").filter(has_text="octo-org/web-shop")
    expect(row).to_contain_text("repository_id=4711")
    expect(row).to_contain_text("Refused a job with repository_id=4712, no repository_owner_id 5 min ago")
    page.get_by_role("button", name="Reset the pin of octo-org/web-shop").click()
    page.get_by_role("dialog").get_by_role("button", name="Reset pin").click()
    expect(page.get_by_text("Reset the pin of octo-org/web-shop.")).to_be_visible()
    expect(row).not_to_contain_text("Pinned to")
    (trust,) = ann.get_json(path)["trusts"]
    assert (trust["pins"], trust["refused_at"]) == ({}, None)
