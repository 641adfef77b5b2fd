"""The ports for baselines and comparisons, with the errors that each call raises."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from prshots.contract.replies import ComparisonState
from prshots.server.domain.comparison.models import (
    BaselineCommit,
    BaselinePeriod,
    Bases,
    ComparisonRequest,
    ComparisonSummary,
    PairResult,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.images.models import Image, ShotKey
from prshots.server.domain.storage.models import Limits


class BaselineRecords(Protocol):
    """The baselines of projects. Raises RecordsError. Methods that write also raise RecordsFullError.

    `ImageRecords.add_image` adds a baseline together with its image.
    """

    async def reuse(
        self, project_id: str, branch: str, commit_sha: str, shots: Sequence[tuple[ShotKey, str]], now: int
    ) -> list[Image | None]:
        """Make images that the project already has as baselines the baselines of this commit.

        Each shot comes with a SHA-256. Return its image, or None if no baseline of the shot has these bytes.
        """

    async def adopt(self, image: Image, branch: str, limits: Limits = ()) -> bool:
        """Add an image and make it a baseline that ranks below the branch's own build.

        Return False and change nothing if the commit already has such a baseline for the shot. Raises
        QuotaReachedError like `add_image`.
        """

    async def complete(self, project_id: str, branch: str, commit_sha: str, now: int) -> int:
        """Mark the commit's baselines as complete. Return how many shots it has."""

    async def bases(
        self, project_id: str, branch: str, commits: Sequence[str], shots: Collection[ShotKey]
    ) -> Bases:
        """Find each shot's base: in the nearest listed commit that has it, or else the branch's newest."""

    async def commits(
        self, project_id: str, branch: str | None, before: int | None, limit: int
    ) -> list[BaselineCommit]:
        """Return commits with baselines, newest first, with a `seq` below `before`."""

    async def branches(self, project_id: str) -> list[str]:
        """Return the branches with baselines, by name."""

    async def of_commit(
        self, project_id: str, branch: str, commit_sha: str, after: ShotKey | None, limit: int
    ) -> list[Image]:
        """Return the images of a commit's baselines, ordered by name, viewport and theme."""

    async def history(self, project_id: str, branch: str, shot: ShotKey) -> list[BaselinePeriod]:
        """Return the images that a shot had on a branch, newest first, with the commits that share each."""

    async def release(self, now: int, limit: int) -> int:
        """Remove baselines past retention, and schedule up to `limit` images that are no longer needed.

        Keeps the newest `keep_baselines` commits of a branch, the newest baseline of each shot, and every
        image in a comparison of an open pull request or with references. Return how many images were
        scheduled.
        """


class ComparisonRecords(Protocol):
    """The comparisons of pull requests. Raises RecordsError. Writing also raises RecordsFullError."""

    async def images_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[Image]:
        """Return the newest image of each shot at a commit. Either SHA may be a prefix of the other."""

    async def pairs_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[tuple[Image, Image]]:
        """Return pairs: images that came with a before image, each with its before image.

        Includes the commit's pairs, and pairs of other commits whose image is still the newest of its shot.
        """

    async def begin(self, comparison: StoredComparison) -> bool:
        """Record a comparison with the results known so far. Replaces an earlier run.

        Return False if one of its images is already scheduled for expiry. The caller then has to plan again.
        """

    async def was_complete(self, project_id: str, pr_number: int, commit_sha: str) -> bool:
        """Return whether an earlier request marked this commit's run as complete."""

    async def known_pairs(
        self, project_id: str, pairs: Collection[tuple[str, str]], engine: int
    ) -> dict[tuple[str, str], ShotResult]:
        """Return the known results for pairs of SHA-256 hashes that this engine version has compared."""

    async def record(
        self,
        request: ComparisonRequest,
        run: str,
        results: Mapping[ShotKey, ShotResult],
        pairs: Mapping[tuple[str, str], ShotResult],
        identities: Mapping[str, str],
        *,
        engine: int,
        state: ComparisonState | None,
        now: int,
    ) -> bool:
        """Record results and, if given, the final state. Return False if another run replaced this one.

        `identities` are those of images by id, as in `identify`.

        Without results, the call only records that a process is still working on the run.
        """

    async def identify(self, identities: Mapping[str, str]) -> None:
        """Record what identifies the pixels of images, by id. It is empty if they can't be decoded."""

    async def set_diff(self, image_id: str, base_id: str) -> bool:
        """Record that the difference image for this base is stored. Return False if the image is deleted."""

    async def diff_twin(self, image: Image, base: Image) -> Image | None:
        """Return an image of the same shot with the same bytes whose difference from this base is stored."""

    async def of_newest_commit(self, project_id: str, pr_number: int) -> StoredComparison | None:
        """Return the comparison of the pull request's newest compared commit, if possible one with images."""

    async def summaries(self, project_id: str, pr_numbers: Collection[int]) -> dict[int, ComparisonSummary]:
        """Return a summary of `of_newest_commit` for each pull request that has been compared."""

    async def version(self, project_id: str, pr_number: int) -> str | None:
        """Return a string that changes with the result of `of_newest_commit`, at a fraction of its cost.

        Return None if there is no comparison, or if it is still running.
        """

    async def of_commit(self, project_id: str, pr_number: int, commit_sha: str) -> StoredComparison | None:
        """Return the comparison of one commit."""

    async def discard_old_pairs(self, until: int, limit: int) -> int:
        """Remove about `limit` results that were recorded until this time or earlier. Return how many."""


class ComparePictures(Protocol):
    """Compares two images. Raises the same errors as RenderThumbnail.

    All adapters give the same verdicts. The corpus in `tests/comparison/` checks this.
    """

    async def __call__(self, before: bytes, after: bytes, known: str = "") -> PairResult:
        """`known` is the identity of the first image's pixels, or empty. It saves decoding equal pixels."""


class IdentifyPicture(Protocol):
    """Returns the identity of an image's decoded pixels: 64 hex digits. Raises as ComparePictures."""

    async def __call__(self, data: bytes) -> str: ...
