"""The comment on a pull request, in each of its views."""

import asyncio
from dataclasses import replace

from prshots.contract.comments import Marker, View
from prshots.contract.replies import Comparison, ReviewState, SizedComment
from prshots.server.domain.comments import listing
from prshots.server.domain.comments.compared_shots import WITH_IMAGES
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.views import (
    NO_SHOTS,
    Ends,
    Latest,
    LatestShot,
    changes_view,
    latest_view,
    shows_latest,
)
from prshots.server.domain.images.models import Image
from prshots.server.domain.images.ports import ImageRecords
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.noise_service import Noise
from prshots.server.domain.review.service import Reviews

MAX_SHOTS = 5000
"""More shots wouldn't fit, even as lines."""


class Comments:
    def __init__(self, records: ImageRecords, images: Images, reviews: Reviews, noise: Noise) -> None:
        self._records = records
        self._images = images
        self._reviews = reviews
        self._noise = noise

    async def write_plain(self, project: Project, pr_number: int) -> str:
        """Return the comment in the form that the specification defines."""
        frame = self._frame(project, pr_number, listing.DEFAULT_LIMIT, Marker.HTML)
        return (await self._all(project, frame)).markdown

    async def write_sized(
        self, project: Project, pr_number: int, limit: int, marker: Marker, view: View | None
    ) -> SizedComment:
        """Return a view in at most `limit` bytes. None is the view that clients post by default.

        If the pull request is closed and has no images left, the comment says that they were deleted.
        """
        siblings = await self._reviews.siblings(project, pr_number)
        frame = self._frame(project, pr_number, limit, marker)
        if siblings or view is not View.ALL:
            frame = replace(frame, project_id=project.id, project=project.name if siblings else "")
        if view is not View.ALL:
            frame = replace(frame, notice=await self._reviews.notice(project, pr_number))
        written = await (self._all(project, frame) if view is View.ALL else self._view(project, frame, view))
        if not written.count and await self._records.is_closed(project.id, pr_number):
            left = await self._records.images_of_pr(project.id, pr_number, 1)  # includes references
            written = written if left else listing.deleted_comment(frame, project)
        return replace(written, siblings=siblings)

    def _frame(self, project: Project, pr_number: int, limit: int, marker: Marker) -> Frame:
        return Frame(pr_number, self._images.dashboard_url_of(project, pr_number), limit, marker)

    async def _all(self, project: Project, frame: Frame) -> SizedComment:
        total, newest = await self._records.comment_entries(project.id, frame.pr_number, listing.MAX_LISTED)
        return listing.comment(frame, total, newest, self._images.make_listed_signer())

    async def _view(self, project: Project, frame: Frame, view: View | None) -> SizedComment:
        """Return the view. A thread writes it: thousands of shots would block the event loop."""
        comparison = None
        if view is not View.LATEST:
            comparison = await self._reviews.latest(project, frame.pr_number, with_urls=WITH_IMAGES)
        if view in {None, View.LATEST} and comparison is None:
            return await asyncio.to_thread(latest_view, frame, await self._latest(project, frame.pr_number))
        latest = await self._latest(project, frame.pr_number) if shows_latest(comparison) else NO_SHOTS
        ends = await self._quarantine_ends(project, comparison) if comparison else {}
        return await asyncio.to_thread(changes_view, frame, comparison, latest, quarantine_ends=ends)

    async def _quarantine_ends(self, project: Project, comparison: Comparison) -> Ends:
        if all(shot.review.state is not ReviewState.QUARANTINED for shot in comparison.shots):
            return {}
        return {each.shot: each.until for each in await self._noise.quarantines(project)}

    async def _latest(self, project: Project, pr_number: int) -> Latest:
        images, commits = await self._records.newest_of_shots(project.id, pr_number, MAX_SHOTS)
        newest = max(images, key=lambda image: image.seq, default=None)
        shots = await asyncio.to_thread(lambda: list(map(self._shot, images)))
        return Latest(shots, newest.commit_sha if newest else "", commits)

    def _shot(self, image: Image) -> LatestShot:
        return LatestShot(*image.shot, self._images.url_of(image), image.commit_sha)
