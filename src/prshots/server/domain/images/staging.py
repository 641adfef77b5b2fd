"""Staged images: uploaded to a branch before its pull request exists, and moved once it does."""

import time
from dataclasses import asdict

from prshots.contract.replies import Moved, Staged, StagedShot
from prshots.server.domain.images.checks import CheckedUpload
from prshots.server.domain.images.models import (
    NO_PULL_REQUEST,
    SECONDS_PER_DAY,
    BranchPlace,
    Image,
    KeptReply,
    StagedImage,
)
from prshots.server.domain.images.ports import StagedRecords
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Access, Project

STAGED_SECONDS = 7 * SECONDS_PER_DAY
MOVED_AT_ONCE = 1000
MOST_LISTED = 1000

OF_A_FORK = "the pull request comes from a fork: images staged for a branch of the same name stay staged"
OF_ANOTHER_REPOSITORY = "the others are staged for a branch of the same name in another repository"


class Staging:
    def __init__(self, *, records: StagedRecords, images: Images) -> None:
        self._records = records
        self._images = images

    async def store_upload(
        self, project: Project, place: BranchPlace, checked: CheckedUpload, key: str = ""
    ) -> Staged | None:
        """Store an image for a branch, like `Images.store_upload`."""
        image, before = self._images.new_pair(project, NO_PULL_REQUEST, checked, "staged")
        staged = self.stage(image, place, before)
        reply = self.reply(project, staged)
        kept = KeptReply.of(image, reply, key)
        is_new = await self._images.store_pair(
            project, lambda limits: self._records.add(staged, kept, limits), image, before, checked
        )
        return reply if is_new else None

    def stage(self, image: Image, place: BranchPlace, before: Image | None = None) -> StagedImage:
        """Return the unsaved record of a staged image, with its place and expiry time."""
        return StagedImage(image, place, image.uploaded_at + STAGED_SECONDS, before)

    def reply(self, project: Project, staged: StagedImage) -> Staged:
        """Return the reply to an upload of this image."""
        return Staged(
            **asdict(self._images.reply(staged.image, staged.before)),
            expires_at=staged.expires_at,
            dashboard_url=self._images.staged_page_of(project),
        )

    async def list_staged(self, access: Access, branch: str, repository: str | None) -> list[StagedShot]:
        """Return the newest images staged for a branch, in upload order.

        With a repository, return only images that can move to a pull request from that repository.
        """
        access.require_branch(branch, "list staged images")
        project = access.project
        found = await self._records.find(
            project.id, int(time.time()), branch=branch, repository=repository, limit=MOST_LISTED
        )
        return [self._list_one(project, staged) for staged in reversed(found)]

    async def move(self, access: Access, place: BranchPlace, pr_number: int, *, from_fork: bool) -> Moved:
        """Move the images staged for this repository's branch to its pull request. Report the remaining ones.

        Anyone can give a branch of their fork any name, so nothing moves to a pull request from a fork.
        """
        access.require_pr(pr_number)
        access.require_head(place.branch)
        project, now, moved = access.project, int(time.time()), 0
        # In batches. After an interruption, the next request moves the rest.
        while not from_fork and (
            some := await self._records.move(project.id, place, pr_number, now, MOVED_AT_ONCE)
        ):
            moved += some
        kept = await self._records.count(project.id, place.branch, now)
        reason = OF_A_FORK if from_fork else OF_ANOTHER_REPOSITORY
        return Moved(place.branch, pr_number, moved, kept, reason if kept else "")

    def _list_one(self, project: Project, staged: StagedImage) -> StagedShot:
        image, reply = staged.image, asdict(self.reply(project, staged))
        return StagedShot(**reply, **image.shot._asdict(), commit_sha=image.commit_sha)
