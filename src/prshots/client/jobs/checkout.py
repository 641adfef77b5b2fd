"""The commit that is checked out here, where no CI says which one it is about."""

import subprocess

from prshots.client.jobs import well_formed


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
    return well_formed.commit(said.stdout) if said.returncode == 0 else ""
