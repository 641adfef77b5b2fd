"""Commit statuses: one contract for every forge, and the rules of each."""

import secrets
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import pytest

from prshots.client.ci import Job
from prshots.client.job_forge import forge_of
from prshots.contract.errors import ForgeError, ForgeRefusedError
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import CommitState
from support.forges.bitbucket_look_alike import BitbucketLookAlike
from support.forges.forge_fixtures import short_pauses  # noqa: F401 - a fixture of every test here
from support.forges.forge_places import Place, forge_at, place_on_each_forge  # noqa: F401 - a fixture
from support.forges.forge_server import Account, Answer
from support.forges.gitlab_look_alike import GitLabLookAlike
from support.forges.look_alikes import GitHubLookAlike
from support.unreliable_proxy import refuse

PAGE = "https://prshots.example.com/acme/shop/pulls/11"
WAITS = CommitStatus(CommitState.PENDING, "3 screenshots wait", PAGE)
PASSED = CommitStatus(CommitState.SUCCESS, "no changes", "")
MISSING = {
    "github": "`statuses: write`",
    "gitea": r"required=\[write:repository\]",
    "gitlab": "Developer for commit statuses",
    "bitbucket": r"\(it requires repository\)",
}


@pytest.fixture
def sha() -> str:
    """Return a commit that has no status."""
    return secrets.token_hex(20)


def test_a_status_is_set_again_with_any_state_and_description(place: Place, sha: str) -> None:
    states = [
        "pending",
        "pending",
        "pending",
        "success",
        "success",
        "pending",
        "failure",
        "failure",
        "success",
    ]
    wanted = [
        CommitStatus(CommitState(state), f"{index // 2} wait", PAGE) for index, state in enumerate(states)
    ]
    for status in wanted:
        place.forge.set_status(sha, status)
    assert place.look_alike.statuses(sha) == [status[:3] for status in wanted]


def test_each_project_has_its_status(place: Place, sha: str) -> None:
    long = "prshots/a long name of a project, a long name of a project, web"
    key = "prshots/a long name of a projec-2f94363d"  # a key of Bitbucket has at most 40 characters
    shown = {name: key if place.look_alike.name == "bitbucket" and name == long else name for name in (long,)}
    for state in (CommitState.PENDING, CommitState.SUCCESS):
        for name in ("prshots", "prshots/web", long):
            place.forge.set_status(sha, CommitStatus(state, name, PAGE, name))
    for name in ("prshots", "prshots/web", long):
        found = place.look_alike.statuses(sha, shown.get(name, name))
        assert found == [("pending", name, PAGE), ("success", name, PAGE)]


def test_a_long_description_is_cut_by_what_the_forge_counts(place: Place, sha: str) -> None:
    longest = "\N{PARTY POPPER}" * place.forge.max_description
    for words in (longest, f"{longest}!"):
        place.forge.set_status(sha, PASSED._replace(description=words))
    assert [words for _, words, _ in place.look_alike.statuses(sha)] == [longest, f"{longest[:-1]}…"]


def test_a_token_without_the_permission_gets_an_error_that_names_it(place: Place, sha: str) -> None:
    for token in (place.look_alike.no_status_token, place.look_alike.read_only_token):
        with pytest.raises(ForgeRefusedError, match=MISSING[place.look_alike.name]):
            place.another_forge(token).set_status(sha, PASSED)
    assert place.look_alike.statuses(sha) == []


def test_an_unknown_commit_is_an_error(place: Place) -> None:
    with pytest.raises(ForgeError, match=r"(?i)(no commit|commit not) found|Gitea answered 500"):
        place.forge.set_status(place.look_alike.unknown_commit, PASSED)


def test_a_malformed_answer_is_an_error(place: Place, sha: str) -> None:
    for answer in (None, [], {}, "prshots", ["prshots"], [{"context": "prshots"}], {"id": 7}):
        place.front.will(refuse(200, body=answer), when="POST /")
        with pytest.raises(ForgeError, match="something other than a commit status"):
            place.forge.set_status(sha, PASSED)


def test_gitlab_pending_status_is_ended_before_another_one_starts(sha: str) -> None:
    with GitLabLookAlike() as gitlab:
        gitlab.accounts["of the service"] = Account("prshots-service")
        with forge_at(gitlab) as job, forge_at(gitlab, "of the service") as service:
            job.set_status(sha, WAITS)
            job.set_status(sha, WAITS)
            service.set_status(sha, PASSED)  # leaves the job's own status pending
            job.set_status(sha, WAITS)
        ended = [status.state for status in gitlab.pipelines.external_jobs]
        assert ended == ["canceled", "canceled", "success", "pending"]
        assert [state for state, *_ in gitlab.statuses(sha)] == ["pending", "pending", "success", "pending"]


def test_gitlab_pending_status_is_set_while_other_jobs_set_it(
    sha: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GitLabLookAlike() as gitlab, forge_at(gitlab) as forge:
        set_status, rivals = gitlab.pipelines.set_status, iter(range(4))

        def set_after_a_rival(sha: str, given: Mapping[str, str], owner: str) -> Answer:
            if given["state"] == "pending" and next(rivals, None) is not None:
                set_status(sha, {**given, "description": "another"}, owner)
            return set_status(sha, given, owner)

        monkeypatch.setattr(gitlab.pipelines, "set_status", set_after_a_rival)
        forge.set_status(sha, WAITS)
        assert gitlab.statuses(sha) == [WAITS[:3]]


def test_gitlab_errors_say_what_stops_the_status(sha: str) -> None:
    with GitLabLookAlike() as gitlab, forge_at(gitlab) as forge:
        with pytest.raises(ForgeRefusedError, match="a fork, run a merge request pipeline in acme/shop"):
            forge.set_status(gitlab.fork_commit, PASSED)
        with pytest.raises(ForgeError, match="target_url is too long"):
            forge.set_status(sha, PASSED._replace(url=PAGE + "0" * 255))
        gitlab.pipelines.job_names.add("prshots")
        with pytest.raises(ForgeError, match="job with the same name: rename the job"):
            forge.set_status(sha, PASSED)
        assert gitlab.statuses(sha) == []


def test_github_errors_say_what_stops_the_status(github: GitHubLookAlike, sha: str) -> None:
    job = Job(forge=ForgeKind.GITHUB, forge_api=github.enterprise_url, repository=github.repository)
    with (
        closing(forge_of(replace(job, forge_token=github.no_scope_token))) as forge,
        pytest.raises(ForgeRefusedError, match=rf"nothing at /api/v3/.*{sha}, or the token may not set"),
    ):
        forge.set_status(sha, PASSED)
    github.fill_statuses(sha)
    with (
        closing(forge_of(replace(job, forge_token=github.token))) as forge,
        pytest.raises(ForgeError, match=r"does not accept .*: .*reached the maximum number of statuses"),
    ):
        forge.set_status(sha, PASSED)


def test_bitbucket_status_is_changed_only_by_its_creator_and_always_has_a_link(sha: str) -> None:
    with BitbucketLookAlike() as bitbucket:
        with forge_at(bitbucket) as forge:
            forge.set_status(sha, PASSED)
        with (
            forge_at(bitbucket, bitbucket.access_token) as forge,
            pytest.raises(ForgeRefusedError, match="only the token that created a status can change it"),
        ):
            forge.set_status(sha, WAITS)
        page = f"https://bitbucket.org/acme/shop/commits/{sha}"
        assert bitbucket.statuses(sha) == [PASSED._replace(url=page)[:3]]
