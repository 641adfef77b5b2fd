"""The page of an organization's webhooks, in real Chromium."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from support.chromium import NARROW, WIDE, too_wide_for_a_phone, violations
from support.service import Service
from support.signed_in_people import sign_in
from support.webhook_receiver import receiving

pytestmark = pytest.mark.slow


def test_an_owner_adds_a_webhook_sends_a_test_and_reads_the_reply(
    running_browser: Browser, shared_service: Service, tmp_path: Path
) -> None:
    shots = Path(os.environ.get("WEBHOOK_SHOTS", tmp_path))
    with sign_in(shared_service) as owner, receiving() as receiver:
        receiver.reply = lambda _: (500, {}, b"something is broken")
        context = running_browser.new_context(
            base_url=shared_service.web_url, bypass_csp=True, viewport=WIDE, reduced_motion="reduce"
        )
        context.add_cookies(owner.browser_cookies)
        page = context.new_page()
        page.goto(f"/organizations/{owner.organization_id}/webhooks")
        expect(page.get_by_text("No webhooks yet")).to_be_visible()
        page.get_by_role("button", name="Add webhook").click()
        dialog = page.get_by_role("dialog", name="Add webhook")
        dialog.get_by_label("Address").fill("http://10.0.0.1/")
        dialog.get_by_role("button", name="Add webhook").click()
        expect(dialog.get_by_text("is on a private network")).to_be_visible()
        page.screenshot(path=shots / "form.png")
        assert violations(page) == []
        dialog.get_by_label("Address").fill(receiver.url)
        dialog.get_by_label("The gate changed").uncheck()
        dialog.get_by_role("button", name="Add webhook").click()
        secret = page.get_by_role("dialog", name=re.compile("secret"))
        expect(secret).to_contain_text("whsec_")
        page.screenshot(path=shots / "secret.png")
        secret.get_by_role("button", name="copied it").click()
        expect(page.get_by_text("Never sent")).to_be_visible()

        page.get_by_role("button", name="Send test").click()
        expect(page.get_by_text("the receiver answered 500")).to_be_visible()
        expect(page.get_by_text("Failing since")).to_be_visible()
        page.get_by_role("button", name="Show message").click()
        expect(page.get_by_text("something is broken")).to_be_visible()
        expect(page.get_by_text('"type": "test"')).to_be_visible()
        for scheme, viewport in (("light", WIDE), ("dark", WIDE), ("light", NARROW)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(viewport)
            page.screenshot(path=shots / f"page-{scheme}-{viewport['width']}.png", full_page=True)
        assert not too_wide_for_a_phone(page)
        page.set_viewport_size(WIDE)
        assert violations(page) == []

        receiver.reply = lambda _: (204, {}, b"")
        page.get_by_role("button", name="Send again").click()
        expect(page.get_by_text("Arrived: the receiver answered 204.")).to_be_visible()
        expect(page.get_by_text("Working, last sent")).to_be_visible()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Delete webhook").click()
        expect(page.get_by_text("No webhooks yet")).to_be_visible()
        context.close()
