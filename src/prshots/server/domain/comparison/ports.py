"""The ports of baselines and comparison, and how each call can fail."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from prshots.contract.replies import ComparisonState
from prshots.server.domain.comparison.models import (
    BaselineCommit,
    Bases,
    ComparisonRequest,
    PairResult,
    PlannedShot,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.images.models import Image, ShotKey


class BaselineRecords(Protocol):
    """The baselines of projects. Raises RecordsError; methods that write also raise RecordsFullError.

    `Records.add_image` adds one together with its image.
    """

    async def reuse(
        self, project_id: str, branch: str, commit_sha: str, shots: Sequence[tuple[ShotKey, str]], now: int
    ) -> list[Image | None]:
        """Make images that the project's baselines already have the baselines of this commit.

        Each shot comes with a SHA-256. Return its image, or None if no baseline of the shot has these bytes.
        """

    async def adopt(self, image: Image, branch: str) -> bool:
        """Add an image and make it a baseline that ranks below the branch's own build.

        Return False, and change nothing, if the commit has such a baseline of the shot already.
        """

    async def complete(self, project_id: str, branch: str, commit_sha: str, now: int) -> int:
        """Note that the commit has all its baselines. Return how many shots it has."""

    async def bases(
        self, project_id: str, branch: str, commits: Sequence[str], shots: Collection[ShotKey]
    ) -> Bases:
        """Find the base of each shot: in the nearest listed commit that has it, else the branch's newest."""

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

    async def release(self, now: int, limit: int) -> int:
        """Remove baselines past retention, and schedule up to `limit` images that nothing needs any more.

        Kept are the newest `keep_baselines` commits of a branch, the newest baseline of each shot, and every
        image in a comparison of an open pull request. Return how many images were scheduled.
        """


class ComparisonRecords(Protocol):
    """The comparisons of pull requests. Raises RecordsError; methods that write also RecordsFullError."""

    async def images_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[Image]:
        """Return the newest image of each shot at a commit. Either SHA may be a prefix of the other."""

    async def pairs_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[tuple[Image, Image]]:
        """Return the images that came with a before image, and these.

        Those of the commit, and of others those that are still the newest image of their shot.
        """

    async def begin(
        self,
        request: ComparisonRequest,
        run: str,
        plan: Sequence[PlannedShot],
        *,
        state: ComparisonState,
        base_commit: str | None,
        missing: int,
        now: int,
    ) -> bool:
        """Record a comparison with what is known about it so far, in the place of an earlier run.

        Return False if an image of it is scheduled for expiry by now: then the plan must be made again.
        """

    async def was_complete(self, project_id: str, pr_number: int, commit_sha: str) -> bool:
        """Return whether an earlier request has said that the run of this commit is complete."""

    async def known_pairs(
        self, project_id: str, pairs: Collection[tuple[str, str]], engine: int
    ) -> dict[tuple[str, str], ShotResult]:
        """Return the results for pairs of SHA-256 that this version of the engine has compared before."""

    async def record(
        self,
        request: ComparisonRequest,
        run: str,
        results: Mapping[ShotKey, ShotResult],
        pairs: Mapping[tuple[str, str], ShotResult],
        *,
        engine: int,
        state: ComparisonState | None,
        now: int,
    ) -> bool:
        """Record results, and the final state, if there is one. Return False if another run replaced this.

        Without results it only says that the run is still being worked on.
        """

    async def set_diff(self, image_id: str, base_id: str) -> bool:
        """Record that the difference to this base is stored. Return False if the image is deleted."""

    async def diff_twin(self, image: Image, base: Image) -> Image | None:
        """Return an image with the same bytes and shot whose difference to this base is stored."""

    async def of_newest_commit(self, project_id: str, pr_number: int) -> StoredComparison | None:
        """Return the comparison of the pull request's newest commit that has one."""

    async def version(self, project_id: str, pr_number: int) -> str | None:
        """Return a text that changes with the result of `of_newest_commit`, at a fraction of its cost.

        None without a comparison, and while it is running.
        """

    async def of_commit(self, project_id: str, pr_number: int, commit_sha: str) -> StoredComparison | None:
        """Return the comparison of one commit."""

    async def discard_old_pairs(self, before: int, limit: int) -> int:
        """Remove up to `limit` results that are older than this. Return how many."""


class ComparePictures(Protocol):
    """Compares two images. Raises the same errors as RenderThumbnail.

    Two adapters must give the same verdict for the same images: `tests/comparison/` has the corpus for it.
    """

    async def __call__(self, before: bytes, after: bytes) -> PairResult: ...
