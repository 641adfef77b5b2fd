"""The audit log of an organization in a browser."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from support.drawn_pages import drawn_page, sha
from support.project_client import Project
from support.service import Service
from support.signed_in_people import Person

pytestmark = pytest.mark.slow


def test_an_owner_filters_the_log_and_exports_what_is_shown(page: Page, ann: Person) -> None:
    organization = ann.organization()
    project = ann.ask("POST", "/projects", name="shop", organization_id=organization).json()["id"]
    for label in ("ci", "laptop"):
        token = ann.ask("POST", f"/projects/{project}/tokens", label=label).json()["token"]["id"]
    ann.ask("DELETE", f"/projects/{project}/tokens/{token}")
    login = ann.get_json("/me")["user"]["login"]

    page.goto(f"/organizations/{organization}")
    page.get_by_role("link", name="Audit log").click()
    entries = page.locator(".audit li")
    expect(entries).to_have_count(5)
    expect(entries.first).to_contain_text(f"{login} revoked the token laptop")
    expect(entries.first).to_contain_text("in shop")
    expect(entries.first.locator("time")).to_contain_text("UTC")  # as the days of the filters

    page.get_by_label("What").select_option("project")
    expect(entries).to_have_count(1)
    expect(page).to_have_url(re.compile("action=project"))
    page.get_by_label("What").select_option("token")
    expect(entries).to_have_count(3)
    page.get_by_label("Target").fill("LAPTOP")
    expect(page.get_by_text("No entries match these filters")).to_be_visible()  # its entry has the hint
    page.get_by_label("Target").fill("")
    page.get_by_label("Who").fill("somebody else")
    expect(page.get_by_text("No entries match these filters")).to_be_visible()
    page.go_back()  # the filters are part of the page's address
    page.get_by_role("link", name="Audit log").click()
    page.get_by_label("From").fill("2026-01-01")
    expect(entries).to_have_count(5)
    with page.expect_download() as started:
        page.get_by_role("link", name="Export").click()
    lines = Path(started.value.path()).read_text().splitlines()
    assert [json.loads(line)["action"] for line in lines][:2] == ["token.revoked", "token.created"]


def test_an_owner_finds_who_deleted_an_image_of_a_pull_request(
    page: Page, service: Service, ann: Person
) -> None:
    organization = ann.organization()
    project = ann.ask("POST", "/projects", name="shop", organization_id=organization).json()["id"]
    login = ann.get_json("/me")["user"]["login"]
    with service.client(ann.token(project)) as client:
        shop = Project(client)
        for shop.pr_number in (7, 8):
            shop.push("1", cart=drawn_page())
            listed = ann.get_json(
                f"/projects/{project}/pulls/{shop.pr_number}/images?name=cart&viewport=320x240"
            )
            ann.ask("DELETE", f"/projects/{project}/images/{listed['images'][0]['id']}")
    page.goto(f"/organizations/{organization}/audit")
    entries = page.locator(".audit li")
    page.get_by_label("Target").fill("cart")
    expect(entries).to_have_count(2)
    page.get_by_label("Pull request").fill("#7")
    expect(entries).to_have_count(1)
    expect(page).to_have_url(re.compile(r"target=cart&pr_number=7$"))
    expect(page.get_by_label("Pull request")).to_have_value("7")
    expect(entries).to_contain_text(f"{login} deleted the image cart in shop")
    expect(entries).to_contain_text(f"pull request: 7 · commit sha: {sha('1')} · viewport: 320x240")
    expect(entries).not_to_contain_text("theme")
    page.get_by_label("Pull request").fill("seven")
    expect(page.get_by_text("Pr_number must be a whole number")).to_be_visible()
