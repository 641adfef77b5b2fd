"""What the service keeps: plain frozen records, without behaviour that needs anything else."""

from dataclasses import dataclass
from enum import StrEnum

URL_LIFETIME_SECONDS = 365 * 24 * 3600
LOCAL_ORGANIZATION = "local"


class Policy(StrEnum):
    """When a project's images go by themselves. `retain_days`, where set, holds under each of them."""

    PR_CLOSE = "pr_close"
    RETAIN_DAYS = "retain_days"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Project:
    id: str
    name: str
    organization: str
    policy: Policy
    retain_days: int | None
    created_at: int


@dataclass(frozen=True, slots=True)
class UploadToken:
    """An upload token without its secret: of that, only the SHA-256 and a hint to tell tokens apart."""

    id: str
    project_id: str
    label: str
    hint: str
    sha256: str
    created_at: int
    last_used_at: int | None = None
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """One screenshot.

    `kid` is the key its URL was first signed with: signing with it again keeps the URL the same after a
    rotation. `seq` is the upload order, given by the records when the image is added.
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

    @property
    def url_expires_at(self) -> int:
        return self.uploaded_at + URL_LIFETIME_SECONDS

    @property
    def key(self) -> str:
        return origin_key(self.id, self.ext)


def origin_key(image_id: str, ext: str) -> str:
    """Where the bytes lie in the origin store: to be found from the URL alone."""
    return f"{image_id[:2]}/{image_id}.{ext}"
