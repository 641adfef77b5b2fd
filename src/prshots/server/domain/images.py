"""The image service: upload, delete, comment, expire."""

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker
from prshots.contract.errors import (
    EXPIRE_FAILED,
    CounterUnavailableError,
    ExpireFailedError,
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    PayloadTooLargeError,
    RateLimitedError,
    RecordsError,
    RecordsFullError,
    RecordsUnsureError,
    StoreError,
    UnsupportedTypeError,
)
from prshots.contract.formats import BY_CONTENT_TYPE, LEADING_BYTES, ImageFormat
from prshots.contract.limits import COMMIT_SHA, IMAGE_ID, MAX_NAME_CHARACTERS, MAX_PR_NUMBER, VIEWPORT, Policy
from prshots.contract.object_names import THUMBNAIL_EXT
from prshots.contract.replies import Expired, SizedComment, Uploaded
from prshots.server.domain import comment
from prshots.server.domain.expiry import ExpiryOutcome, expire_scheduled
from prshots.server.domain.models import Image, Project
from prshots.server.domain.ports import KeySource, ObjectStore, RateCounter, Records

EXPIRE_BATCH = 1000

BAD_LIMIT = f"limit must be a whole number from {MIN_COMMENT_BYTES} to {MAX_COMMENT_BYTES}"
BAD_MARKER = f"marker must be {' or '.join(Marker)}"

_PR_NUMBER = re.compile(r"[0-9]{1,10}")
_LIMIT = re.compile(r"[0-9]{1,10}")

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """The uploaded image. Past the size limit its bytes are not kept, but `size` still counts them."""

    content_type: str
    chunks: Sequence[bytes]
    size: int


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A parsed upload, not yet validated. `oversized`: the form without the image is too large."""

    image: UploadedFile | None
    fields: Mapping[str, str]
    oversized: bool = False


class Images:
    def __init__(
        self,
        *,
        records: Records,
        store: ObjectStore,
        counter: RateCounter,
        keys: KeySource,
        img_url: str,
        web_url: str,
        max_image_bytes: int,
        on_expired: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._store = store
        self._counter = counter
        self._keys = keys
        self._img_url = img_url
        self._web_url = web_url
        self._max_image_bytes = max_image_bytes
        self._on_expired = on_expired
        self._clock = clock

    async def upload(self, project: Project, form: UploadForm, only_pr: int | None = None) -> Uploaded:
        """Validate, count and store an image. If it raises an error, nothing is left behind.

        With `only_pr`, it can only be an image of this pull request.
        """
        file, image = self._validated(project, form)
        require_pr(only_pr, image.pr_number)
        await self._count_upload(project)
        # If the client disconnects now, bytes and record must still both be written.
        await asyncio.shield(self._keep(image, file))
        url = self.url_of(image)
        return Uploaded(image.id, url, comment.image_markdown(image.name, url))

    def url_of(self, image: Image) -> str:
        return self._signed(image, image.ext)

    def thumbnail_url_of(self, image: Image) -> str:
        """Return the URL of the thumbnail, which may not exist yet."""
        return self._signed(image, THUMBNAIL_EXT)

    async def delete(self, project: Project, image_id: str, only_pr: int | None = None) -> None:
        """Expire one image now, regardless of the policy. Raises NotFoundError, ExpireFailedError.

        ExpireFailedError promises that the sweep finishes it. Without the mark that the sweep looks for, it
        raises RecordsError instead.
        """
        image = await self._records.image(project.id, image_id) if is_image_id(image_id) else None
        if image is None or only_pr not in {None, image.pr_number}:
            raise NotFoundError("not found")
        is_marked = await self._marked(image)
        if await self._expired_now(image):
            return
        if not is_marked:
            await self._records.schedule([image.id], self._now())
        raise ExpireFailedError(EXPIRE_FAILED)

    async def _marked(self, image: Image) -> bool:
        """Schedule the image. On a full disk, return False: deleting the bytes may make room for the mark."""
        if image.scheduled_at is None:
            try:
                await self._records.schedule([image.id], self._now())
            except RecordsFullError:
                return False
        return True

    async def _expired_now(self, image: Image) -> bool:
        try:
            return not (await self._expire_now([image])).failed
        except (RecordsError, StoreError) as error:
            if error.count_request:
                error.count_request()
            else:
                _log.error("expiry did not complete", image=image.id, reason=str(error))
            return False

    async def comment(self, project: Project, pr_number: int) -> str:
        """Return the pull request's comment as the specification has it."""
        return (await self._comment(project, pr_number, comment.DEFAULT_LIMIT, Marker.HTML)).markdown

    async def sized_comment(
        self, project: Project, pr_number: int, limit: int, marker: Marker
    ) -> SizedComment:
        """Return the comment in at most `limit` bytes.

        For a closed pull request that has no images left, it says that they were deleted.
        """
        written = await self._comment(project, pr_number, limit, marker)
        if not written.count and await self._records.is_closed(project.id, pr_number):
            return comment.deleted_comment(pr_number, project, marker)
        return written

    async def _comment(self, project: Project, pr_number: int, limit: int, marker: Marker) -> SizedComment:
        total, newest = await self._records.images_of_pr(project.id, pr_number, comment.MAX_LISTED)
        entries = [
            comment.Entry(image.name, image.viewport, image.commit_sha, self.url_of(image))
            for image in newest
        ]
        dashboard_url = f"{self._web_url}/projects/{project.id}/prs/{pr_number}"
        return comment.comment(pr_number, total, entries, dashboard_url, limit=limit, marker=marker)

    async def expire(self, project: Project, pr_number: int, *, whatever_the_policy: bool = False) -> Expired:
        """Apply the project's policy to a closed PR. Images that cannot be deleted now stay scheduled."""
        at_once = whatever_the_policy or project.policy is Policy.PR_CLOSE
        try:
            marked = await self._records.close_pr(project.id, pr_number, self._now(), schedule=at_once)
        except RecordsFullError:
            if not at_once or not await self._make_room(project, pr_number):
                raise
            marked = await self._records.close_pr(project.id, pr_number, self._now(), schedule=at_once)
        expired = await self._expire_pr(project, pr_number) if at_once else 0
        return Expired(pr_number, project.policy, marked, expired)

    async def remove_project(self, project: Project, seconds: float) -> int:
        """Delete a project's images, then the project. Stop after `seconds`; return how many images remain.

        Its tokens are revoked first, so that nothing new is uploaded. At zero, the project is deleted.
        Remaining images stay scheduled for expiry. Raises ExpireFailedError.
        """
        until = time.monotonic() + seconds
        while left := await self._records.retire_project(project.id, self._now(), EXPIRE_BATCH):
            if time.monotonic() > until:
                return left
            batch = await self._records.scheduled("", EXPIRE_BATCH, project.id)
            outcome = await self._expire_now(batch)
            if outcome.failed:
                raise ExpireFailedError(EXPIRE_FAILED)
        return 0 if await self._records.remove_project(project.id) else 1

    async def _make_room(self, project: Project, pr_number: int) -> bool:
        """Delete the bytes of a PR that expires anyway: a full disk has no room to mark its images first."""
        _, images = await self._records.images_of_pr(project.id, pr_number, EXPIRE_BATCH)
        failed = await self._store.delete([key for image in images for key in image.keys])
        return any(image.key not in failed for image in images)

    async def _expire_pr(self, project: Project, pr_number: int) -> int:
        expired, after = 0, ""
        while batch := await self._records.scheduled(after, EXPIRE_BATCH, project.id, pr_number):
            outcome = await self._expire_now(batch)
            expired, after = expired + outcome.expired, batch[-1].id
        return expired

    async def _expire_now(self, images: Sequence[Image]) -> ExpiryOutcome:
        outcome = await expire_scheduled(self._records, self._store, images)
        self._on_expired(outcome.expired)
        return outcome

    def _validated(self, project: Project, form: UploadForm) -> tuple[UploadedFile, Image]:
        """Validate in the documented order: an upload with two mistakes always gets the same error."""
        if form.image is None:
            raise InvalidInputError("image file required")
        fields = form.fields
        name = _checked_name(fields.get("name"))
        pr_number = pr_number_from_text(fields.get("pr_number"))
        commit_sha = _matching(COMMIT_SHA, fields.get("commit_sha"), "commit_sha required")
        viewport = _matching(VIEWPORT, fields.get("viewport"), "viewport must be like 1280x800")
        if form.oversized or form.image.size >= self._max_image_bytes:
            raise payload_too_large(self._max_image_bytes)
        image_format = _checked_format(form.image)
        return form.image, Image(
            id=secrets.token_hex(16),
            project_id=project.id,
            pr_number=pr_number,
            name=name,
            commit_sha=commit_sha,
            viewport=viewport,
            ext=image_format.ext,
            size=form.image.size,
            uploaded_at=self._now(),
            kid=self._keys.ring().signing_kid,
        )

    async def _count_upload(self, project: Project) -> None:
        """Count the upload. If the counter does not respond, accept it: the counter logs its outages."""
        with contextlib.suppress(CounterUnavailableError):
            if not await self._counter.hit(project.id):
                raise RateLimitedError("rate limited")

    async def _keep(self, image: Image, file: UploadedFile) -> None:
        await self._store.put(image.key, file.chunks)
        try:
            await self._records.add_image(image)
        except RecordsUnsureError:
            raise  # the record may exist, so keep the bytes; if it does not, the sweep deletes them
        except BaseException:
            await self._discard(image)
            raise

    async def _discard(self, image: Image) -> None:
        """Delete the bytes again. If that fails, which the store logs, the sweep deletes them."""
        await self._store.delete([image.key])

    def _signed(self, image: Image, ext: str) -> str:
        return self._img_url + self._keys.ring().sign(image.id, ext, image.url_expires_at, image.kid)

    def _now(self) -> int:
        return int(self._clock())


def require_pr(only_pr: int | None, pr_number: int) -> None:
    """Raise ForbiddenError for another pull request than the one that the caller's token is for."""
    if only_pr not in {None, pr_number}:
        raise ForbiddenError(
            f"this token is for pull request {only_pr} only, which its job runs for; got {pr_number}"
        )


def is_image_id(text: str) -> bool:
    return IMAGE_ID.fullmatch(text) is not None


def payload_too_large(max_image_bytes: int) -> PayloadTooLargeError:
    return PayloadTooLargeError(f"payload too large (max {max_image_bytes / 1024**2:g}MB)")


def pr_number_from_text(text: str | None) -> int:
    """Raise InvalidInputError unless the text is ASCII digits within range."""
    number = int(text) if text is not None and _PR_NUMBER.fullmatch(text) else 0
    return _in_range(number)


def pr_number_from_json(value: object) -> int:
    """Accept a JSON integer: 7 or 7.0, which are equal in JSON, but not "7" or true."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return _in_range(value if isinstance(value, int) and not isinstance(value, bool) else 0)


def comment_limit_from_text(text: str | None) -> int:
    """Raise InvalidInputError unless the text is ASCII digits within range."""
    limit = int(text) if text is not None and _LIMIT.fullmatch(text) else 0
    if not MIN_COMMENT_BYTES <= limit <= MAX_COMMENT_BYTES:
        raise InvalidInputError(BAD_LIMIT)
    return limit


def marker_from_text(text: str | None) -> Marker:
    """Raise InvalidInputError for a marker that is unknown."""
    if text not in tuple(Marker):
        raise InvalidInputError(BAD_MARKER)
    return Marker(text)


def _in_range(pr_number: int) -> int:
    if not 1 <= pr_number <= MAX_PR_NUMBER:
        raise InvalidInputError("pr_number required")
    return pr_number


def _checked_name(name: str | None) -> str:
    # PostgreSQL does not store a NUL.
    if not name or len(name) > MAX_NAME_CHARACTERS or "\0" in name:
        raise InvalidInputError("name required")
    return name


def _matching(pattern: re.Pattern[str], text: str | None, message: str) -> str:
    if text is None or not pattern.fullmatch(text):
        raise InvalidInputError(message)
    return text


def _checked_format(file: UploadedFile) -> ImageFormat:
    image_format = BY_CONTENT_TYPE.get(file.content_type)
    if image_format is None:
        raise UnsupportedTypeError("unsupported content-type (png/jpeg/webp)")
    if not image_format.matches(_head(file.chunks)):
        raise UnsupportedTypeError(
            f"declared {file.content_type}, but the file content is not a valid {image_format.label}"
        )
    return image_format


def _head(chunks: Sequence[bytes]) -> bytes:
    head = b""
    for chunk in chunks:
        head += chunk[: LEADING_BYTES - len(head)]
        if len(head) == LEADING_BYTES:
            break
    return head
