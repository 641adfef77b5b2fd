"""Behavior specific to GitLab, to Gitea and Forgejo, and to Bitbucket."""

from collections.abc import Iterator

import pytest

from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError
from prshots.forges.sticky_comment import keep_current
from support.forges.bitbucket_look_alike import BitbucketLookAlike
from support.forges.forge_fixtures import says, short_pauses  # noqa: F401 - short_pauses is a fixture of every test here
from support.forges.forge_places import forge_at
from support.forges.gitea_look_alike import GiteaLookAlike
from support.forges.gitlab_look_alike import HIDDEN, SYSTEM, GitLabLookAlike

# GitLab.


@pytest.fixture
def gitlab() -> Iterator[GitLabLookAlike]:
    with GitLabLookAlike() as made:
        yield made


def test_gitlab_project_is_found_by_id_or_by_nested_group_path(gitlab: GitLabLookAlike) -> None:
    with forge_at(gitlab, repository=str(gitlab.project_id)) as forge:
        made = forge.create(11, "by its id")
    gitlab.repository = "acme/web team/shop"
    with forge_at(gitlab) as forge:
        assert [comment.body for comment in forge.comments(11)] == ["by its id"]
    assert "/projects/acme%2Fweb%20team%2Fshop/merge_requests/11/notes?" in gitlab.requests[-2]
    assert made.url == f"{gitlab.public_url}/acme/shop/-/merge_requests/11#note_{made.id}"


def test_gitlab_system_notes_and_pages_of_hidden_notes_are_skipped(
    gitlab: GitLabLookAlike,
) -> None:
    gitlab.page_size = 2
    gitlab.write_as("ann", "first")
    gitlab.write_as("ann", "assigned to @ann", SYSTEM)
    for _ in range(4):  # two pages with no visible comment
        gitlab.write_as("ann", "mentioned in a place that is not yours to see", HIDDEN)
    gitlab.write_as("bob", "last")
    with forge_at(gitlab) as forge:
        assert [comment.body for comment in forge.comments(11)] == ["first", "last"]


def test_gitlab_errors_explain_which_token_is_required(gitlab: GitLabLookAlike) -> None:
    with forge_at(gitlab, token="the-jobs-own") as forge, pytest.raises(ForgeError, match="CI_JOB_TOKEN"):
        forge.create(11, "text")
    gitlab.locked = True
    with (
        forge_at(gitlab, token=gitlab.outsider_token) as forge,
        pytest.raises(ForgeRefusedError, match=r"403 Forbidden.*scope api.*Reporter"),
    ):
        forge.create(11, "text")
    with (
        forge_at(gitlab) as forge,
        pytest.raises(NotFoundError, match="merge_requests/12/notes, or the token"),
    ):
        list(forge.comments(12))


# Gitea and Forgejo.


@pytest.fixture
def gitea() -> Iterator[GiteaLookAlike]:
    with GiteaLookAlike() as made:
        yield made


def test_gitea_actions_token_updates_its_own_comment(gitea: GiteaLookAlike) -> None:
    for text in ("one", "two"):
        with forge_at(gitea, gitea.actions_token) as forge:
            keep_current(forge, 11, says(f"{forge.marker(11)}\n{text}"))
    (comment,) = gitea.comments()
    assert (comment.author, comment.body) == ("gitea-actions", "<!-- svc:pr-11 -->\ntwo")


def test_gitea_token_without_read_user_scope_is_refused_and_posts_nothing(gitea: GiteaLookAlike) -> None:
    gitea.write_as("somebody", "<!-- svc:pr-11 -->\nby hand")
    with forge_at(gitea, gitea.unscoped_token) as forge, pytest.raises(ForgeRefusedError, match="read:user"):
        keep_current(forge, 11, says("<!-- svc:pr-11 -->\ntext"))
    assert [comment.body for comment in gitea.comments()] == ["<!-- svc:pr-11 -->\nby hand"]


def test_gitea_pull_request_that_does_not_exist_is_not_found(gitea: GiteaLookAlike) -> None:
    """Its comments are a 500, which would be tried again."""
    with forge_at(gitea) as forge, pytest.raises(NotFoundError) as missing:
        list(forge.comments(12))
    assert missing.value.is_final


def test_gitea_comment_on_a_locked_conversation_is_refused(gitea: GiteaLookAlike) -> None:
    gitea.locked = True
    with forge_at(gitea, gitea.outsider_token) as forge, pytest.raises(ForgeRefusedError, match="locked"):
        forge.create(11, "text")


# Bitbucket.


@pytest.fixture
def bitbucket() -> Iterator[BitbucketLookAlike]:
    with BitbucketLookAlike() as made:
        yield made


def test_bitbucket_access_token_changes_only_its_own_comments(bitbucket: BitbucketLookAlike) -> None:
    marker = "[//]: # (svc:pr-11)"
    bitbucket.write_as("somebody", f"{marker}\nby hand")
    for _ in range(2):  # from two concurrent jobs
        bitbucket.write_as("shop-screenshots", f"{marker}\nold")
    for text in ("one", "one", "two"):
        with forge_at(bitbucket, bitbucket.access_token) as forge:
            keep_current(forge, 11, says(f"{marker}\n{text}"))
    assert [(comment.author, comment.body) for comment in bitbucket.comments()] == [
        ("somebody", f"{marker}\nby hand"),
        ("shop-screenshots", f"{marker}\ntwo"),
    ]


def test_bitbucket_read_only_access_token_is_refused(bitbucket: BitbucketLookAlike) -> None:
    account = bitbucket.accounts[bitbucket.access_token]
    bitbucket.accounts["read"] = type(account)(account.login, may_write=False, may_ask_who=False)
    bitbucket.write_as(account.login, "[//]: # (svc:pr-11)\nold")
    with (
        forge_at(bitbucket, "read") as forge,
        pytest.raises(
            ForgeRefusedError,
            match=r"scopes\. \(it requires pullrequest:write\)\. Bitbucket needs .*read:pullrequest",
        ),
    ):
        keep_current(forge, 11, says("[//]: # (svc:pr-11)\nnew"))
