"""Where a job's screenshots belong: to a pull request, to a branch as its baselines, or nowhere."""

from pathlib import Path
from typing import Any

import pytest

from prshots.cli.target import Target, target_of
from prshots.client.ci import Job
from prshots.contract.errors import ClosedPullRequestError, InvalidInputError
from support.vectors import cases

SHA = "83a20ec058e2fb00e7fa4558c4c6e81e2dcf253d"


@pytest.mark.parametrize("case", cases("upload_targets", "targets"))
def test_a_job_has_one_target(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    job = Job(commit_sha=SHA, **case["job"])
    branch = case.get("branch", "")
    if case["target"] is None:
        with pytest.raises(InvalidInputError, match="no pull request"):
            target_of(job, pr=None, commit="", branch=branch)
    elif case["target"] == "closed":
        with pytest.raises(ClosedPullRequestError, match="Pull request 7 is closed, so nothing was sent"):
            target_of(job, pr=None, commit="", branch=branch)
        assert target_of(job, pr=8, commit="", branch=branch) == Target(SHA, pr_number=8)
    else:
        expected = Target(SHA, **case["target"])
        assert target_of(job, pr=None, commit="", branch=branch) == expected
