"""The ids that a trust pins, and the pull request or branch that a job runs for."""

from typing import Any

import pytest

from prshots.server.domain.projects.keyless import (
    branch_of,
    differing_ids,
    head_of,
    ids_to_pin,
    pull_request_of,
)

GITHUB = {"repository_id": 7, "repository_owner_id": "9", "actor_id": "1"}
GITLAB = {"project_id": "7", "namespace_id": "9", "user_id": "1"}


@pytest.mark.parametrize(
    ("required", "carried", "pins"),
    [
        ({"repository": "octo/app"}, GITHUB, {"repository_id": "7", "repository_owner_id": "9"}),
        ({"repository": "octo/*"}, GITHUB, {"repository_owner_id": "9"}),
        ({"repository_owner": "octo"}, GITHUB, {"repository_owner_id": "9"}),
        ({"sub": "repo:octo/app:*"}, GITHUB, {"repository_id": "7", "repository_owner_id": "9"}),
        ({"sub": "repo:octo@9/app@7:*"}, GITHUB, {"repository_id": "7", "repository_owner_id": "9"}),
        ({"sub": "repo:octo/*"}, GITHUB, {"repository_owner_id": "9"}),
        ({"sub": "repository_owner:octo:environment:x"}, GITHUB, {}),
        ({"repository_id": "7"}, GITHUB, {}),
        ({"repository_id": "7", "repository": "octo/app"}, GITHUB, {"repository_owner_id": "9"}),
        ({"repository": "octo/app"}, {"repository_id": "7"}, {"repository_id": "7"}),
        ({"repository": "octo/app"}, {"repository_id": ["7", "8"]}, {}),
        ({"project_path": "group/sub/app"}, GITLAB, {"project_id": "7", "namespace_id": "9"}),
        ({"project_path": "group/*"}, GITLAB, {}),
        ({"namespace_path": "group"}, GITLAB, {"namespace_id": "9"}),
        ({"sub": "project_path:group/app:*"}, GITLAB, {"project_id": "7", "namespace_id": "9"}),
        ({"sub": "project_path:group/*"}, GITLAB, {}),
        ({"repositoryUuid": "{1}"}, {"repositoryUuid": "{1}", "workspaceUuid": "{2}"}, {}),
    ],
)
def test_a_trust_pins_the_ids_behind_its_names(
    required: dict[str, str], carried: dict[str, Any], pins: dict[str, str]
) -> None:
    assert ids_to_pin(required, carried) == pins
    assert differing_ids(pins, carried) == {}


@pytest.mark.parametrize(
    ("carried", "number"),
    [
        ({"ref": "refs/pull/12/merge"}, 12),
        ({"ref": "refs/pull/12/head"}, 12),
        ({"ref": f"refs/heads/gh-readonly-queue/release/2/pr-12-{'a' * 40}"}, 12),
        ({"ref": "refs/heads/gh-readonly-queue/main/pr-12-x", "event_name": "merge_group"}, None),
        ({"ref": "topic", "ref_path": "refs/merge-requests/12/head"}, 12),
        ({"ref": "topic", "ref_path": "refs/heads/topic", "merge_request_iid": "12"}, 12),
        ({"pullRequestId": 12}, 12),
        ({"ref": "refs/heads/main", "event_name": "pull_request_target"}, None),
        ({"ref": "refs/heads/refs/pull/12/merge"}, None),
        ({"ref": "refs/pull/12/merge\n"}, None),
        ({"ref": "refs/pull/0/merge"}, None),
        ({"ref": "refs/pull/١٢/merge"}, None),
        ({"ref": None, "pullRequestId": True}, None),
        ({}, None),
    ],
)
def test_a_job_s_pull_request_is_read_from_its_claims(carried: dict[str, Any], number: int | None) -> None:
    assert pull_request_of(carried) == number


MAIN = {"ref": "refs/heads/main"}
PUSH = MAIN | {"event_name": "push"}


@pytest.mark.parametrize(
    ("required", "carried", "branch"),
    [
        (MAIN, PUSH, "main"),
        (MAIN, MAIN | {"event_name": "schedule"}, "main"),
        ({"ref": "refs/heads/release/*"}, {"ref": "refs/heads/release/1"}, "release/1"),
        ({"sub": "repo:octo/app:ref:refs/heads/main"}, PUSH, "main"),
        ({"ref": "main"}, {"ref": "main", "ref_type": "branch", "pipeline_source": "push"}, "main"),
        ({"ref_path": "refs/heads/main"}, {"ref": "main", "ref_path": "refs/heads/main"}, "main"),
        # The trust names no ref.
        ({"repository": "octo/app"}, PUSH, None),
        ({"ref": "*"}, PUSH, None),
        ({"sub": "repo:octo/app:*"}, PUSH, None),
        # The job runs for a pull request, regardless of its ref.
        ({"ref": "refs/pull/*"}, {"ref": "refs/pull/7/merge", "event_name": "pull_request"}, None),
        (MAIN, MAIN | {"event_name": "pull_request_target"}, None),
        (MAIN, MAIN | {"event_name": "workflow_run"}, None),
        (MAIN, MAIN | {"event_name": "issue_comment"}, None),
        # In a merge request's pipeline, GitLab's `ref` is the source branch, which may be called main.
        ({"ref": "main"}, {"ref": "main", "pipeline_source": "merge_request_event"}, None),
        ({"ref": "main"}, {"ref": "main", "ref_path": "refs/merge-requests/7/head"}, None),
        # No branch.
        ({"ref": "refs/tags/*"}, {"ref": "refs/tags/v1", "event_name": "push"}, None),
        ({"ref": "v1"}, {"ref": "v1", "ref_type": "tag"}, None),
        ({"ref": "main"}, {"ref": ["main", "next"]}, None),
        (MAIN, {}, None),
    ],
)
def test_a_job_can_write_baselines_of_the_branch_that_its_trust_names(
    required: dict[str, str], carried: dict[str, Any], branch: str | None
) -> None:
    assert branch_of(required, carried) == branch


@pytest.mark.parametrize(
    ("carried", "head"),
    [
        (PUSH, "main"),
        ({"ref": "refs/pull/7/merge", "event_name": "pull_request", "head_ref": "fix"}, "fix"),
        (MAIN | {"event_name": "pull_request_target", "head_ref": "fix"}, "fix"),
        ({"ref": "fix", "ref_path": "refs/heads/fix", "pipeline_source": "merge_request_event"}, "fix"),
        # These jobs run on the default branch, on behalf of any other.
        (MAIN | {"event_name": "workflow_run", "head_ref": ""}, None),
        (MAIN | {"event_name": "issue_comment"}, None),
        ({"ref": "refs/pull/7/merge"}, None),
        ({}, None),
    ],
)
def test_head_is_the_branch_that_the_job_runs_for(carried: dict[str, Any], head: str | None) -> None:
    assert head_of(carried) == head
