"""The branch of a pull request, as CI names it: only images staged for it move."""

import pytest

from prshots.client.ci import Job
from prshots.client.heads import head_in_ci
from prshots.contract.errors import InvalidInputError

PULL = Job(ci="GitHub Actions", pr_number=7, source_branch="cart", repository="acme/shop", title="A cart")


def test_a_job_of_a_pull_request_names_its_branch() -> None:
    head = head_in_ci(PULL, None)
    assert (head.job, head.branch, head.repository, head.from_fork) == (PULL, "cart", "acme/shop", False)
    assert head_in_ci(PULL, 7) == head


def test_gitlabs_project_id_becomes_a_path() -> None:
    url = "https://gitlab.example.com/acme/web/shop"
    job = Job(ci="GitLab CI", pr_number=7, source_branch="cart", repository="16689", repository_url=url)
    assert head_in_ci(job, None).repository == "acme/web/shop"


def test_another_pull_request_has_an_unknown_branch() -> None:
    head = head_in_ci(PULL, 8)
    assert (head.job.pr_number, head.branch, head.job.title, head.job.source_branch) == (8, "", "", "")


def test_a_branch_without_a_pull_request_can_be_staged_for_but_not_the_default_one() -> None:
    job = Job(ci="Buildkite", branch="cart", default_branch="main", repository="acme/shop")
    head = head_in_ci(job, None)
    assert (head.branch, head.unknown) == ("cart", "this Buildkite job isn't for a pull request")
    for branch, words in (("main", "runs for main"), ("", "runs for no branch")):
        with pytest.raises(InvalidInputError, match=f"{words}. Use --pr"):
            head_in_ci(Job(ci="Buildkite", branch=branch, default_branch="main"), None)
