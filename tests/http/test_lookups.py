"""What the event of a job does not name, asked of a server that answers as the forge does."""

from contextlib import AbstractContextManager, closing
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from prshots.client.ci import Job, Lookup
from prshots.client.job_forge import forge_of
from prshots.client.lookup import with_head, with_pull_request
from prshots.contract.errors import InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.forges import Merge
from support.http_server import Answer, answering, as_json
from support.vectors import cases, vectors

HEAD = vectors("lookups")["head"]


def forge_with(replies: dict[str, Any]) -> AbstractContextManager[str]:
    def answer(asked: BaseHTTPRequestHandler, _: bytes) -> Answer:
        if asked.path in replies and "secret" in asked.headers["Authorization"]:
            return as_json(200, replies[asked.path])
        return as_json(404, {"message": "Not Found"})

    return answering(answer)


@pytest.mark.parametrize("case", cases("lookups", "asked"))
def test_the_forge_names_what_the_event_does_not(case: dict[str, Any]) -> None:
    lookup = Lookup(case["lookup"])
    with forge_with(case["replies"]) as url:
        job = Job(
            ci="Actions",
            forge=ForgeKind(case["forge"]),
            forge_api=url,
            repository="octo/app",
            forge_token=case.get("token", "secret"),
            lookup=lookup,
            pr_number=12 if lookup is Lookup.HEAD else None,
            commit_sha="" if lookup is Lookup.HEAD else HEAD,
        )
        if "error" in case:
            with pytest.raises(InvalidInputError, match=case["error"]) as caught:
                with_head(with_pull_request(job), 12)
            option = "--commit (PRSHOTS_COMMIT)" if lookup is Lookup.HEAD else "--pr (PRSHOTS_PR)"
            assert option in str(caught.value)
            assert "secret" not in str(caught.value)
            return
        found = with_head(with_pull_request(job), 12)
    assert found.pr_number == case["pr_number"]
    assert found.commit_sha == case.get("commit_sha", HEAD)
    assert found.target_branch == case.get("target_branch", found.target_branch)
    assert found.already_closed == case.get("already_closed", False)


def test_a_job_whose_event_names_everything_asks_nothing() -> None:
    job = Job(ci="GitHub Actions", pr_number=12, commit_sha=HEAD)  # without a forge, asking would fail
    assert with_head(with_pull_request(job), 12) == job


OF_GITHUB = "/repos/octo/app/pulls/12"
OF_GITLAB = "/projects/octo%2Fapp/merge_requests/12"


@pytest.mark.parametrize(
    ("kind", "path", "said", "merge"),
    [
        ("github", OF_GITHUB, {"merged": True, "merge_commit_sha": HEAD}, HEAD),
        ("gitea", OF_GITHUB, {"merged": True, "merge_commit_sha": HEAD}, HEAD),
        # While it is open, it is the trial merge.
        ("github", OF_GITHUB, {"merged": False, "merge_commit_sha": HEAD}, None),
        ("github", OF_GITHUB, {"merged": True, "merge_commit_sha": None}, None),
        ("gitlab", OF_GITLAB, {"state": "merged", "merge_commit_sha": HEAD, "sha": "1" * 40}, HEAD),
        ("gitlab", OF_GITLAB, {"state": "merged", "merge_commit_sha": None, "squash_commit_sha": HEAD}, HEAD),
        ("gitlab", OF_GITLAB, {"state": "merged", "merge_commit_sha": None, "sha": HEAD}, HEAD),
        ("gitlab", OF_GITLAB, {"state": "closed", "sha": HEAD}, None),
    ],
)
def test_the_forge_names_the_commit_of_a_merge(
    kind: str, path: str, said: dict[str, Any], merge: str | None
) -> None:
    branch = {"base": {"ref": "main"}, "target_branch": "main"}
    with forge_with({path: branch | said}) as url:
        job = Job(forge=ForgeKind(kind), forge_api=url, repository="octo/app", forge_token="secret")
        with closing(forge_of(job)) as forge:
            assert forge.merge_of(12) == (Merge(merge, "main") if merge else None)
