"""The records of the service: plain, frozen, without dependencies."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from prshots.contract.limits import Policy
from prshots.contract.object_names import DIFF_EXT, THUMBNAIL_EXT, origin_key, origin_keys

SECONDS_PER_DAY = 86_400
URL_LIFETIME_SECONDS = 365 * SECONDS_PER_DAY
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


ThumbnailState = Literal["made", "damaged", "unsupported", "too_large"]
"""Whether an image has a thumbnail and, if not, why it cannot have one."""

NO_PULL_REQUEST = 0
"""The `pr_number` of the images of baselines, and of staged images."""

BEFORE_OF_PAIR = -1
"""The `pr_number` of an image that is only the before of another one: no list, count or rule finds it."""


class ShotKey(NamedTuple):
    """What identifies a shot in a project."""

    name: str
    viewport: str
    theme: str


class Image(NamedTuple):
    """One uploaded image: of a pull request, of baselines, staged, or the before of another image.

    A tuple, because lists have hundreds: a frozen dataclass of 18 fields takes five times as long to make.

    `kid` is the key that first signed its URL. Signing with it again keeps the URL the same after a rotation.
    `seq` is the upload order, assigned by the database. `thumbnail` is None until someone asks for it.
    `sha256` is None if it was not recorded. `diff_base` is the id of the image that its stored
    difference was made with. `before_id` is the image that was uploaded with it as its before, which is
    deleted with it.
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
    thumbnail: ThumbnailState | None = None
    theme: str = ""
    sha256: str | None = None
    diff_base: str | None = None
    before_id: str | None = None

    @property
    def shot(self) -> ShotKey:
        return ShotKey(self.name, self.viewport, self.theme)

    def url_expires_at(self, now: float) -> int:
        """Return when its URL expires. A baseline's is extended: it can be current for years."""
        expires_at = self.uploaded_at + URL_LIFETIME_SECONDS
        if self.pr_number == NO_PULL_REQUEST:
            while expires_at - now < URL_LIFETIME_SECONDS // 2:
                expires_at += URL_LIFETIME_SECONDS
        return expires_at

    @property
    def key(self) -> str:
        return origin_key(self.id, self.ext)

    @property
    def thumbnail_key(self) -> str:
        return origin_key(self.id, THUMBNAIL_EXT)

    @property
    def diff_key(self) -> str:
        return origin_key(self.id, DIFF_EXT)

    @property
    def keys(self) -> tuple[str, str, str]:
        """The keys of all objects that the image can have in the store."""
        return origin_keys(self.id, self.ext)


class ListedImage(NamedTuple):
    """What the comment says about an image of a pull request, and what its URL is made of."""

    id: str
    ext: str
    uploaded_at: int
    kid: str
    name: str
    viewport: str
    commit_sha: str

    @property
    def url_expires_at(self) -> int:
        return self.uploaded_at + URL_LIFETIME_SECONDS


class Place(NamedTuple):
    """A branch, and the repository that has it: `owner/name` in lower case, empty for the project's own."""

    branch: str
    repository: str


@dataclass(frozen=True, slots=True)
class StagedImage:
    """An image that waits for the pull request of a branch, and its before. Moving it there ends that."""

    image: Image
    place: Place
    expires_at: int
    before: Image | None = None


@dataclass(frozen=True, slots=True)
class PutUrl:
    """A URL that takes one image, once. Only the hash of its secret is stored.

    `pr_number` is 0 if the image will be staged at `place`. It ends with the token that it was made with.
    With `before_sha256`, another URL takes its before first: `before_id` is that image.
    """

    sha256: str
    project_id: str
    token_id: str
    pr_number: int
    place: Place
    name: str
    commit_sha: str
    viewport: str
    theme: str
    content_type: str
    expires_at: int
    before_sha256: str | None = None
    before_id: str | None = None


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request with uploads. Its record stays when its images are deleted.

    `path` is the rest of its web address after the project's repository. It, the title, the branch and the
    author are empty if no client has told them.
    """

    project_id: str
    pr_number: int
    images: int
    bytes: int
    last_upload_at: int
    last_commit: str
    closed_at: int | None
    title: str = ""
    source_branch: str = ""
    author: str = ""
    path: str = ""


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
class Shot:
    """The newest image of a shot, and of how many commits there are images.

    `unchanged_since` is the first commit that had the same bytes, if it is another one.
    """

    newest: Image
    commits: int
    unchanged_since: str | None = None


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
    """A person with an account at a login provider. `subject` never changes; `login` may."""

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
    """What a login provider says about the person who signed in. `emails` has verified addresses only.

    `login` is for display. The allow list compares `unique_login`, if the provider guarantees that it belongs
    to one account, regardless of case; otherwise `account`, the provider's exact id of the account.
    """

    subject: str
    login: str
    name: str
    unique_login: str = ""
    account: str = ""
    avatar_url: str = ""
    organizations: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoginState:
    """The hash of a sign-in link's code, which can be used once, or of a `state` that has been used."""

    sha256: str
    provider: str
    created_at: int


@dataclass(frozen=True, slots=True)
class Session:
    sha256: str
    user_id: str
    created_at: int
    last_seen_at: int


Total = Literal["project", "pull request", "day"]


@dataclass(frozen=True, slots=True)
class WrongTotal:
    """A stored total that differs from what was counted.

    `number` is the pull request's number, or the day (Unix time // 86,400); 0 for a project.
    """

    of: Total
    project_id: str
    number: int
    stored: Mapping[str, int]
    counted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Hit:
    """An upload that was counted, or refused, and how many of the `limit` are left.

    `free_in`: the seconds until one more is left than now.
    """

    is_counted: bool
    limit: int
    remaining: int
    free_in: float
