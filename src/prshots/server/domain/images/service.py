"""The image service: upload, delete, expire."""

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog

from prshots.contract.errors import (
    EXPIRE_FAILED,
    ExpireFailedError,
    NotFoundError,
    RecordsError,
    RecordsFullError,
    StoreError,
)
from prshots.contract.limits import COMMIT_SHA, Policy
from prshots.contract.object_names import DIFF_EXT, THUMBNAIL_EXT
from prshots.contract.replies import Expired, Uploaded
from prshots.server.domain.images.checks import (
    CheckedUpload,
    UploadedFile,
    UploadForm,
    check_upload,
    is_image_id,
    pr_number_of,
    require_pr,
)
from prshots.server.domain.images.expiry import ExpiryOutcome, expire_scheduled
from prshots.server.domain.images.markdown import image_markdown
from prshots.server.domain.images.models import (
    NO_PULL_REQUEST,
    SECONDS_PER_DAY,
    Image,
    ImageKind,
    ListedImage,
)
from prshots.server.domain.images.ports import ImageRecords, ObjectStore, RateCounter
from prshots.server.domain.images.rate import count_upload
from prshots.server.domain.images.recorded_objects import Recording, store_and_record
from prshots.server.domain.projects.models import Project
from prshots.server.domain.projects.ports import ProjectRecords
from prshots.server.links.ports import KeySource

EXPIRE_BATCH = 1000

_log = structlog.get_logger()


class Images:
    def __init__(
        self,
        *,
        records: ImageRecords,
        projects: ProjectRecords,
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
        self._projects = projects
        self._store = store
        self._counter = counter
        self._keys = keys
        self._img_url = img_url
        self._web_url = web_url
        self.max_image_bytes = max_image_bytes
        self._on_expired = on_expired
        self._clock = clock

    async def upload(self, project: Project, form: UploadForm, only_pr: int | None = None) -> Uploaded:
        """Validate, count and store an image. If it raises an error, nothing is left behind.

        With `only_pr`, it can only be an image of this pull request.
        """
        pr_number, checked = check_upload(
            form, pr_number_of, commit=COMMIT_SHA, max_image_bytes=self.max_image_bytes
        )
        require_pr(only_pr, pr_number)
        await self.count_upload(project)
        image, before = self.new_pair(project, pr_number, checked)
        await self.keep_pair(lambda: self._records.add_image(image, before=before), image, before, checked)
        return self.uploaded(image, before)

    def uploaded(self, image: Image, before: Image | None = None) -> Uploaded:
        """Return the reply to an upload of this image."""
        url = self.url_of(image)
        before_url = self.url_of(before) if before else None
        return Uploaded(image.id, url, image_markdown(image.name, url), before_url)

    def url_of(self, image: Image) -> str:
        return self._signed(image, image.ext)

    def signing_listed(self) -> Callable[[ListedImage], str]:
        """Return `url_of` for hundreds of listed images: the keys are looked up only once."""
        img_url, sign = self._img_url, self._keys.ring().sign
        return lambda image: img_url + sign(image.id, image.ext, image.url_expires_at, image.kid)

    def version_of_urls(self) -> str:
        """Return a text that changes whenever the URL of an image can: with the keys, and once a day."""
        fingerprints = [key.fingerprint for key in self._keys.ring().keys]
        return f"{self._img_url} {fingerprints} {self._now() // SECONDS_PER_DAY}"

    def thumbnail_url_of(self, image: Image) -> str:
        """Return the URL of the thumbnail, which may not exist yet."""
        return self._signed(image, THUMBNAIL_EXT)

    def diff_url_of(self, image: Image, base: Image) -> str:
        """Return the URL of the difference to this base. It differs for another base, so that caches do."""
        return self._signed(image, DIFF_EXT, later=int(base.id[:4], 16))

    def dashboard_url_of(self, project: Project, pr_number: int) -> str:
        return f"{self._web_url}/projects/{project.id}/prs/{pr_number}"

    def staged_page_of(self, project: Project) -> str:
        return f"{self._web_url}/projects/{project.id}/staged"

    async def before_of(self, image: Image) -> Image | None:
        """Return the before that it was uploaded with; None if it has none any more."""
        found = await self._records.befores([image.before_id]) if image.before_id else []
        return found[0] if found else None

    async def content(self, image: Image) -> bytes | None:
        """Return the image's bytes; None if it is deleted. Raises StoreError."""
        return await self._store.read(image.key)

    async def delete(
        self, project: Project, image_id: str, only_pr: int | None = None, *, baselines: bool = True
    ) -> None:
        """Expire one image now, regardless of the policy. Raises NotFoundError, ExpireFailedError.

        With `only_pr`, only images of this pull request exist. Without `baselines`, theirs do not.

        ExpireFailedError promises that the sweep finishes it. Without the mark that the sweep looks for, it
        raises RecordsError instead.
        """
        image = await self._records.image(project.id, image_id) if is_image_id(image_id) else None
        if image is None or only_pr not in {None, image.pr_number}:
            raise NotFoundError("not found")
        if image.kind in {"baseline", "staged"} and not baselines:
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
        while left := await self._projects.retire_project(project.id, self._now(), EXPIRE_BATCH):
            if time.monotonic() > until:
                return left
            batch = await self._records.scheduled("", EXPIRE_BATCH, project.id)
            outcome = await self._expire_now(batch)
            if outcome.failed:
                raise ExpireFailedError(EXPIRE_FAILED)
        return 0 if await self._projects.remove_project(project.id) else 1

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

    def new_pair(
        self,
        project: Project,
        pr_number: int,
        checked: CheckedUpload,
        kind: ImageKind = "pull_request",
    ) -> tuple[Image, Image | None]:
        """Return the record of a new image, and of its before if it came with one. Neither is stored yet."""
        image = self.new_image(project, pr_number, checked, kind)
        if checked.before is None:
            return image, None
        before = self.new_image(project, NO_PULL_REQUEST, checked.before, "before")
        return image._replace(before_id=before.id), before

    def new_image(
        self,
        project: Project,
        pr_number: int,
        checked: CheckedUpload,
        kind: ImageKind = "pull_request",
    ) -> Image:
        """Return the record of a new image, which is not stored yet."""
        return Image(
            id=secrets.token_hex(16),
            project_id=project.id,
            pr_number=pr_number,
            name=checked.name,
            commit_sha=checked.commit_sha,
            viewport=checked.viewport,
            ext=checked.ext,
            size=checked.file.size,
            uploaded_at=self._now(),
            kid=self._keys.ring().signing_kid,
            theme=checked.theme,
            sha256=checked.file.sha256(),
            kind=kind,
        )

    async def count_upload(self, project: Project) -> None:
        """Raise RateLimitedError if the project has reached its limit."""
        await count_upload(self._counter, project)

    async def keep(self, image: Image, file: UploadedFile, branch: str = "") -> None:
        """Store an image, or nothing. With a branch, it becomes the baseline of its shot there."""
        await self.keep_if(lambda: self._records.add_image(image, branch), image, file.chunks)

    async def keep_pair(
        self, record: Recording, image: Image, before: Image | None, checked: CheckedUpload
    ) -> bool:
        """Store an image and its before, if it has one, and record them: all or nothing."""

        def keep_image() -> Awaitable[bool]:
            return self.keep_if(record, image, checked.file.chunks)

        if before is None or checked.before is None:
            return await keep_image()
        return await self.keep_if(keep_image, before, checked.before.file.chunks)

    async def keep_if(self, record: Recording, image: Image, chunks: Sequence[bytes]) -> bool:
        """Store an image and record it, or do neither. Return whether it was recorded."""
        return await store_and_record(self._store, image.key, chunks, record)

    def _signed(self, image: Image, ext: str, later: int = 0) -> str:
        expires_at = image.url_expires_at(self._now()) + later
        return self._img_url + self._keys.ring().sign(image.id, ext, expires_at, image.kid)

    def _now(self) -> int:
        return int(self._clock())
