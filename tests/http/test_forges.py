"""One contract for every forge, over real HTTP with a look-alike of each."""

import re
from datetime import datetime

import pytest

from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError
from prshots.forges.gitlab import GitLab
from prshots.forges.sticky_comment import PostOutcome, keep_current
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.service import DEFAULT_LIMIT, all_view
from support.comment_entries import listed_image, url_of
from support.forges.forge_fixtures import says, short_pauses  # noqa: F401 - short_pauses is a fixture of every test here
from support.forges.forge_places import GitHubAsTheOthers, Place, place_on_each_forge  # noqa: F401 - a fixture
from support.forges.gitea_look_alike import GiteaLookAlike
from support.unreliable_proxy import CUT, UnreliableProxy, refuse, slow

ELSEWHERE = "https://img.example.com/i/0123.png?exp=1&token=k1.abc"


@pytest.fixture
def text(place: Place) -> str:
    """Return a comment as the service writes it for this forge."""
    return _text(place)


def _text(place: Place, *names: str) -> str:
    entries = [
        listed_image(name, "1280x800", "0123456789", ELSEWHERE) for name in names or ("checkout/cart",)
    ]
    marker = place.forge.marker_style
    frame = Frame(place.pr_number, "https://prshots.example.com", DEFAULT_LIMIT, marker)
    return all_view(frame, len(entries), entries, url_of).markdown


def test_a_comment_is_created_listed_updated_and_deleted(place: Place, text: str) -> None:
    forge = place.forge
    made = forge.create(place.pr_number, text)
    assert made.author == forge.me()
    assert made.url.startswith("http")
    assert made.id in made.url
    assert [(found.id, found.author, found.url) for found in forge.comments(place.pr_number)] == [
        (made.id, made.author, made.url)
    ]
    assert text.startswith(forge.marker(place.pr_number))

    special = f"{forge.marker(place.pr_number)}\n\n«größer» 漢字 🎉 \\ \" ' <b> & %2F\n\n| a | b |\n|---|---|"
    forge.update(place.pr_number, made.id, special)
    assert [(found.id, found.body) for found in forge.comments(place.pr_number)] == [(made.id, special)]

    forge.delete(place.pr_number, made.id)
    assert list(forge.comments(place.pr_number)) == []
    forge.delete(place.pr_number, made.id)  # already deleted: not an error
    with pytest.raises(NotFoundError):
        forge.update(place.pr_number, made.id, text)
    assert place.bodies() == []


def test_comments_are_listed_in_order_across_pages(place: Place) -> None:
    place.look_alike.page_size = 2
    if isinstance(place.look_alike, GiteaLookAlike):
        place.look_alike.pages = True
    for number in range(5):
        place.look_alike.write_as(f"person-{number % 2}", f"comment {number}")
    place.look_alike.public_url = "http://a-host-that-only-the-forge-knows.invalid"

    found = list(place.forge.comments(place.pr_number))
    assert [comment.body for comment in found] == [f"comment {number}" for number in range(5)]
    assert len({comment.id for comment in found}) == 5
    if not isinstance(place.look_alike, GitHubAsTheOthers):  # GitHub has 100 per page
        assert sum("page=" in request for request in place.front.seen) >= 2


def test_a_read_only_token_gets_an_error_that_names_what_it_needs(place: Place, text: str) -> None:
    token = place.look_alike.read_only_token
    forge = place.another_forge(token)
    assert list(forge.comments(place.pr_number)) == []
    with pytest.raises(ForgeRefusedError) as refused:
        forge.create(place.pr_number, text)
    assert re.search("write|scope api", str(refused.value))
    assert token not in str(refused.value)
    assert place.bodies() == []
    assert place.writes() == 1  # a refusal is not retried


def test_a_wrong_token_is_refused_and_never_shown(place: Place) -> None:
    wrong = "wrong-secret-0123456789"
    forge = place.another_forge(wrong)
    with pytest.raises(ForgeError, match="refused the token") as refused:
        list(forge.comments(place.pr_number))
    assert wrong not in str(refused.value)
    assert wrong not in repr(forge)


def test_an_unknown_repository_is_an_error(place: Place, text: str) -> None:
    forge = place.another_forge(repository="acme/gone")
    for attempt in (
        lambda: list(forge.comments(place.pr_number)),
        lambda: forge.create(place.pr_number, text),
    ):
        with pytest.raises((NotFoundError, ForgeError), match="may not read"):
            attempt()
    assert place.bodies() == []


def test_temporary_failures_are_retried(place: Place, text: str) -> None:
    place.front.will(refuse(502), times=2)
    place.front.will(CUT)
    place.front.will(slow(0.02))
    forge = place.forge
    made = forge.create(place.pr_number, text)
    place.front.will(CUT)
    place.front.will(refuse(503))
    forge.update(place.pr_number, made.id, text + "\nmore")
    place.front.will(refuse(500), when="DELETE")
    forge.delete(place.pr_number, made.id)
    assert place.bodies() == []
    assert place.front._plans == []
    assert place.waits


NONSENSE = [None, [], {}, "text", 7, [[]], ["text"], {"values": None}, {"values": [7]}, {"id": None}, [{}]]


def test_a_malformed_answer_raises_a_forge_error(place: Place) -> None:
    forge = place.forge
    for answer in NONSENSE:
        place.front.will(refuse(200, body=answer), when="POST /")
        with pytest.raises(ForgeError):
            forge.create(place.pr_number, "text")
    for answer in [entry for entry in NONSENSE if entry != []]:
        place.front.will(refuse(200, body=answer), when="GET /", times=2)
        with pytest.raises(ForgeError):
            list(forge.comments(place.pr_number))
        place.front._plans.clear()


def test_the_token_is_not_sent_to_another_host_on_a_redirect(place: Place) -> None:
    with UnreliableProxy(place.front.url) as elsewhere:
        for status in (301, 307):
            place.front.will(refuse(status, {"Location": f"{elsewhere.url}/steal"}))
            with pytest.raises(ForgeError, match="does not get our token"):
                list(place.forge.comments(place.pr_number))
        assert elsewhere.seen == []


# The pull request of a branch.


def test_the_open_pull_request_of_a_branch_is_found_and_never_a_forks(place: Place) -> None:
    branch = f'feat/{place.pr_number}-"cart"&more=100%'
    ours = place.look_alike.propose(branch)
    theirs = place.look_alike.propose(branch, "stranger/shop")
    place.look_alike.propose(f"{branch}-old", is_open=False)
    place.look_alike.propose(f"{branch}-alien", "stranger/shop")

    (found,) = place.forge.open_from(branch)
    assert (found.number, found.branch, found.from_fork, found.target_branch) == (ours, branch, False, "main")
    assert found.repository in {place.look_alike.repository, ""}
    assert found.url.endswith(f"/{ours}")
    assert found.title
    (fork,) = place.forge.open_from(branch, "stranger/shop")
    assert (fork.number, fork.branch, fork.from_fork) == (theirs, branch, True)
    for name in (f"{branch}-old", f"{branch}-alien", "nothing"):
        assert place.forge.open_from(name) == []

    assert place.forge.pull_request(ours).branch == branch
    assert not place.forge.pull_request(ours).from_fork
    assert place.forge.pull_request(theirs).from_fork
    with pytest.raises(NotFoundError):
        place.forge.pull_request(99_999)


def test_a_malformed_pull_request_raises_a_forge_error(place: Place) -> None:
    for answer in (None, [], {}, "text", 7, {"number": "x"}, {"id": None}):
        place.front.will(refuse(200, body=answer), when="GET /")
        with pytest.raises(ForgeError):
            place.forge.pull_request(place.pr_number)
        place.front.will(refuse(200, body=[answer]), when="GET /")
        with pytest.raises(ForgeError):
            place.forge.open_from("cart")


def test_reviews_and_comments_on_lines_are_listed_apart_from_the_conversation(place: Place) -> None:
    place.look_alike.write_as("ann", "in the conversation")
    place.look_alike.write_on_line("ann", "on a line")
    conversation, reviews = (
        [*listed(place.pr_number)] for listed in (place.forge.comments, place.forge.reviews)
    )
    if isinstance(place.forge, GitLab):  # has all of them among its notes
        assert [one.body for one in conversation] == ["in the conversation", "on a line"]
        return
    assert [one.body for one in conversation] == ["in the conversation"]
    (review,) = reviews
    assert (review.body, bool(review.url)) == ("on a line", True)
    assert re.fullmatch(r"\S+:\d+", review.place)
    for one in (*conversation, review):
        assert one.created_at <= one.updated_at
        assert datetime.fromisoformat(one.created_at)


REVIEWS = {  # what each forge calls a request for changes
    "github": "CHANGES_REQUESTED",
    "gitea": "REQUEST_CHANGES",
    "gitlab": "requested_changes",
    "bitbucket": "changes_requested",
}


def test_a_review_without_a_text_has_its_state(place: Place) -> None:
    place.look_alike.review_as("ann", REVIEWS[place.look_alike.name])
    (review,) = place.forge.reviews(place.pr_number)
    assert (review.state, review.body) == ("changes_requested", "")
    assert bool(review.created_at) is not isinstance(place.forge, GitLab)


# The sticky comment, kept current.


def test_the_sticky_comment_is_created_once_and_updated_only_when_changed(place: Place, text: str) -> None:
    theirs = f"{place.forge.marker(place.pr_number)}\nI was here first"
    place.look_alike.write_as("somebody", theirs)
    posted = keep_current(place.forge, place.pr_number, says(text))
    assert posted.outcome is PostOutcome.CREATED
    assert str(place.look_alike.comments()[-1].id) in posted.url

    before = place.writes()
    assert keep_current(place.forge, place.pr_number, says(text)).outcome is PostOutcome.UNCHANGED
    assert keep_current(place.forge, place.pr_number, says(f"{text}\n\n")).outcome is PostOutcome.UNCHANGED
    assert place.writes() == before

    more = _text(place, "checkout/cart", "checkout/done")
    changed = keep_current(place.forge, place.pr_number, says(more))
    assert (changed.outcome, changed.url) == (PostOutcome.UPDATED, posted.url)
    assert [body.rstrip() for body in place.bodies()] == [theirs, more.rstrip()]


def test_another_accounts_comment_about_the_project_is_kept(place: Place, text: str) -> None:
    marker, rest = text.split("\n", 1)
    line = place.forge.marker_style.project_line("web")
    place.look_alike.write_as("somebody", f"{marker}\n{line}\nold")
    posted = keep_current(place.forge, place.pr_number, says(f"{marker}\n{line}\n{rest}"))
    assert (posted.outcome, posted.is_older) == (PostOutcome.KEPT, True)
    assert place.bodies() == [f"{marker}\n{line}\nold"]


def test_the_description_is_changed_by_a_token_that_may_write(place: Place) -> None:
    place.look_alike.description = "Look:\n\n![cart](https://img.example.com/x.png)"
    text = place.forge.description(place.pr_number)
    assert text == place.look_alike.description
    place.forge.set_description(place.pr_number, f"{text}!")
    assert place.look_alike.description == f"{text}!"
    with pytest.raises(ForgeRefusedError):
        place.another_forge(place.look_alike.read_only_token).set_description(place.pr_number, "")
    assert place.look_alike.description == f"{text}!"
