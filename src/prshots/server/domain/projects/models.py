"""The records of projects, their tokens and trusts, and of the organizations that own them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from prshots.contract.errors import ForbiddenError
from prshots.contract.limits import Policy

DEFAULT_KEEP_BASELINES = 50
LOCAL_ORGANIZATION = "local"
"""The name and the id of the organization that owns projects created with the CLI."""


@dataclass(frozen=True, slots=True)
class Project:
    """`organization` is the name, for display only. Permissions and queries use `organization_id`.

    `repository` is the web address of its repository; empty if unknown. `keep_baselines` is how many commits
    of a branch keep their baselines. Without its own `uploads_per_minute`, the service's limit applies.
    """

    id: str
    name: str
    organization_id: str
    organization: str
    policy: Policy
    retain_days: int | None
    created_at: int
    keep_baselines: int = DEFAULT_KEEP_BASELINES
    repository: str = ""
    uploads_per_minute: int | None = None


@dataclass(frozen=True, slots=True)
class UploadToken:
    """An upload token without its secret: only the SHA-256, and a hint to tell tokens apart.

    `created_by` is the login of the person who created it; empty for the CLI. A token that a job got for its
    ID token is short-lived: it has an `expires_at`, and the trust that it was issued through. If the job runs
    for a pull request, it has its `pr_number`, and is good for nothing else. It can write baselines of
    `branch`, if it has one.
    """

    id: str
    project_id: str
    label: str
    hint: str
    sha256: str
    created_at: int
    created_by: str = ""
    last_used_at: int | None = None
    revoked_at: int | None = None
    expires_at: int | None = None
    trust_id: str | None = None
    pr_number: int | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """Lets CI jobs upload to a project if their ID token comes from this issuer and has these claims.

    In a claim's value, `*` matches any characters. `created_by` is as in UploadToken. `pins` are the ids of
    the repository and its owner, from the first job; later jobs must have the same. `refused_ids` are those
    of the last job that had others, and `refused_at` is when.
    """

    id: str
    project_id: str
    issuer: str
    claims: Mapping[str, str]
    created_at: int
    created_by: str = ""
    last_used_at: int | None = None
    pins: Mapping[str, str] | None = None
    refused_ids: Mapping[str, str] | None = None
    refused_at: int | None = None


@dataclass(frozen=True, slots=True)
class DayOfUploads:
    """The uploads of one day (in days since 1970, UTC), including images deleted since then."""

    day: int
    uploads: int
    bytes: int


class Role(StrEnum):
    OWNER = "owner"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """A project as one of its members sees it."""

    project: Project
    role: Role
    images: int
    bytes: int
    open_pulls: int
    last_upload_at: int | None


@dataclass(frozen=True, slots=True)
class Organization:
    id: str
    name: str
    personal: bool
    created_at: int


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
