"""Which commit the screenshots show: where nobody says, the one that is checked out here."""

import subprocess

from prshots.client.ci import validate
from prshots.client.ci.job import Job


def commit_of(job: Job, given: str = "") -> str:
    """Return the commit that was given, else the CI's, else git's; nothing when none of them says."""
    return given or job.commit_sha or checked_out()


def checked_out() -> str:
    """Return the commit of the working folder; nothing when that is in no repository."""
    try:
        said = subprocess.run(
            ["git", "rev-parse", "--verify", "HEAD"],  # noqa: S607 - whichever git the job uses
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):  # no git here, or one that hangs
        return ""
    return validate.commit(said.stdout) if said.returncode == 0 else ""
