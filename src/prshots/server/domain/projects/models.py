"""The records of projects, their tokens and trusts, and the organizations that own them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from prshots.contract.errors import ConflictError, ForbiddenError, InvalidInputError
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
REVIEWABLE = ("changed", "moved", "removed", "new")
"""The verdicts that can need a decision."""
DEFAULT_REVIEW_VERDICTS = "changed,moved,removed"
LOCAL_ORGANIZATION = "local"
"""The name and the id of the organization that owns projects created with the CLI."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `organization` is a name for display only. Permissions and queries use `organization_id`.

    `repository` is the web address of its repository, or empty if unknown. `keep_baselines` is the number of
    commits per branch that keep their baselines. If `uploads_per_minute` is None, the service's limit
    applies. `review_verdicts` are the verdicts that need a decision, joined by commas. With `four_eyes`, the
    author of a pull request can't approve it. The quotas are those that the operator set: in bytes, 0 for no
    limit, and None for the service's default.
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
    review_verdicts: str = DEFAULT_REVIEW_VERDICTS
    four_eyes: bool = False
    quota_bytes: int | None = None
    organization_quota_bytes: int | None = None

    @property
    def reviewed(self) -> frozenset[str]:
        """The verdicts that need a decision."""
        return frozenset(filter(None, self.review_verdicts.split(",")))


@dataclass(frozen=True, slots=True)
class UploadToken:
    """An upload token without its secret. It has only the SHA-256, and a hint to tell tokens apart.

    `created_by` is the login of the person who created it, or empty for the CLI. `creator_id` is their user
    id, because a login can pass to another person. `revoked_by` is a login, empty for the CLI, or None if
    unknown. A keyless token has the trust that issued it, and is valid for minutes. Its `branch` is the
    branch that its job runs for, if the issuer signed one. The token can write to that branch only if
    `pr_number` is None. If the job runs for a pull request, the token is valid only for that `pr_number`, and
    `branch` is the head. A `pr_number` of 0 means that the issuer didn't sign the number, as on GitLab.
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
    revoked_by: str | None = None


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
    """What a member may do, from the least to the most. Each role includes those before it."""

    VIEWER = "viewer"
    """Looks."""
    REVIEWER = "reviewer"
    """Decides about changes."""
    MAINTAINER = "maintainer"
    """Manages projects, tokens, trusts and retention, and deletes images."""
    OWNER = "owner"
    """Manages members, webhooks and connections, reads the audit log, and deletes projects."""

    @classmethod
    def _missing_(cls, value: object) -> "Role | None":
        """Accept the name that maintainers had before."""
        return cls.MAINTAINER if value == "member" else None

    def includes(self, needed: "Role") -> bool:
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(needed)

    def require(self, needed: "Role") -> None:
        """Raise ForbiddenError unless this role includes the needed one."""
        if not self.includes(needed):
            raise ForbiddenError(_ONLY[needed])


_ONLY = {
    Role.REVIEWER: "only a reviewer, maintainer or owner of the organization may do this",
    Role.MAINTAINER: "only a maintainer or owner of the organization may do this",
    Role.OWNER: "only an owner of the organization may do this",
}


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
    quota_bytes: int | None = None
    """As in Project."""

    def require_shared(self) -> None:
        """Raise ConflictError for a personal organization."""
        if self.personal:
            raise ConflictError("a personal organization has no other members: create one to share projects")


@dataclass(frozen=True, slots=True)
class Access:
    """The scope of an upload token: a project, or one of its pull requests. All its checks are here.

    `is_keyless` means that a job exchanged its ID token for this token, which is valid until `expires_at`. A
    keyless token can write baselines and stage images only for `branch`. It can move staged images only from
    `head`, or from any branch if the issuer didn't sign one.
    """

    project: Project
    only_pr: int | None = None
    is_keyless: bool = False
    branch: str | None = None
    head: str | None = None
    token_id: str = ""
    token_label: str = ""
    expires_at: int | None = None

    def covers_pr(self, pr_number: int) -> bool:
        return self.only_pr in {None, pr_number}

    def covers_branches(self, branches: Collection[str]) -> bool:
        """Return whether the token can change what belongs to all of these branches."""
        return not self.is_keyless or set(branches) == {self.branch}

    def require_pr(self, pr_number: int) -> None:
        """Raise ForbiddenError unless the token covers this pull request."""
        if not self.covers_pr(pr_number):
            raise ForbiddenError(
                f"this token is for pull request {self.only_pr} only, which its job runs for; got {pr_number}"
            )

    def require_branch(self, branch: str, act: str = "write baselines") -> None:
        """Raise ForbiddenError if the token can't do this for the branch."""
        if self.covers_branches({branch}):
            return
        if self.only_pr is not None:
            raise ForbiddenError(f"a job of a pull request cannot {act}")
        if self.branch is None:
            raise ForbiddenError(
                f"this token cannot {act}: add a `ref` to the trust of its job, such as refs/heads/main"
            )
        raise _wrong_branch(act, self.branch, branch)

    def require_head(self, branch: str) -> None:
        """Raise ForbiddenError if the token's job runs for a different branch."""
        if self.head not in {None, branch}:
            raise _wrong_branch("move staged images", self.head, branch)


def _wrong_branch(act: str, own: str | None, given: str) -> ForbiddenError:
    return ForbiddenError(f"this token can {act} of {own!r} only, which its job runs for; got {given!r}")
