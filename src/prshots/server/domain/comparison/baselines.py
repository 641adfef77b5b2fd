"""Uploads baselines, reuses known ones, and adopts those of a merged pull request."""

import secrets
import time
from collections.abc import Callable, Sequence

import structlog

from prshots.contract.errors import QuotaReachedError, RecordsFullError, StoreFullError
from prshots.contract.replies import Uploaded, Verdict
from prshots.server.domain.comparison.models import StoredComparison
from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.checks import CheckedUpload
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image, KeptReply, ShotKey
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.images.recorded_objects import store_and_record
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Access, Project
from prshots.server.domain.storage.models import Limits

_log = structlog.get_logger()


class Baselines:
    def __init__(
        self,
        *,
        records: BaselineRecords,
        comparisons: ComparisonRecords,
        store: ObjectStore,
        images: Images,
        on_stored: Callable[[Project, Image], None] = lambda _, __: None,
    ) -> None:
        self._on_stored = on_stored
        self._records = records
        self._comparisons = comparisons
        self._store = store
        self._images = images

    async def store_upload(
        self, project: Project, branch: str, checked: CheckedUpload, key: str = ""
    ) -> Uploaded | None:
        """Store a baseline, like `Images.store_upload`. If the shot already has these bytes, reuse them."""
        image = self._images.new_image(project, NO_PULL_REQUEST, checked.fields, checked.image, "baseline")
        bytes_of_shot = [(image.shot, image.sha256 or "")]
        known = await self._records.reuse(
            project.id, branch, image.commit_sha, bytes_of_shot, image.uploaded_at
        )
        reply = self._images.reply(known[0] or image)
        kept = KeptReply.of(image, reply, key)
        if known[0]:
            self._identify(project, known[0])
            if kept:
                await self._images.keep_reply(kept)
            return reply
        if not await self._images.store_baseline(project, image, branch, checked, kept):
            return None
        self._on_stored(project, image)
        return reply

    async def reuse(
        self, access: Access, branch: str, commit_sha: str, shots: Sequence[tuple[ShotKey, str]]
    ) -> list[tuple[ShotKey, str]]:
        """Record the shots whose bytes, named by their SHA-256, are already stored. Return the others."""
        access.require_branch(branch)
        found = await self._records.reuse(access.project.id, branch, commit_sha, shots, int(time.time()))
        for image in filter(None, found):
            self._identify(access.project, image)
        return [shot for shot, image in zip(shots, found, strict=True) if image is None]

    def _identify(self, project: Project, image: Image) -> None:
        """Identify a known image if its identity was lost, such as when the service restarted before."""
        if image.pixels is None:
            self._on_stored(project, image)

    async def complete(self, access: Access, branch: str, commit_sha: str) -> int:
        """Mark this commit's baselines as complete. Return how many there are."""
        access.require_branch(branch)
        return await self._records.complete(access.project.id, branch, commit_sha, int(time.time()))

    async def adopt(self, access: Access, pr_number: int, merged_as: str, branch: str | None) -> int:
        """Make the changed and new images of a merged pull request baselines of the merge commit.

        Copies the images, because those of the pull request expire. Returns how many were copied, or 0 if the
        caller's token can't write baselines. Raises StoreError, RecordsError: the caller must not expire the
        pull request, so that another attempt can copy the rest. On a full disk or at a quota, this only logs
        the error, because the expiry makes room.
        """
        comparison = await self._comparisons.of_newest_commit(access.project.id, pr_number)
        if comparison is None:
            return 0
        target = branch or comparison.request.branch
        if not access.covers_branches({target}):
            return 0
        adopted, limits = 0, self._images.limits_of(access.project)
        try:
            for image in await self._to_adopt(comparison, target):
                adopted += await self._copy_as_baseline(image, merged_as, target, limits)
        except (RecordsFullError, StoreFullError, QuotaReachedError) as error:
            if not error.count_request:
                _log.error("merged pull request's images not kept as baselines", reason=str(error))
        return adopted

    async def _to_adopt(self, comparison: StoredComparison, branch: str) -> list[Image]:
        """Return changed and new images. Include a pair only if the branch has a different image of its shot.

        The branch's builds may not know the shot of a pair, so its baseline would never change again.
        """
        request = comparison.request
        wanted, pairs = list[Image](), list[Image]()
        for shot in comparison.shots:
            if shot.image and shot.result.verdict in {Verdict.CHANGED, Verdict.MOVED, Verdict.NEW}:
                (pairs if shot.base and shot.base.is_before else wanted).append(shot.image)
        if pairs:
            shots = {image.shot for image in pairs}
            bases = await self._records.bases(request.project_id, branch, request.commits, shots)
            known = {shot: base.image.sha256 for shot, base in bases.by_shot.items()}
            wanted += [image for image in pairs if known.get(image.shot, image.sha256) != image.sha256]
        return wanted

    async def _copy_as_baseline(self, image: Image, merged_as: str, branch: str, limits: Limits) -> bool:
        original = await self._store.read(image.key)
        if original is None:
            return False
        copy = image._replace(
            id=secrets.token_hex(16),
            pr_number=NO_PULL_REQUEST,
            kind="baseline",
            commit_sha=merged_as,
            size=len(original),
            uploaded_at=int(time.time()),
            closed_at=None,
            thumbnail=None,
            diff_base=None,
            before_id=None,
            source_id=None,
        )
        return await store_and_record(
            self._store, {copy.key: [original]}, lambda: self._records.adopt(copy, branch, limits)
        )
