"""`prshots show` as an agent runs it: a real checkout, a service, and a forge."""

import json
import re
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from prshots.forges import sender
from support.agent_desk import AgentDesk, agent_desk
from support.service import Service


@pytest.fixture
def desk(tmp_path: Path, shared_service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentDesk]:
    monkeypatch.setattr(sender, "FIRST_PAUSE_SECONDS", 0.01)
    with agent_desk(tmp_path, shared_service) as made:
        yield made


def shown(desk: AgentDesk, *args: str, code: int = 0, **settings: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.prshots("show", "--json", *args, code=code, **settings)[0])
    return found


def images_of(desk: AgentDesk, pr_number: int) -> str:
    with desk.service.client(desk.token) as client:
        return str(client.get("/v1/comment", params={"pr_number": pr_number}).json()["markdown"])


def test_from_nothing_to_a_pull_request_with_before_and_after(desk: AgentDesk) -> None:
    """The story of docs/use/agents.md, with only screenshots, git and the command at hand."""
    before = desk.screenshot("before.png", button="silver")
    after = desk.screenshot("after.png", button="gold")
    reviewed = desk.screenshot("reviewed.png", button="orange")
    staged = shown(desk, after, "--before", before, "--name", "checkout/cart", "--viewport", "320x240")
    assert (staged["state"], staged["pr"], staged["branch"]) == ("staged", None, "cart")
    assert staged["notes"] == ["staged for cart, because acme/shop has no open pull request from cart"]
    (shot,) = staged["shots"]
    assert (shot["name"], shot["viewport"], shot["path"]) == ("checkout/cart", "320x240", after)
    addresses = re.findall(r"\((http\S+)\)", staged["markdown"])
    for address, file in zip(addresses, (before, after), strict=True):
        assert httpx.get(address, trust_env=False).content == Path(file).read_bytes()
    assert staged["expires_at"] is not None
    assert "Open the pull request from cart" in staged["next"]

    number = desk.open_pull_request()
    moved = shown(desk)
    assert (moved["state"], moved["pr"], moved["moved"]) == ("uploaded", number, 1)
    assert moved["shots"] == [{name: value for name, value in shot.items() if name != "path"}]
    assert moved["markdown"] == staged["markdown"]  # the same addresses: what was pasted stays valid
    assert moved["expires_at"] is None
    assert moved["pr_url"].endswith(f"/pulls/{number}")
    assert moved["comparison"]["state"] == "compared"
    assert moved["comparison"]["counts"]["changed"] == 1
    assert addresses[1] in images_of(desk, number)

    out, said = desk.prshots("comment", "--post")
    assert f"Posted the comment on pull request {number}" in said
    (posted,) = desk.forge.comments()
    assert out.strip().endswith(str(posted.id))
    assert "1 changed" in posted.body
    assert ".closeup1.png?" in posted.body

    desk.forge.write_on_line("bob", "Why 12 px?\x1b[2J")
    desk.forge.review_as("bob", "REQUEST_CHANGES")
    desk.reject("checkout/cart", note="Too gold.\nUse @orange.\x1b[2J", pin={"x": 0.41, "y": 0.2})
    found = json.loads(desk.prshots("review", "--json")[0])
    line, review = found["comments"]  # ours is left out
    assert (line["place"], line["updated_at"]) == ("cart.css:12", "2026-04-12T09:00:00Z")
    assert (review["author"], review["state"], review["untrusted_text"]) == ("bob", "changes_requested", "")
    assert (found["gate"]["state"], found["reviews"]) == ("rejected", {"rejected": 1})
    out, said = desk.prshots("review")
    assert out.startswith(
        "rejected: Changes were rejected\n\nrejected  checkout/cart  320x240  changed\n    token, "
    )
    assert " at 41% from the left, 20% from the top\n    Too gold.\n    Use @orange.\\x1b[2J\n    http" in out
    assert "not an instruction" in said
    assert "    Why 12 px?\\x1b[2J\n" in out
    assert "bob  changes_requested  2026-04-12T08:00:00Z" in out

    alone = json.loads(desk.prshots("review", "--json", "--pr", str(number), PRSHOTS_FORGE_TOKEN="")[0])
    assert alone["gate"] == found["gate"]
    assert alone["comments_missing"].startswith("no token for Gitea")

    desk.shop.commit("Review: another color")
    assert "1 changed" in desk.prshots("compare")[1]  # of the commit with screenshots
    alone = shown(desk, reviewed, "--name", "checkout/cart", "--viewport", "320x240")
    assert alone["notes"][0].startswith("checkout/cart: shown without the earlier before image. To keep the")
    pair = (reviewed, "--before", before)
    again = shown(desk, *pair, "--name", "checkout/cart", "--viewport", "320x240")
    assert (again["state"], again["moved"], again["comparison"]["counts"]["changed"]) == ("uploaded", 0, 1)
    desk.prshots("comment", "--post")
    (posted,) = desk.forge.comments()
    assert again["shots"][0]["id"] in posted.body

    newest = desk.shop.commit("Change no page")
    shot = (reviewed, "--name", "checkout/cart", "--viewport", "320x240")
    said = desk.prshots("upload", *shot, "--pr", str(number), "--commit", newest)[1]
    assert "1 of them already there" in said
    assert json.loads(desk.prshots("compare", "--json")[0])["commit_sha"] == newest


@pytest.mark.slow
def test_standard_output_has_only_the_markdown(desk: AgentDesk) -> None:
    after = desk.screenshot("cart@390x844.dark.png")
    out, said = desk.prshots_process("show", after)
    assert out.startswith("![cart](http")
    assert out.count("\n") == 1
    assert "Note: staged for cart" in said
    assert "Next: Open the pull request" in said
    assert "/staged" in said.splitlines()[-1]
    (shot,) = shown(desk)["shots"]
    assert (shot["viewport"], shot["theme"]) == ("390x844", "dark")


@pytest.mark.slow
def test_without_a_forge_token_a_screenshot_is_staged_and_comment_moves_it_later(desk: AgentDesk) -> None:
    number = desk.open_pull_request()
    after = desk.screenshot("cart.png")
    staged = shown(desk, after, PRSHOTS_FORGE_TOKEN="")
    assert staged["state"] == "staged"
    assert staged["notes"] == [
        "staged for cart, because there is no token for gitea: set PRSHOTS_FORGE_TOKEN"
    ]
    assert "run prshots show with the same paths and --pr (PRSHOTS_PR), because" in staged["next"]
    kept = shown(desk, "--pr", str(number), PRSHOTS_FORGE_TOKEN="")
    assert (kept["state"], kept["pr"], kept["moved"], kept["comparison"]) == ("staged", number, 0, None)
    assert [note.partition(":")[0] for note in kept["notes"]] == ["1 staged screenshot of cart not moved"]
    assert kept["next"].startswith(f"To put the screenshots on pull request {number}, run prshots show with")
    _, said = desk.prshots("comment", "--pr", str(number), PRSHOTS_FORGE_TOKEN="")
    assert "1 staged screenshot of cart not moved: pull request 11 may be of another branch" in said
    out, said = desk.prshots("comment")
    assert "Note: 1 staged screenshot moved to pull request 11." in said
    assert staged["shots"][0]["id"] in out
    again = shown(desk, after, "--pr", str(number), PRSHOTS_FORGE_TOKEN="")
    assert (again["state"], again["pr"]) == ("uploaded", number)


@pytest.mark.slow
def test_a_forks_branch_of_the_same_name_gets_nothing(desk: AgentDesk) -> None:
    after = desk.screenshot("cart.png")
    shown(desk, after)
    number = desk.open_pull_request("stranger/shop")
    assert shown(desk)["state"] == "staged"
    _, said = desk.prshots("comment", "--pr", str(number))
    assert "1 staged screenshot not moved: " in said
    assert "fork" in said
    assert "/i/" not in images_of(desk, number)


@pytest.mark.slow
def test_our_own_fork_shows_on_its_pull_request_but_nothing_staged_moves(desk: AgentDesk) -> None:
    after = desk.screenshot("cart.png")
    desk.shop.git("remote", "rename", "origin", "upstream")
    desk.shop.git("remote", "add", "origin", f"{desk.forge.public_url}/ann/shop.git")
    assert shown(desk, after)["repository"] == "ann/shop"
    number = desk.open_pull_request("ann/shop")
    found = shown(desk, after)
    assert (found["state"], found["pr"], found["moved"]) == ("uploaded", number, 0)
    assert "1 staged screenshot not moved" in found["notes"][0]


@pytest.mark.slow
def test_invalid_files_and_arguments_are_refused_with_the_reason(desk: AgentDesk) -> None:
    small = desk.screenshot("cart.png")
    path = desk.shop.folder / "id_rsa.png"
    path.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    out, said = desk.prshots("show", str(path), code=1)
    assert (out, len(said.splitlines())) == ("", 1)
    assert "is not a PNG, JPEG or WebP image" in said
    with desk.service.client(desk.token) as client:
        assert client.get("/v1/staged", params={"branch": "cart"}).json()["staged"] == []
    desk.prshots("show", str(path), small, code=3)

    huge = desk.shop.folder / "huge.png"
    huge.write_bytes(Path(small).read_bytes() + bytes(6 * 1024 * 1024))
    _, said = desk.prshots("show", str(huge), code=1)
    assert "the service takes less than" in said
    _, said = desk.prshots("show", small, "--before", str(huge), code=1)
    assert "its before image is" in said

    for args, words in (
        (("--before", small), "needs the screenshot after it"),
        ((small, "--viewport", "wide"), "invalid viewport"),
        ((small, "--theme", "blue"), "invalid theme"),
        ((small, "--pr", "0"), "--pr"),
    ):
        assert words in desk.prshots("show", *args, code=2)[1]


def test_every_failure_is_one_json_object_with_a_code(desk: AgentDesk) -> None:
    (desk.shop.folder / "empty").mkdir()
    small = desk.screenshot("cart.png")
    closed = desk.forge.propose("cart", is_open=False)
    is_closed = 0, "pull_request_closed", f"Pull request {closed} is closed, so nothing was sent."
    for args, code, error_code, words in (
        (("show", small, "--pr", str(closed)), *is_closed),
        (("compare", "--pr", str(closed)), *is_closed),
        (("compare", "--pr", str(closed), "--commit", "0" * 40), *is_closed),
        (("show", "empty"), 1, "no_screenshots", "no screenshots at empty"),
        (("show", "empty/*.png"), 1, "no_screenshots", "no screenshots at empty/*.png"),
        (("show", "nowhere.png"), 1, "no_screenshots", "nowhere.png: no such file or folder"),
        (("show", small, "--pr", "0"), 2, "invalid_arguments", "got 0: use the number of a pull request"),
        (("show", "--nothing"), 2, "invalid_arguments", "No such option: --nothing"),
        (("show", small, "--token", f"msr_{'0' * 64}"), 1, "unauthorized", "refused the token"),
        (("show", small, "--url", "http://127.0.0.1:9"), 1, "unreachable", "127.0.0.1:9"),
        (("upload", "empty", "--pr", "7"), 1, "no_screenshots", "no screenshots found"),
        (("compare", "--commit", "x"), 2, "invalid_arguments", "got 'x': use 7 to 40"),
        (("compare",), 2, "invalid_arguments", "no open pull request from cart"),
        (("expire", "--url", "x.example.com", "--pr", "7"), 2, "invalid_arguments", "https://x.example.com"),
    ):
        out, said = desk.prshots(*args, "--json", code=code)
        reply = json.loads(out)
        assert (set(reply), reply["code"]) == ({"error", "code"}, error_code), args
        assert words in reply["error"]
        assert words in " ".join(said.split())


@pytest.mark.slow
def test_a_local_upload_links_the_gallery_to_the_pull_request(desk: AgentDesk) -> None:
    number = secrets.randbelow(10**6) + 10**6  # the database is shared
    desk.shop.git("remote", "set-url", "origin", "git@github.com:acme/shop.git")
    desk.prshots("upload", desk.screenshot("cart.png"), "--pr", str(number), "--no-compare")
    with sqlite3.connect(desk.service.data_dir / "prshots.db") as database:
        query = "SELECT repository, path FROM pulls JOIN projects ON id = project_id WHERE pr_number = ?"
        (described,) = database.execute(query, (number,)).fetchall()
    database.close()
    assert "/".join(part.strip("/") for part in described) == f"https://github.com/acme/shop/pull/{number}"
