"""What the service keeps: plain frozen records, without behaviour that needs anything else."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from prshots.contract.limits import Policy
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key, origin_keys

SECONDS_PER_DAY = 86_400
URL_LIFETIME_SECONDS = 365 * SECONDS_PER_DAY
LOCAL_ORGANIZATION = "local"
"""The organization of what the command line makes: its name, and its id too."""


@dataclass(frozen=True, slots=True)
class Project:
    """`organization` is the name, for people; rights and look-ups go by `organization_id`."""

    id: str
    name: str
    organization_id: str
    organization: str
    policy: Policy
    retain_days: int | None
    created_at: int


@dataclass(frozen=True, slots=True)
class UploadToken:
    """An upload token without its secret: of that, only the SHA-256 and a hint to tell tokens apart.

    `created_by` is who issued it, by login; empty for the command line. One that a job's ID token was
    exchanged for is short-lived: it has an `expires_at`, and the trust by which it was given.
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


@dataclass(frozen=True, slots=True)
class Trust:
    """An OpenID issuer whose tokens may upload to a project, provided that they carry these claims.

    A claim's value is exact, or has a `*` for any run of characters. `created_by` is as a token's.
    """

    id: str
    project_id: str
    issuer: str
    claims: Mapping[str, str]
    created_at: int
    created_by: str = ""
    last_used_at: int | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """One screenshot.

    `kid` is the key its URL was first signed with: signing with it again keeps the URL the same after a
    rotation. `seq` is the upload order, given by the records when the image is added. `thumbnail` is what
    became of its thumbnail: not asked for yet, made, or impossible.
    """

    id: str
    project_id: str
    pr_number: int
    name: str
    commit_sha: str
    viewport: str
    ext: str
    size: int
    uploaded_at: int
    kid: str
    closed_at: int | None = None
    scheduled_at: int | None = None
    seq: int = 0
    thumbnail: Literal["made", "impossible"] | None = None

    @property
    def url_expires_at(self) -> int:
        return self.uploaded_at + URL_LIFETIME_SECONDS

    @property
    def key(self) -> str:
        return origin_key(self.id, self.ext)

    @property
    def thumbnail_key(self) -> str:
        return origin_key(self.id, THUMBNAIL_EXT)

    @property
    def keys(self) -> tuple[str, str]:
        """Everything that is kept of this image, and is deleted with it."""
        return origin_keys(self.id, self.ext)


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request that screenshots were uploaded for. It is remembered after its images have gone."""

    project_id: str
    pr_number: int
    images: int
    bytes: int
    last_upload_at: int
    last_commit: str
    closed_at: int | None


@dataclass(frozen=True, slots=True)
class DayOfUploads:
    """What was uploaded on one day (counted in days since 1970, UTC), whether or not it is still there."""

    day: int
    uploads: int
    bytes: int


class Role(StrEnum):
    OWNER = "owner"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Shot:
    """A place in the gallery: the newest image of one name and viewport, and how many there are in all."""

    newest: Image
    images: int


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
class User:
    """A person as a login provider knows them: `subject` is theirs for good, the login may change."""

    id: str
    provider: str
    subject: str
    login: str
    name: str
    avatar_url: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Member:
    user: User
    role: Role


@dataclass(frozen=True, slots=True)
class Identity:
    """What a login provider says of the person who signed in; `emails` are only those it has verified."""

    subject: str
    login: str
    name: str
    avatar_url: str = ""
    organizations: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoginState:
    """A sign-in under way: kept under the hash of its `state`, and taken out once."""

    sha256: str
    provider: str
    verifier: str
    nonce: str
    browser_sha256: str
    return_to: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Session:
    sha256: str
    user_id: str
    created_at: int
    last_seen_at: int
