"""The records of projects, their tokens and trusts, and the organizations that own them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from prshots.contract.limits import Policy

DEFAULT_KEEP_BASELINES = 50
LOCAL_ORGANIZATION = "local"
"""The name and the id of the organization that owns projects created with the CLI."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `organization` is a name for display only. Permissions and queries use `organization_id`.

    `repository` is the web address of its repository, or empty if unknown. `keep_baselines` is the number of
    commits per branch that keep their baselines. If `uploads_per_minute` is None, the service's limit
    applies.
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
    """An upload token without its secret. It has only the SHA-256, and a hint to tell tokens apart.

    `created_by` is the login of the person who created it, or empty for the CLI. A keyless token is
    short-lived: it has an `expires_at` and the trust that issued it. If its job runs for a pull request, the
    token has a `pr_number` and is valid only for that pull request. With a `branch`, it can write that
    branch's baselines.
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

    In a claim's value, `*` matches any characters. `created_by` has the same meaning as in UploadToken.
    `pins` are the ids of the repository and its owner from the first job. Later jobs must have the same ids.
    `refused_ids` are the ids of the last job that had different ones, and `refused_at` is the time of that
    job.
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
    """The uploads of one day (in days since 1970, UTC), including images deleted since."""

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
