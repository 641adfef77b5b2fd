"""Differences that nobody has to decide about: alternating shots and quarantined shots."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

from prshots.contract.replies import ReviewState
from prshots.server.domain.images.models import SECONDS_PER_DAY, ShotKey

NOISE = (ReviewState.SEEN_BEFORE, ReviewState.QUARANTINED)

ALTERNATIONS = 4
"""A, B, A, B. After A, B, A, the last change may be a revert."""

REMEMBERED_SECONDS = 30 * SECONDS_PER_DAY
MAX_PICTURES = 8
"""How many of a shot's most frequent pictures to check when looking for alternating ones."""


@dataclass(frozen=True, slots=True)
class BranchPicture:
    """The picture that a shot has had on a branch since a commit."""

    pixels: str
    image_id: str
    commit_sha: str
    at: int


@dataclass(frozen=True, slots=True)
class BranchHistory:
    """The pictures that a shot had on a branch in the last 30 days, in order of arrival."""

    shot: ShotKey
    branch: str
    pictures: Sequence[BranchPicture]


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A shot that doesn't need decisions until `until`.

    `compared` and `differed` count the commits of pull requests that were compared since it began. Each
    commit counts once, with its newest result.
    """

    id: str
    project_id: str
    name: str
    viewport: str
    theme: str
    reason: str
    created_by: str
    created_at: int
    until: int
    compared: int = 0
    differed: int = 0

    @property
    def shot(self) -> ShotKey:
        return ShotKey(self.name, self.viewport, self.theme)


def alternates(history: Sequence[str], pixels: Collection[str]) -> bool:
    """Return whether a branch went back and forth between the two pictures with these pixels."""
    runs = groupby(each for each in history if each in pixels)
    return sum(1 for _ in runs) >= ALTERNATIONS


def find_alternating(history: BranchHistory) -> list[BranchPicture]:
    """Return the pictures that alternate, each as the branch last had it."""
    pixels = [each.pixels for each in history.pictures]
    repeated = [each for each, count in Counter(pixels).most_common(MAX_PICTURES) if count > 1]
    pairs = [pair for pair in combinations(repeated, 2) if alternates(pixels, pair)]
    found = {each for pair in pairs for each in pair}
    return list({each.pixels: each for each in history.pictures if each.pixels in found}.values())


def sort_by_commit(history: BranchHistory, commits: Sequence[str]) -> list[str]:
    """Return the pixels of a history in the order of the branch's commits, given newest first.

    Otherwise, a build that arrives late would look like a change and its revert. Unlisted commits stay in
    order of arrival: before the listed ones if they arrived before them all, else after them.
    """
    places = {commit.lower(): -number for number, commit in enumerate(commits)}
    pictures = history.pictures
    first = next((number for number, each in enumerate(pictures) if each.commit_sha in places), 0)

    def key(number: int) -> tuple[int, int]:
        place = places.get(pictures[number].commit_sha)
        return (0 if number < first else 2, number) if place is None else (1, place)

    return [pictures[number].pixels for number in sorted(range(len(pictures)), key=key)]
