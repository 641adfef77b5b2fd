"""The new comment that tells reviewers of a change after their decision, with the real service and a forge."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.agent_desk import AgentDesk, agent_desk
from support.service import Service
from support.signed_in_people import sign_in

pytestmark = pytest.mark.slow


@pytest.fixture
def desk(tmp_path: Path, shared_service: Service) -> Iterator[AgentDesk]:
    with agent_desk(tmp_path, shared_service) as made:
        yield made


def test_reviewers_get_one_new_comment_for_changes_after_their_decision(desk: AgentDesk) -> None:
    desk.open_pull_request()
    before = desk.screenshot("before.png", button="silver")

    def push(button: str) -> int:
        desk.shop.commit(f"Make it {button}")
        after = desk.screenshot("after.png", button=button)
        desk.prshots("show", after, "--before", before, "--name", "cart", "--viewport", "320x240")
        desk.prshots("comment", "--post")
        (posted,) = desk.forge.comments()
        assert posted.body.startswith(f"<!-- svc:pr-{desk.forge.pr_number} -->\n")
        return posted.id

    first = push("gold")
    assert push("orange") == first
    assert "**Waiting**: [1 screenshot to review](" in desk.forge.comments()[0].body

    found = json.loads(desk.prshots("compare", "--json")[0])
    pull = urlsplit(found["dashboard_url"]).path.replace("/prs/", "/pulls/")
    with sign_in(desk.service, operator=True) as person:
        decided = person.ask("POST", f"{pull}/decisions", decision="approved", pairs=found["shots"])
    assert decided.json()["gate"]["state"] == "passed"
    assert push("orange") == first
    assert "approved by `" in desk.forge.comments()[0].body
    assert "<img" not in desk.forge.comments()[0].body

    second = push("red")
    assert second != first
    assert "\n<!-- svc:notice-" in desk.forge.comments()[0].body
    assert push("blue") == push("gold") == second
