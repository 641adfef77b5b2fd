"""The commit of the screenshots, if necessary from git."""

import subprocess

from prshots.client.ci import validate
from prshots.client.ci.job import Job


def commit_of(job: Job, given: str = "") -> str:
    """Return the given commit, else the one from CI, else git's HEAD; empty if there is none."""
    return given or job.commit_sha or checked_out()


def checked_out() -> str:
    """Return the HEAD of the working folder; empty if it is not in a repository."""
    try:
        said = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],  # noqa: S607 - the job's own git
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):  # git is not installed, or hangs
        return ""
    return validate.commit(said.stdout) if said.returncode == 0 else ""
