"""The records of images and pull requests: plain, frozen, without dependencies."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from prshots.contract.object_names import DIFF_EXT, THUMBNAIL_EXT, origin_key, origin_keys

SECONDS_PER_DAY = 86_400
URL_LIFETIME_SECONDS = 365 * SECONDS_PER_DAY
ThumbnailState = Literal["made", "damaged", "unsupported", "too_large"]
"""Whether an image has a thumbnail and, if not, why it cannot have one."""
NO_PULL_REQUEST = 0
"""The `pr_number` of an image that has no pull request. Its `kind` says what it is."""
ImageKind = Literal["pull_request", "baseline", "staged", "before"]
"""What an image is for. A staged image becomes one of a pull request when it is moved there. A before image
belongs to the image that was uploaded with it: no list, count or rule finds it."""


class ShotKey(NamedTuple):
    """What identifies a shot in a project."""

    name: str
    viewport: str
    theme: str


class Image(NamedTuple):
    """One uploaded image. Only those of the kind `pull_request` have a `pr_number`; for others it is 0.

    A tuple, because lists have hundreds: a frozen dataclass of 19 fields takes five times as long to make.

    `kid` is the key that first signed its URL. Signing with it again keeps the URL the same after a rotation.
    `seq` is the upload order, assigned by the database. `thumbnail` is None until someone asks for it.
    `sha256` is None if it was not recorded. `diff_base` is the id of the image that its stored
    difference was made with. `before_id` is its before image, which is uploaded and
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
    kind: ImageKind = "pull_request"

    @property
    def shot(self) -> ShotKey:
        return ShotKey(self.name, self.viewport, self.theme)

    def url_expires_at(self, now: float) -> int:
        """Return when its URL expires. A baseline's is extended: it can be current for years."""
        expires_at = self.uploaded_at + URL_LIFETIME_SECONDS
        if self.kind == "baseline":
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


class BranchPlace(NamedTuple):
    """A branch, and the repository that has it: `owner/name` in lower case, empty for the project's own."""

    branch: str
    repository: str


@dataclass(frozen=True, slots=True)
class StagedImage:
    """An image that waits for the pull request of a branch, and its before image, until it is moved there."""

    image: Image
    place: BranchPlace
    expires_at: int
    before: Image | None = None


@dataclass(frozen=True, slots=True)
class PutUrl:
    """A URL that takes one image, once. Only the hash of its secret is stored.

    `pr_number` is 0 if the image will be staged at `place`. It ends with the token that it was made with.
    With `before_sha256`, another URL takes its before image first: `before_id` is its id.
    """

    sha256: str
    project_id: str
    token_id: str
    pr_number: int
    place: BranchPlace
    name: str
    commit_sha: str
    viewport: str
    theme: str
    content_type: str
    expires_at: int
    before_sha256: str | None = None
    before_id: str | None = None


@dataclass(frozen=True, slots=True)
class PullRequestRecord:
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
class Description:
    """What a client knows about a pull request; the rest is empty. `path` follows `repository`."""

    pr_number: int
    repository: str = ""
    path: str = ""
    title: str = ""
    source_branch: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Shot:
    """The newest image of a shot, and of how many commits there are images.

    `unchanged_since` is the first commit with the same bytes, if it differs from the image's.
    """

    newest: Image
    commits: int
    unchanged_since: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """An upload that was counted, or refused, and how many of the `limit` are left.

    `free_in`: the seconds until one more is left than now.
    """

    is_counted: bool
    limit: int
    remaining: int
    free_in: float
