"""Baselines: upload them, reuse known ones, and adopt those of a merged pull request."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from prshots.contract.errors import InvalidInputError, RecordsError, StoreError
from prshots.contract.limits import FULL_COMMIT_SHA, MAX_KNOWN_SHOTS, SHA256, VIEWPORT
from prshots.contract.replies import Uploaded, Verdict
from prshots.server.domain.comparison.models import StoredComparison
from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.checks import (
    UploadForm,
    branch_of,
    check_upload,
    checked_name,
    checked_theme,
    matching,
)
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image, ShotKey
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.access import Access, require_branch

BAD_SHOTS = f"shots must be a list of at most {MAX_KNOWN_SHOTS:,} objects"
BAD_SHA256 = "sha256 must be 64 lower-case hexadecimal characters"
BAD_MERGED_AS = "merged_as must be 40 hexadecimal characters"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class KnownShots:
    """A request that names shots by the SHA-256 of their bytes. Not validated beyond the types."""

    branch: str
    commit_sha: str
    shots: Sequence[tuple[ShotKey, str]]


class Baselines:
    def __init__(
        self,
        *,
        records: BaselineRecords,
        comparisons: ComparisonRecords,
        images: Images,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._comparisons = comparisons
        self._images = images
        self._clock = clock

    async def upload(self, access: Access, form: UploadForm) -> Uploaded:
        """Validate, count and store a baseline. Bytes that the shot has already are not stored again."""
        project = access.project
        branch, checked = check_upload(
            replace(form, before=None),
            branch_of,
            commit=FULL_COMMIT_SHA,
            max_image_bytes=self._images.max_image_bytes,
        )
        require_branch(access, branch)
        await self._images.count_upload(project)
        image = self._images.new_image(project, NO_PULL_REQUEST, checked, "baseline")
        bytes_of_shot = [(image.shot, image.sha256 or "")]
        known = await self._records.reuse(
            project.id, branch, checked.commit_sha, bytes_of_shot, image.uploaded_at
        )
        if known[0]:
            return self._images.uploaded(known[0])
        await self._images.keep(image, checked.file, branch)
        return self._images.uploaded(image)

    async def reuse(self, access: Access, known: KnownShots) -> list[tuple[ShotKey, str]]:
        """Record the shots whose bytes the service has. Return the others."""
        require_branch(access, known.branch)
        found = await self._records.reuse(
            access.project.id, known.branch, known.commit_sha, known.shots, self._now()
        )
        return [each for each, image in zip(known.shots, found, strict=True) if image is None]

    async def complete(self, access: Access, branch: str, commit_sha: str) -> int:
        """Note that the branch's build has uploaded all baselines of this commit. Return how many."""
        require_branch(access, branch)
        return await self._records.complete(access.project.id, branch, commit_sha, self._now())

    async def adopt(self, access: Access, pr_number: int, merged_as: str, branch: str | None) -> int:
        """Make the changed and new images of a merged pull request baselines of the merge commit.

        They are copies, so that the images of the pull request can go. Return how many: none if the caller's
        token cannot write baselines. A failure is logged and does not keep the pull request from expiring:
        the branch's own build uploads its baselines anyway.
        """
        project = access.project
        try:
            comparison = await self._comparisons.shown(project.id, pr_number)
            if comparison is None:
                return 0
            target = branch or comparison.request.branch
            if access.is_keyless and access.branch != target:
                return 0
            wanted = await self._to_adopt(comparison, target)
            adopted = [await self._adopted(image, merged_as, target) for image in wanted]
        except (RecordsError, StoreError) as error:
            if not error.count_request:
                _log.error("images of a merged pull request not kept as baselines", reason=str(error))
            return 0
        return sum(adopted)

    async def _to_adopt(self, comparison: StoredComparison, branch: str) -> list[Image]:
        """Return the changed and new images. Of pairs, only those whose shot the branch has another image of.

        No build of the branch may know the shot of a pair, so its baseline would never change again.
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

    async def _adopted(self, image: Image, merged_as: str, branch: str) -> bool:
        original = await self._images.content(image)
        if original is None:
            return False
        copy = image._replace(
            id=secrets.token_hex(16),
            pr_number=NO_PULL_REQUEST,
            kind="baseline",
            commit_sha=merged_as,
            uploaded_at=self._now(),
            closed_at=None,
            thumbnail=None,
            diff_base=None,
            before_id=None,
        )
        return await self._images.keep_if(lambda: self._records.adopt(copy, branch), copy, [original])

    def _now(self) -> int:
        return int(self._clock())


def known_shots_from_json(body: Mapping[str, Any]) -> KnownShots:
    """Raise InvalidInputError."""
    branch, commit_sha = baseline_commit_from_json(body)
    shots = body.get("shots")
    if not isinstance(shots, list) or len(shots) > MAX_KNOWN_SHOTS:
        raise InvalidInputError(BAD_SHOTS)
    return KnownShots(branch, commit_sha, [_known_shot(shot) for shot in shots])


def baseline_commit_from_json(body: Mapping[str, Any]) -> tuple[str, str]:
    """Return the branch and the commit. Raises InvalidInputError."""
    branch = branch_of(body)
    return branch, matching(FULL_COMMIT_SHA, body.get("commit_sha"), "commit_sha required")


def merged_as_from_json(body: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Return the merge commit and the branch, if it is given; None without one. Raises InvalidInputError."""
    branch = None if body.get("branch") is None else branch_of(body)
    if body.get("merged_as") is None:
        return None
    return matching(FULL_COMMIT_SHA, body["merged_as"], BAD_MERGED_AS), branch


def _known_shot(shot: object) -> tuple[ShotKey, str]:
    if not isinstance(shot, dict):
        raise InvalidInputError(BAD_SHOTS)
    name = checked_name(shot.get("name"))
    viewport = matching(VIEWPORT, shot.get("viewport"), "viewport must be like 1280x800")
    key = ShotKey(name, viewport, checked_theme(shot.get("theme")))
    return key, matching(SHA256, shot.get("sha256"), BAD_SHA256)
