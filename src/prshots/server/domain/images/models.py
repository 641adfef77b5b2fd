"""The records of images and pull requests: plain, frozen, no dependencies."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from prshots.contract.object_names import CLOSEUP_EXTS, DIFF_EXT, THUMBNAIL_EXT, origin_key, origin_keys
from prshots.contract.replies import Uploaded

SECONDS_PER_DAY = 86_400
URL_LIFETIME_SECONDS = 365 * SECONDS_PER_DAY
ThumbnailState = Literal["made", "damaged", "unsupported", "too_large"]
"""Whether an image has a thumbnail and, if not, why it can't have one."""
NO_PULL_REQUEST = 0
"""The `pr_number` of an image without a pull request. See its `kind`."""
ImageKind = Literal["pull_request", "baseline", "staged", "before"]
"""The purpose of an image. Moving a staged image to a pull request makes it a `pull_request` image. A before
image belongs to the image that was uploaded with it: no list, count or rule includes it."""


class ShotKey(NamedTuple):
    """The identity of a shot in a project."""

    name: str
    viewport: str
    theme: str


class Image(NamedTuple):
    """One uploaded image. `pr_number` is 0 unless `kind` is `pull_request`.

    A tuple, because lists contain hundreds: a frozen dataclass with 21 fields takes five times as long to
    create.

    `kid` names the key that first signed the URL. Using it again keeps the URL stable after a key rotation.
    `seq` is the upload order, assigned by the database. `thumbnail` is None until someone requests the
    thumbnail. `sha256` is None if it wasn't recorded. `diff_base` is the id of the base in the stored
    difference image. `before_id` is the id of the before image, which is uploaded and deleted with this
    image. A reference shares the bytes of the image `source_id`, so its `size` is 0. `pixels`
    identifies the decoded pixels. It is None until they are decoded, and empty if they can't be.
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
    source_id: str | None = None
    pixels: str | None = None

    @property
    def shot(self) -> ShotKey:
        return ShotKey(self.name, self.viewport, self.theme)

    def url_expires_at(self, now: float) -> int:
        """Return when the URL expires. It is extended for a baseline, which can stay current for years."""
        expires_at = self.uploaded_at + URL_LIFETIME_SECONDS
        if self.kind == "baseline":
            while expires_at - now < URL_LIFETIME_SECONDS // 2:
                expires_at += URL_LIFETIME_SECONDS
        return expires_at

    @property
    def key(self) -> str:
        return origin_key(self.source_id or self.id, self.ext)

    @property
    def thumbnail_key(self) -> str:
        return origin_key(self.id, THUMBNAIL_EXT)

    @property
    def diff_key(self) -> str:
        return origin_key(self.id, DIFF_EXT)

    @property
    def closeup_keys(self) -> list[str]:
        return [origin_key(self.id, ext) for ext in CLOSEUP_EXTS]

    @property
    def keys(self) -> list[str]:
        """The keys of all objects that are deleted with the image.

        Without a difference image there are no close-ups. An object store takes as long to delete an object
        that doesn't exist as one that does.
        """
        keys = origin_keys(self.id, self.ext)
        return keys if self.diff_base else keys[: -len(CLOSEUP_EXTS)]


class ListedImage(NamedTuple):
    """The fields of a pull request's image that the comment shows, and those that its URL needs."""

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


KEPT_REPLY_SECONDS = SECONDS_PER_DAY


@dataclass(frozen=True, slots=True)
class KeptReply:
    """The reply to an upload with an `Idempotency-Key`, whose hash is `key`. It is kept for a day."""

    project_id: str
    key: str
    reply: Uploaded
    created_at: int

    @classmethod
    def of(cls, image: Image, reply: Uploaded, key: str) -> "KeptReply | None":
        """Return what to keep with a new image, or None without a key."""
        return cls(image.project_id, key, reply, image.uploaded_at) if key else None


class BranchPlace(NamedTuple):
    """A branch and its repository: `owner/name` in lower case, or empty for the project's own."""

    branch: str
    repository: str


@dataclass(frozen=True, slots=True)
class StagedImage:
    """An image, with its before image, that is staged until its branch has a pull request."""

    image: Image
    place: BranchPlace
    expires_at: int
    before: Image | None = None


@dataclass(frozen=True, slots=True)
class PutUrl:
    """A URL that accepts one image, once. Only the hash of its secret is stored.

    `pr_number` is 0 if the image will be staged at `place`. The URL becomes invalid with the token that
    created it. With `before_sha256`, a second URL accepts the before image first, and `before_id` is that
    image's id.
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
    """A pull request with uploads. The record remains after its images are deleted.

    `path` is the part of its web address after the project's repository. The path, title, branch and author
    are empty until a client sends them. `deleted_at` is when a person deleted all its images, until the next
    upload.
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
    deleted_at: int | None = None
    deleted_by: str | None = None


@dataclass(frozen=True, slots=True)
class Description:
    """A client's description of a pull request. Unknown fields are empty. `path` follows `repository`."""

    pr_number: int
    repository: str = ""
    path: str = ""
    title: str = ""
    source_branch: str = ""
    author: str = ""


@dataclass(frozen=True, slots=True)
class Shot:
    """The newest image of a shot, and the number of commits with images of it.

    `unchanged_since` is the first commit with the same bytes, if it differs from the image's commit.
    """

    newest: Image
    commits: int
    unchanged_since: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """The result of counting an upload: accepted or refused, and how many uploads of the `limit` remain.

    `free_in` is the number of seconds until one more upload is available.
    """

    is_counted: bool
    limit: int
    remaining: int
    free_in: float
