"""The records of projects, their tokens and trusts, and the organizations that own them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from prshots.contract.errors import ForbiddenError, InvalidInputError
from prshots.contract.limits import Policy

MAX_NAME = 100
MAX_ADDRESS = 500

_PROJECT_ID = re.compile("[0-9a-f]{16}")


def check_name(kind: str, name: str) -> None:
    """Raise InvalidInputError for a name that can't be displayed or that could look like another name."""
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInputError(
            f"{kind}'s name takes 1 to {MAX_NAME} printable characters, without leading or trailing spaces; "
            f"got {name!r}"
        )


def check_organization_name(name: str) -> None:
    """Raise InvalidInputError for an invalid name. In `organization/name`, a slash is the separator."""
    check_name("an organization", name)
    if "/" in name:
        raise InvalidInputError(f"an organization's name cannot contain a slash; got {name!r}")


def check_repository(address: str) -> None:
    """Raise InvalidInputError unless the address is a web page that is safe to send a browser to."""
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_web = False
    if not is_web or not address.isprintable() or " " in address or len(address) > MAX_ADDRESS:
        raise InvalidInputError(
            f"repository takes a web address such as https://github.com/acme/shop; got {address!r}"
        )


class ProjectReference(NamedTuple):
    """A CI job's reference to its project: `organization/name`, or the project's id.

    Anyone can create a project with any name. A name alone therefore refers only to the organization `local`,
    which belongs to the operator. An empty reference means the project in `local` that trusts the job.
    """

    organization: str
    project: str

    @classmethod
    def parse(cls, text: str) -> "ProjectReference":
        organization, slash, name = text.partition("/")
        return cls(organization, name) if slash else cls("", text)

    @property
    def is_exact(self) -> bool:
        """Whether the reference identifies one project in the whole installation."""
        return bool(self.organization) or _PROJECT_ID.fullmatch(self.project) is not None

    def __str__(self) -> str:
        return f"{self.organization}/{self.project}" if self.organization else self.project


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

    `created_by` is the login of the person who created it, or empty for the CLI. `creator_id` is their user
    id, because a login can pass to another person. A keyless token is short-lived: it has an `expires_at` and
    the trust that issued it. If its job runs for a pull request, the token has a `pr_number` and is valid
    only for that pull request. With a `branch`, it can write that branch's baselines.
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
    creator_id: str | None = None


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
