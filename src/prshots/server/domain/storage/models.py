"""Quotas, and what a project's files take."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from prshots.contract.object_names import CLOSEUP_EXTS, DIFF_EXT, THUMBNAIL_EXT

WARNING_PERCENT = 80
"""At this share of a quota, webhooks send `quota`, and the dashboard warns."""


Scope = Literal["organization", "project"]


class Limit(NamedTuple):
    """How many bytes an organization or a project may store."""

    of: Scope
    id: str
    bytes: int


Limits = Sequence[Limit]
"""The limits of uploads to a project: its own, and its organization's."""


def is_nearly_full(stored: int, limit: int) -> bool:
    return 0 < limit * WARNING_PERCENT <= stored * 100


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """A quota that applies, and how much of it is used."""

    of: Scope
    bytes: int
    """The stored bytes that count towards the quota."""
    limit: int


@dataclass(frozen=True, slots=True)
class QuotaHolder:
    """An organization or project, for the operator."""

    id: str
    name: str
    images: int
    bytes: int
    quota_bytes: int | None
    """The quota that the operator set: 0 for no limit, null for the service's default."""


FileKind = Literal["images", "before", "staged", "baselines", "thumbnails", "differences", "closeups"]

_DERIVED: dict[str, FileKind] = {
    THUMBNAIL_EXT: "thumbnails",
    DIFF_EXT: "differences",
    **dict.fromkeys(CLOSEUP_EXTS, "closeups"),
}
_UPLOADED: dict[str, FileKind] = {
    "pull_request": "images",
    "before": "before",
    "staged": "staged",
    "baseline": "baselines",
}


def file_kind(key: str, image_kind: str) -> FileKind:
    """Return what the file with this key is, for an image of this kind."""
    ext = key.rpartition("/")[2].partition(".")[2]
    return _DERIVED.get(ext) or _UPLOADED[image_kind]


class Measured(NamedTuple):
    """What the files of one kind took in a project."""

    project_id: str
    kind: str
    files: int
    bytes: int


class Measurement:
    """Adds up listed files by project and kind."""

    def __init__(self) -> None:
        self._files: Counter[tuple[str, FileKind]] = Counter()
        self._bytes: Counter[tuple[str, FileKind]] = Counter()

    def add(self, key: str, size: int, project_id: str, image_kind: str) -> None:
        place = project_id, file_kind(key, image_kind)
        self._files[place] += 1
        self._bytes[place] += size

    def scaled(self, factor: float) -> list[Measured]:
        """Return the sums, for a listing that saw one of `factor` files, in a fixed order."""
        return [
            Measured(*place, round(self._files[place] * factor), round(self._bytes[place] * factor))
            for place in sorted(self._files)
        ]


class UsageDay(NamedTuple):
    """What all files took on a day (in days since 1970, UTC), by kind: a number of files, and bytes."""

    day: int
    kinds: Mapping[str, tuple[int, int]]
    is_estimated: bool

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.kinds.values())
