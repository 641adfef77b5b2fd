"""The access that an upload token grants."""

from dataclasses import dataclass

from prshots.contract.errors import ForbiddenError
from prshots.server.domain.projects.models import Project


@dataclass(frozen=True, slots=True)
class Access:
    """The scope of an upload token: a project, or one of its pull requests.

    `is_keyless` means that a job exchanged its ID token for this token. A keyless token can write baselines
    only for `branch`, and it is valid until `expires_at`.
    """

    project: Project
    only_pr: int | None = None
    is_keyless: bool = False
    branch: str | None = None
    token_id: str = ""
    expires_at: int | None = None

    @property
    def has_baselines(self) -> bool:
        """Whether the token can change any baselines."""
        return not self.is_keyless or self.branch is not None


def require_branch(access: Access, branch: str, act: str = "write baselines") -> None:
    """Raise ForbiddenError if the caller's token can't do this for the branch."""
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
