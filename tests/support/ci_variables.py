"""The variables of CI jobs as each CI documents them, with their traps, and what is to be understood of them."""

from typing import Any

import pytest

HEAD = "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d"
MERGE = "ffac537e6cbbf934b08745a378932722df287a53"

GITHUB = {
    "CI": "true",
    "GITHUB_ACTIONS": "true",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_REF": "refs/pull/12/merge",
    "GITHUB_REPOSITORY": "octo/app",
    "GITHUB_RUN_ID": "1658821493",
    "GITHUB_RUN_NUMBER": "3",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_SHA": MERGE,
    "GITHUB_TOKEN": "ghs_1",
}
GITEA = GITHUB | {
    "GITEA_ACTIONS": "true",
    "GITHUB_API_URL": "https://gitea.example/api/v1",
    "GITHUB_SERVER_URL": "https://gitea.example",
}
GITLAB = {
    "CI": "true",
    "CI_API_V4_URL": "https://gitlab.example/api/v4",
    "CI_COMMIT_SHA": HEAD,
    "CI_JOB_TOKEN": "glcbt-64_1",
    "CI_MERGE_REQUEST_IID": "12",
    "CI_MERGE_REQUEST_PROJECT_ID": "34",
    "CI_MERGE_REQUEST_PROJECT_PATH": "group/sub/app",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": "",
    "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "34",
    "CI_PIPELINE_URL": "https://gitlab.example/group/sub/app/-/pipelines/5",
    "CI_PROJECT_ID": "34",
    "CI_PROJECT_PATH": "group/sub/app",
    "CI_SERVER_URL": "https://gitlab.example",
    "GITLAB_CI": "true",
    "GITLAB_TOKEN": "glpat-1",
}
GITLAB_BRANCH = {name: value for name, value in GITLAB.items() if "MERGE_REQUEST" not in name}
BITBUCKET = {
    "BITBUCKET_BRANCH": "feature",
    "BITBUCKET_BUILD_NUMBER": "7",
    "BITBUCKET_COMMIT": HEAD[:12],
    "BITBUCKET_PR_ID": "12",
    "BITBUCKET_REPO_FULL_NAME": "team/app",
    "BITBUCKET_TOKEN": "ATCTT1",
    "CI": "true",
}
CIRCLECI = {
    "CI": "true",
    "CIRCLECI": "true",
    "CIRCLE_BUILD_URL": "https://circleci.com/gh/octo/app/99",
    "CIRCLE_PULL_REQUEST": "https://github.com/octo/app/pull/12",
    "CIRCLE_REPOSITORY_URL": "git@github.com:octo/app.git",
    "CIRCLE_SHA1": HEAD,
    "GH_TOKEN": "ghp_1",
}
BUILDKITE = {
    "BUILDKITE": "true",
    "BUILDKITE_BUILD_URL": "https://buildkite.com/acme/app/builds/1514",
    "BUILDKITE_COMMIT": HEAD,
    "BUILDKITE_PIPELINE_PROVIDER": "github",
    "BUILDKITE_PULL_REQUEST": "12",
    "BUILDKITE_PULL_REQUEST_REPO": "git://github.com/octo/app.git",
    "BUILDKITE_REPO": "git@github.com:octo/app.git",
    "CI": "true",
}
AZURE = {
    "BUILD_BUILDID": "123",
    "BUILD_REPOSITORY_PROVIDER": "GitHub",
    "BUILD_REPOSITORY_URI": "https://github.com/octo/app",
    "BUILD_SOURCEBRANCH": "refs/pull/12/merge",
    "BUILD_SOURCEVERSION": MERGE,
    "SYSTEM_COLLECTIONURI": "https://dev.azure.com/acme/",
    "SYSTEM_PULLREQUEST_ISFORK": "False",
    "SYSTEM_PULLREQUEST_PULLREQUESTID": "448217319",
    "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER": "12",
    "SYSTEM_PULLREQUEST_SOURCECOMMITID": HEAD,
    "SYSTEM_TEAMPROJECT": "Our Apps",
    "TF_BUILD": "True",
}
WOODPECKER = {
    "CI": "woodpecker",
    "CI_COMMIT_PULL_REQUEST": "12",
    "CI_COMMIT_SHA": HEAD,
    "CI_FORGE_TYPE": "forgejo",
    "CI_FORGE_URL": "https://codeberg.org",
    "CI_PIPELINE_EVENT": "pull_request",
    "CI_PIPELINE_URL": "https://ci.codeberg.org/repos/1/pipeline/8",
    "CI_REPO": "octo/app",
}
JENKINS = {
    "BUILD_URL": "https://jenkins.example/job/app/job/PR-12/3/",
    "CHANGE_ID": "12",
    "CHANGE_URL": "https://git.example/group/sub/app/-/merge_requests/12",
    "GIT_COMMIT": HEAD,
    "GIT_URL": "https://ci:secret@git.example/group/sub/app.git",
    "JENKINS_URL": "https://jenkins.example/",
}
GHPRB = {
    "BUILD_URL": "https://jenkins.example/job/app/3/",
    "GIT_COMMIT": MERGE,
    "JENKINS_URL": "https://jenkins.example/",
    "ghprbActualCommit": HEAD,
    "ghprbAuthorRepoGitUrl": "https://github.example/ann/app.git",
    "ghprbPullId": "12",
    "ghprbPullLink": "https://github.example/octo/app/pull/12",
}
AT_GITHUB = {
    "forge": "github",
    "forge_api": "https://api.github.com",
    "forge_url": "https://github.com",
    "repository": "octo/app",
}
NO_PULL_REQUEST = {"pr_number": None, "closed": False, "from_fork": False}


def pull_request(**changes: Any) -> dict[str, Any]:
    pull = {
        "number": 12,
        "head": {"sha": HEAD, "repo": {"full_name": "octo/app"}},
        "base": {"sha": MERGE, "repo": {"full_name": "octo/app"}},
    }
    return {"action": "synchronize", "number": 12, "pull_request": pull | changes}


def run_of(pulls: list[dict[str, Any]], head: str = "octo/app") -> dict[str, Any]:
    return {
        "action": "completed",
        "repository": {"full_name": "octo/app"},
        "workflow_run": {"head_sha": HEAD, "head_repository": {"full_name": head}, "pull_requests": pulls},
    }


# The variables, the event that GitHub and its kin put into a file, and what the job is then known to be.
CASES = [
    pytest.param({}, None, {"ci": "", "pr_number": None, "forge": None, "forge_token": ""}, id="no CI"),
    pytest.param(
        {"GITHUB_ACTIONS": "false", "GITHUB_TOKEN": "x"},
        None,
        {"ci": "", "forge_token": ""},
        id="said no",
    ),
    # GitHub: GITHUB_SHA is a trial merge; who knows the head is the event.
    pytest.param(
        GITHUB,
        pull_request(),
        {
            **AT_GITHUB,
            "ci": "GitHub Actions",
            "pr_number": 12,
            "commit_sha": HEAD,
            "closed": False,
            "from_fork": False,
            "forge_token": "ghs_1",
            "run_url": "https://github.com/octo/app/actions/runs/1658821493",
        },
        id="github",
    ),
    pytest.param(
        GITHUB,
        pull_request() | {"action": "closed"},
        {"closed": True, "pr_number": 12},
        id="github-closed",
    ),
    pytest.param(
        GITHUB,
        pull_request(head={"sha": HEAD, "repo": {"full_name": "ann/app"}}),
        {"from_fork": True, "repository": "octo/app"},
        id="github-fork",
    ),
    pytest.param(
        GITHUB, pull_request(head={"sha": HEAD, "repo": None}), {"from_fork": True}, id="github-fork-gone"
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "pull_request_target", "GITHUB_REF": "refs/heads/main"},
        pull_request(),
        {"pr_number": 12, "commit_sha": HEAD},
        id="github-target",
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "pull_request_target", "GITHUB_REF": "refs/heads/main"},
        None,
        {"pr_number": None, "commit_sha": ""},
        id="github-target-without-its-event",
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_REF": "refs/heads/main"},
        run_of([{"number": 12}, {"number": 13}]),
        {"pr_number": 12, "commit_sha": HEAD, "from_fork": False},
        id="github-workflow-run",
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_REF": "refs/heads/main"},
        run_of([], head="ann/app"),
        {"pr_number": None, "commit_sha": HEAD},
        id="github-workflow-run-of-a-fork",
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_REF": "refs/heads/main"},
        {"action": "created", "issue": {"number": 12, "pull_request": {"url": "…"}}},
        {"pr_number": 12, "commit_sha": ""},
        id="github-comment-on-a-pull-request",
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_REF": "refs/heads/main"},
        {"action": "created", "issue": {"number": 12}},
        NO_PULL_REQUEST,
        id="github-comment-on-an-issue",
    ),
    pytest.param(
        GITHUB
        | {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-12-x"},
        {"action": "checks_requested", "merge_group": {"head_sha": MERGE}},
        {**NO_PULL_REQUEST, "commit_sha": MERGE},
        id="github-merge-queue",
    ),
    pytest.param(
        GITHUB | {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": HEAD},
        {"ref": "refs/heads/main", "commits": []},
        {**NO_PULL_REQUEST, "commit_sha": HEAD},
        id="github-push",
    ),
    pytest.param(GITHUB, None, {"pr_number": 12, "commit_sha": MERGE}, id="github-without-its-event"),
    pytest.param(GITHUB, [1], {"pr_number": 12}, id="github-event-is-a-list"),
    pytest.param(
        GITHUB,
        {"pull_request": {"number": True, "head": 1}},
        {"pr_number": 12},
        id="github-event-of-nonsense",
    ),
    pytest.param(
        GITHUB | {"GITHUB_API_URL": "", "GITHUB_SERVER_URL": "https://github.example"},
        None,
        {"forge_api": "https://github.example/api/v3"},
        id="github-enterprise",
    ),
    pytest.param(
        GITHUB | {"PRSHOTS_FORGE_TOKEN": " ghp_bot\n"},
        None,
        {"forge_token": "ghp_bot"},
        id="github-own-token",
    ),
    # Gitea and Forgejo set GitHub's variables too.
    pytest.param(
        GITEA,
        pull_request() | {"action": "closed"},
        {
            "ci": "Gitea Actions",
            "closed": True,
            "commit_sha": HEAD,
            "forge": "gitea",
            "forge_api": "https://gitea.example/api/v1",
            "forge_token": "ghs_1",
            "run_url": "https://gitea.example/octo/app/actions/runs/3",
        },
        id="gitea",
    ),
    pytest.param(
        {name: value for name, value in GITEA.items() if name != "GITEA_ACTIONS"},
        None,
        {"ci": "Gitea Actions", "forge": "gitea"},
        id="gitea-by-its-api",
    ),
    pytest.param(
        GITEA | {"GITEA_ACTIONS": "", "FORGEJO_ACTIONS": "true", "FORGEJO_TOKEN": "own"},
        None,
        {"forge": "gitea", "forge_token": "own"},
        id="forgejo",
    ),
    # GitLab: CI_COMMIT_SHA is a merge in pipelines for merged results.
    pytest.param(
        GITLAB,
        None,
        {
            "ci": "GitLab CI",
            "pr_number": 12,
            "commit_sha": HEAD,
            "from_fork": False,
            "forge": "gitlab",
            "forge_api": "https://gitlab.example/api/v4",
            "repository": "34",
            "forge_token": "glpat-1",
            "run_url": "https://gitlab.example/group/sub/app/-/pipelines/5",
        },
        id="gitlab",
    ),
    pytest.param(
        GITLAB | {"CI_COMMIT_SHA": MERGE, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": HEAD},
        None,
        {"commit_sha": HEAD},
        id="gitlab-merged-results",
    ),
    pytest.param(
        GITLAB | {"CI_PROJECT_ID": "99", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "99"},
        None,
        {"repository": "34", "from_fork": True},
        id="gitlab-fork",
    ),
    pytest.param(
        GITLAB_BRANCH | {"CI_OPEN_MERGE_REQUESTS": "group/sub/app!12,group/sub/app!13"},
        None,
        {"pr_number": 12, "repository": "34", "from_fork": False},
        id="gitlab-branch",
    ),
    pytest.param(
        GITLAB_BRANCH | {"CI_OPEN_MERGE_REQUESTS": "upstream/app!12"},
        None,
        {"pr_number": 12, "repository": "upstream/app", "from_fork": True},
        id="gitlab-branch-of-a-fork",
    ),
    pytest.param(GITLAB_BRANCH, None, {**NO_PULL_REQUEST, "commit_sha": HEAD}, id="gitlab-push"),
    pytest.param(
        GITLAB | {"GITLAB_TOKEN": ""}, None, {"forge_token": ""}, id="gitlab-job-token-is-not-taken"
    ),
    pytest.param(
        BITBUCKET,
        None,
        {
            "ci": "Bitbucket Pipelines",
            "pr_number": 12,
            "commit_sha": HEAD[:12],
            "forge": "bitbucket",
            "forge_api": "https://api.bitbucket.org/2.0",
            "repository": "team/app",
            "forge_token": "ATCTT1",
            "run_url": "https://bitbucket.org/team/app/pipelines/results/7",
        },
        id="bitbucket",
    ),
    pytest.param(BITBUCKET | {"BITBUCKET_PR_ID": ""}, None, NO_PULL_REQUEST, id="bitbucket-branch"),
    pytest.param(
        CIRCLECI,
        None,
        {**AT_GITHUB, "ci": "CircleCI", "pr_number": 12, "commit_sha": HEAD, "forge_token": "ghp_1"},
        id="circleci",
    ),
    pytest.param(
        CIRCLECI | {"CIRCLE_PR_NUMBER": "12"},
        None,
        {"pr_number": 12, "from_fork": True},
        id="circleci-fork",
    ),
    pytest.param(
        CIRCLECI
        | {
            "CIRCLE_PULL_REQUEST": "https://bitbucket.org/team/app/pull-requests/12",
            "CIRCLE_REPOSITORY_URL": "git@bitbucket.org:team/app.git",
        },
        None,
        {"pr_number": 12, "forge": "bitbucket", "repository": "team/app", "forge_token": ""},
        id="circleci-bitbucket",
    ),
    pytest.param(
        CIRCLECI | {"CIRCLE_PULL_REQUEST": "https://gitlab.com/group/sub/app/-/merge_requests/12"},
        None,
        {"pr_number": 12, "forge": "gitlab", "repository": "group/sub/app"},
        id="circleci-gitlab",
    ),
    pytest.param(
        CIRCLECI | {"CIRCLE_PULL_REQUEST": ""}, None, {**NO_PULL_REQUEST, **AT_GITHUB}, id="circleci-push"
    ),
    pytest.param(
        BUILDKITE,
        None,
        {**AT_GITHUB, "ci": "Buildkite", "pr_number": 12, "commit_sha": HEAD, "from_fork": False},
        id="buildkite",
    ),
    pytest.param(
        BUILDKITE | {"BUILDKITE_PULL_REQUEST": "false", "BUILDKITE_COMMIT": "HEAD"},
        None,
        {**NO_PULL_REQUEST, "commit_sha": ""},
        id="buildkite-without-one",
    ),
    pytest.param(
        BUILDKITE
        | {
            "BUILDKITE_PIPELINE_PROVIDER": "github_enterprise",
            "BUILDKITE_PULL_REQUEST_REPO": "https://code.example/ann/app.git",
            "BUILDKITE_REPO": "ssh://git@code.example:2222/octo/app.git",
        },
        None,
        {
            "forge": "github",
            "forge_api": "https://code.example/api/v3",
            "repository": "octo/app",
            "from_fork": True,
        },
        id="buildkite-fork-at-an-enterprise",
    ),
    pytest.param(
        AZURE,
        None,
        {
            **AT_GITHUB,
            "ci": "Azure Pipelines",
            "pr_number": 12,
            "commit_sha": HEAD,
            "from_fork": False,
            "run_url": "https://dev.azure.com/acme/Our%20Apps/_build/results?buildId=123",
        },
        id="azure-github",
    ),
    pytest.param(
        AZURE | {"SYSTEM_PULLREQUEST_PULLREQUESTNUMBER": "", "SYSTEM_PULLREQUEST_ISFORK": "True"},
        None,
        {"pr_number": 12, "from_fork": True},
        id="azure-github-fork",
    ),
    pytest.param(
        AZURE
        | {
            "BUILD_REPOSITORY_PROVIDER": "TfsGit",
            "BUILD_REPOSITORY_URI": "https://acme@dev.azure.com/acme/apps/_git/app",
            "SYSTEM_PULLREQUEST_PULLREQUESTID": "17",
            "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER": "$(System.PullRequest.PullRequestNumber)",
        },
        None,
        {"pr_number": 17, "forge": None, "forge_api": ""},
        id="azure-repos",
    ),
    pytest.param(
        WOODPECKER,
        None,
        {
            "ci": "Woodpecker",
            "pr_number": 12,
            "commit_sha": HEAD,
            "closed": False,
            "forge": "gitea",
            "forge_api": "https://codeberg.org/api/v1",
            "repository": "octo/app",
        },
        id="woodpecker",
    ),
    pytest.param(
        WOODPECKER | {"CI_PIPELINE_EVENT": "pull_request_closed"},
        None,
        {"closed": True},
        id="woodpecker-closed",
    ),
    pytest.param(
        WOODPECKER | {"CI_FORGE_TYPE": "addon", "CI_COMMIT_PULL_REQUEST": ""},
        None,
        {**NO_PULL_REQUEST, "forge": None},
        id="woodpecker-push",
    ),
    # Jenkins: the page of the merge request says which kind of forge git.example is.
    pytest.param(
        JENKINS,
        None,
        {
            "ci": "Jenkins",
            "pr_number": 12,
            "commit_sha": HEAD,
            "from_fork": False,
            "forge": "gitlab",
            "forge_api": "https://git.example/api/v4",
            "repository": "group/sub/app",
            "run_url": "https://jenkins.example/job/app/job/PR-12/3/",
        },
        id="jenkins",
    ),
    pytest.param(JENKINS | {"CHANGE_FORK": "ann"}, None, {"from_fork": True}, id="jenkins-fork"),
    pytest.param(
        JENKINS | {"CHANGE_ID": "", "CHANGE_URL": ""},
        None,
        {
            **NO_PULL_REQUEST,
            "forge": None,
            "forge_url": "https://git.example",
            "repository": "group/sub/app",
        },
        id="jenkins-branch",
    ),
    pytest.param(
        JENKINS | {"CHANGE_URL": "https://gitea.example/octo/app/pulls/12"},
        None,
        {"forge": "gitea", "forge_api": "https://gitea.example/api/v1"},
        id="jenkins-gitea",
    ),
    pytest.param(
        GHPRB,
        None,
        {
            "pr_number": 12,
            "commit_sha": HEAD,
            "from_fork": True,
            "forge_api": "https://github.example/api/v3",
        },
        id="jenkins-ghprb",
    ),
    # What is not well-formed counts as not said.
    pytest.param(GITLAB | {"CI_MERGE_REQUEST_IID": "0"}, None, {"pr_number": None}, id="number-zero"),
    pytest.param(
        GITLAB | {"CI_MERGE_REQUEST_IID": "2147483648"}, None, {"pr_number": None}, id="number-large"
    ),
    pytest.param(GITLAB | {"CI_MERGE_REQUEST_IID": "٣"}, None, {"pr_number": None}, id="number-arabic"),
    pytest.param(
        GITLAB | {"CI_MERGE_REQUEST_IID": "9" * 5000}, None, {"pr_number": None}, id="number-endless"
    ),
    pytest.param(GITLAB | {"CI_COMMIT_SHA": "83a20e"}, None, {"commit_sha": ""}, id="sha-short"),
    pytest.param(GITLAB | {"CI_COMMIT_SHA": HEAD + "0"}, None, {"commit_sha": ""}, id="sha-long"),
    pytest.param(
        GITHUB | {"GITHUB_REPOSITORY": "octo/../../admin"},
        None,
        {"repository": ""},
        id="repository-climbs",
    ),
    pytest.param(
        GITHUB | {"GITHUB_API_URL": "https://u:p@evil.example"},
        None,
        {"forge_api": "https://api.github.com"},
        id="api-with-a-password",
    ),
    pytest.param(GITHUB | {"GITHUB_TOKEN": "two\nlines"}, None, {"forge_token": ""}, id="token-of-two-lines"),
]
