"""The comment on a pull request, in each of its views. The view of all images is here.

Names are data. An image's alternative text renders as its name, regardless of the characters in it. Elsewhere
in the comment, the name is code, where no forge looks for links, mentions, emoji or HTML.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import sub

from prshots.contract.comments import MAX_COMMENT_BYTES, Marker, View
from prshots.contract.limits import Policy
from prshots.contract.replies import Comparison, ReviewState, SizedComment
from prshots.contract.sizes import pluralize
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.groups import WITH_IMAGES
from prshots.server.domain.comments.markup import (
    STYLES,
    Pile,
    Style,
    name_as_code,
    room_for_images,
    screenshots,
    size,
)
from prshots.server.domain.comments.views import (
    NO_SHOTS,
    Ends,
    Latest,
    LatestShot,
    changes_view,
    latest_view,
    shows_latest,
)
from prshots.server.domain.images.markdown import image_markdown
from prshots.server.domain.images.models import Image, ListedImage
from prshots.server.domain.images.ports import ImageRecords
from prshots.server.domain.images.service import Images
from prshots.server.domain.projects.models import Project
from prshots.server.domain.review.noise_service import Noise
from prshots.server.domain.review.service import Reviews

DEFAULT_LIMIT = MAX_COMMENT_BYTES - 1

# No comment can list more images than this: the shortest possible lines would fill it.
MAX_LISTED = MAX_COMMENT_BYTES // len("- `n` · 1x1 · `0123456`\n".encode())

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
        frame = self._frame(project, pr_number, DEFAULT_LIMIT, Marker.HTML)
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
            written = written if left else deleted_comment(frame, project)
        return replace(written, siblings=siblings)

    def _frame(self, project: Project, pr_number: int, limit: int, marker: Marker) -> Frame:
        return Frame(pr_number, self._images.dashboard_url_of(project, pr_number), limit, marker)

    async def _all(self, project: Project, frame: Frame) -> SizedComment:
        total, newest = await self._records.comment_entries(project.id, frame.pr_number, MAX_LISTED)
        return all_view(frame, total, newest, self._images.make_listed_signer())

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


def all_view(
    frame: Frame, total: int, newest: Sequence[ListedImage], url_of: Callable[[ListedImage], str]
) -> SizedComment:
    """Build the comment for a pull request with `total` images, within the frame's limit.

    `newest` holds the newest `min(total, MAX_LISTED)` images in upload order. The comment shows as many as
    fit, lists older ones in lines, and only counts the oldest. It asks for a URL only if the image might be
    shown, because signing takes longer than writing a line.
    """
    style = STYLES[frame.marker]
    heading = frame.heading(f"{total} {screenshots(total)}")
    head = f"{frame.head}{heading}\n"
    newest_first = newest[::-1]
    captions = list(map(_caption, newest_first))
    images = Pile(
        (
            f"\n{caption}{style.after_caption}{image_markdown(image.name, url_of(image))}\n"
            for caption, image in zip(captions, newest_first, strict=True)
        ),
        frame.limit - size(head),
    )
    shown, listed, lines = len(images.texts), 0, Pile((), 0)
    if shown < total:
        room = frame.limit - size(head + _fold(total, "", style) + _note_left_out(total, frame))
        lines = Pile((f"- {caption}\n" for caption in captions), room)
        shown = _count_shown(images, lines, room)
        listed = lines.count_fitting(room - images.sizes[shown], after=shown)
    omitted = total - shown - listed
    text = head
    if listed:
        text += _fold(listed, lines.oldest_first(shown, shown + listed), style)
    text += images.oldest_first(0, shown)
    if omitted:
        text += _note_left_out(omitted, frame)
    return SizedComment(frame.pr_number, text, heading, total, shown, listed, omitted)


def deleted_comment(frame: Frame, project: Project) -> SizedComment:
    """Build the comment for a closed pull request that has no images left."""
    heading = frame.heading("Screenshots deleted")
    text = f"{frame.head}{heading}\n\n{_why_deleted(project)}\n"
    return SizedComment(frame.pr_number, text, heading, count=0, shown=0, listed=0, omitted=0)


def _why_deleted(project: Project) -> str:
    """Return the project's policy in words. The database doesn't record why each image was deleted."""
    if project.policy is Policy.PR_CLOSE:
        return "This project deletes screenshots when the pull request closes."
    if project.retain_days is not None:
        days = pluralize(project.retain_days, "day")
        return f"This project deletes screenshots {days} after they are uploaded."
    return "This project keeps screenshots until someone deletes them."


def _count_shown(images: Pile, lines: Pile, room: int) -> int:
    """Return how many images to show. Each image is shown, gets a line, or is only counted.

    Show as many images as leave a line for every other image. If that costs too many images, they keep
    two thirds of the room, and the oldest images get no line.
    """
    spare = room - lines.sizes[-1]
    costs = list(map(sub, images.sizes, lines.sizes))
    beside_all_lines = bisect_right(costs, spare, lo=1) - 1
    return max(beside_all_lines, images.count_fitting(room_for_images(room)))


def _fold(count: int, lines: str, style: Style) -> str:
    summary = f"{count} older {screenshots(count)}, without pictures"
    return style.folded.format(summary=summary, lines=lines)


def _note_left_out(count: int, frame: Frame) -> str:
    which = "The oldest screenshot is" if count == 1 else f"The oldest {count} screenshots are"
    fits = len(frame.dashboard_url) <= frame.limit // 2  # without the link, the rest always fits
    dashboard = f"[dashboard]({frame.dashboard_url})" if fits else "dashboard"
    return f"\n{which} only in the {dashboard}.\n"


def _caption(image: ListedImage) -> str:
    return f"{name_as_code(image.name)} · {image.viewport} · `{image.commit_sha[:7]}`"
