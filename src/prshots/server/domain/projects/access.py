"""What an upload token gives access to."""

from dataclasses import dataclass

from prshots.contract.errors import ForbiddenError
from prshots.server.domain.projects.models import Project


@dataclass(frozen=True, slots=True)
class Access:
    """What an upload token is for: a project, or one pull request of it.

    `is_keyless`: a job got it for its ID token. Then it can write baselines of `branch` only, and it is good
    until `expires_at`.
    """

    project: Project
    only_pr: int | None = None
    is_keyless: bool = False
    branch: str | None = None
    token_id: str = ""
    expires_at: int | None = None

    @property
    def has_baselines(self) -> bool:
        """Whether it can change baselines at all."""
        return not self.is_keyless or self.branch is not None


def require_branch(access: Access, branch: str, act: str = "write baselines") -> None:
    """Raise ForbiddenError if the caller's token cannot do this for this branch."""
    if not access.is_keyless or access.branch == branch:
        return
    if access.only_pr is not None:
        raise ForbiddenError(f"a job of a pull request cannot {act}")
    if access.branch is None:
        raise ForbiddenError(
            f"this token cannot {act}: add a `ref` to the trust of its job, such as refs/heads/main"
        )
    raise ForbiddenError(
        f"this token can {act} of {access.branch!r} only, which its job runs for; got {branch!r}"
    )
