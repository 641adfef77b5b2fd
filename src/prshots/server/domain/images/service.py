"""The image service: uploads, describes, deletes and expires images."""

import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog

from prshots.contract import errors
from prshots.contract.limits import Policy
from prshots.contract.object_names import CLOSEUP_EXTS, DIFF_EXT, THUMBNAIL_EXT
from prshots.contract.replies import Described, Expired, Uploaded
from prshots.server.domain.images import checks
from prshots.server.domain.images.markdown import image_markdown
from prshots.server.domain.images.models import (
    KEPT_REPLY_SECONDS,
    NO_PULL_REQUEST,
    SECONDS_PER_DAY,
    Description,
    Image,
    ImageKind,
    KeptReply,
    ListedImage,
    ShotKey,
)
from prshots.server.domain.images.ports import ImageRecords, ObjectStore
from prshots.server.domain.images.recorded_objects import (
    ExpiryOutcome,
    expire_scheduled,
    store_and_record,
)
from prshots.server.domain.projects.models import Access, Project
from prshots.server.domain.projects.ports import ProjectRecords
from prshots.server.domain.storage.models import Limits
from prshots.server.domain.storage.service import Quotas
from prshots.server.links import KeySource

EXPIRE_BATCH = 1000

LimitedRecording = Callable[[Limits], Awaitable[bool | None]]
"""Records objects whose bytes are stored, within limits. Returns False to refuse them."""

_log = structlog.get_logger()


class Images:
    def __init__(
        self,
        *,
        records: ImageRecords,
        projects: ProjectRecords,
        store: ObjectStore,
        quotas: Quotas,
        keys: KeySource,
        img_url: str,
        web_url: str,
        on_expired: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._projects = projects
        self._store = store
        self._quotas = quotas
        self._keys = keys
        self._img_url = img_url
        self._web_url = web_url
        self._on_expired = on_expired
        self._clock = clock

    async def store_upload(
        self, project: Project, pr_number: int, checked: checks.CheckedUpload, key: str = ""
    ) -> Uploaded | None:
        """Store an image of a pull request. On an error, leaves nothing behind.

        Return None and store nothing if another upload with this key was stored meanwhile.
        """
        image, before = self.new_pair(project, pr_number, checked)
        reply = self.reply(image, before)
        kept = KeptReply.of(image, reply, key)
        is_new = await self.store_pair(
            project,
            lambda limits: self._records.add_image(image, before=before, kept=kept, limits=limits),
            image,
            before,
            checked,
        )
        return reply if is_new else None

    async def kept_reply(self, project: Project, key: str) -> dict[str, str | int] | None:
        """Return the fields of the reply to the project's upload with this key, for a day."""
        return await self._records.kept_reply(project.id, key, self._now() - KEPT_REPLY_SECONDS)

    async def keep_reply(self, kept: KeptReply) -> None:
        """Keep the reply to an upload that stored nothing."""
        await self._records.keep_reply(kept)

    async def add_known(
        self, project: Project, pr_number: int, commit_sha: str, shots: Sequence[tuple[ShotKey, str]]
    ) -> list[ShotKey]:
        """Give a commit the images whose bytes, named by their SHA-256, are known. Return the other shots."""
        known = await self._records.add_references(project.id, pr_number, commit_sha, shots, self._now())
        return [shot for (shot, _), is_known in zip(shots, known, strict=True) if not is_known]

    def reply(self, image: Image, before: Image | None = None) -> Uploaded:
        """Return the reply to an upload of this image."""
        url = self.url_of(image)
        before_url = self.url_of(before) if before else None
        return Uploaded(image.id, url, image_markdown(image.name, url), before_url)

    def url_of(self, image: Image) -> str:
        return self._sign(image, image.ext)

    def make_listed_signer(self) -> Callable[[ListedImage], str]:
        """Return a fast `url_of` for hundreds of listed images. It looks up the keys only once."""
        img_url, sign = self._img_url, self._keys.ring().sign
        return lambda image: img_url + sign(image.id, image.ext, image.url_expires_at, image.kid)

    def version_of_urls(self) -> str:
        """Return a string that changes whenever an image's URL can change: with the keys, and once a day."""
        fingerprints = [key.fingerprint for key in self._keys.ring().keys]
        return f"{self._img_url} {fingerprints} {self._now() // SECONDS_PER_DAY}"

    def thumbnail_url_of(self, image: Image) -> str:
        """Return the thumbnail's URL. The thumbnail may not exist yet."""
        return self._sign(image, THUMBNAIL_EXT)

    def diff_url_of(self, image: Image, base: Image) -> str:
        """Return the URL of the difference from this base. It depends on the base, so caches stay correct."""
        return self._sign(image, DIFF_EXT, later=int(base.id[:4], 16))

    def closeup_urls_of(self, image: Image, base: Image, count: int) -> list[str]:
        return [self._sign(image, ext, later=int(base.id[:4], 16)) for ext in CLOSEUP_EXTS[:count]]

    def dashboard_url_of(self, project: Project, pr_number: int) -> str:
        return f"{self._web_url}/projects/{project.id}/prs/{pr_number}"

    def staged_page_of(self, project: Project) -> str:
        return f"{self._web_url}/projects/{project.id}/staged"

    async def describe(self, access: Access, described: Description) -> Described:
        """Store a description. The first client that knows the repository also sets it for the project.

        A keyless token can only set the one that its trust names. Raises NotFoundError if the pull request
        has no uploads yet.
        """
        project = access.project
        if not await self._records.describe_pull(project.id, described):
            raise errors.NotFoundError("not found")
        if described.repository and not project.repository:
            token_id = access.token_id if access.is_keyless else ""
            await self._projects.set_repository(project.id, described.repository, token_id)
        return Described(described.pr_number, self.dashboard_url_of(project, described.pr_number))

    async def before_of(self, image: Image) -> Image | None:
        """Return the image's before image, or None if it has none or no longer exists."""
        found = await self._records.before_images([image.before_id]) if image.before_id else []
        return found[0] if found else None

    async def content(self, image: Image) -> bytes | None:
        """Return the image's bytes, or None if it is deleted. Raises StoreError."""
        return await self._store.read(image.key)

    async def delete(self, access: Access, image_id: str) -> None:
        """Expire one image now, regardless of the policy. Raises NotFoundError, ExpireFailedError.

        Its references go with it. A reference goes with its source, unless that is the image of a baseline.
        Images that the token doesn't cover count as not found. ExpireFailedError promises that the sweep will
        finish the job. If the image couldn't be scheduled, the sweep wouldn't find it, so this raises
        RecordsError instead.
        """
        project_id = access.project.id
        image = await self._records.image(project_id, image_id) if checks.is_image_id(image_id) else None
        if image is None or not await self._covers(access, image):
            raise errors.NotFoundError("not found")
        if image.source_id:
            source = await self._records.image(project_id, image.source_id)
            image = source if source and source.pr_number == image.pr_number else image
        is_marked = await self._try_to_schedule(image)
        if await self._try_to_expire(image):
            return
        if not is_marked:
            await self._records.schedule([image.id], self._now())
        raise errors.ExpireFailedError(errors.EXPIRE_FAILED)

    async def _covers(self, access: Access, image: Image) -> bool:
        if not access.is_keyless or image.pr_number != NO_PULL_REQUEST:
            return access.covers_pr(image.pr_number)
        # Several branches can share the image of a baseline. A before image has no branch.
        return access.covers_branches(await self._records.branches_of(image.id))

    async def _try_to_schedule(self, image: Image) -> bool:
        """Schedule the image. Return False on a full disk: deleting the bytes may make room for the mark."""
        if image.scheduled_at is None:
            try:
                await self._records.schedule([image.id], self._now())
            except errors.RecordsFullError:
                return False
        return True

    async def _try_to_expire(self, image: Image) -> bool:
        try:
            # A comparison may have stored a difference image before this one was scheduled.
            image = await self._records.image(image.project_id, image.id) or image
            doomed = [image, *await self._records.references_to(image.id)]
            return not (await self._expire_now(doomed)).failed
        except (errors.RecordsError, errors.StoreError) as error:
            if error.count_request:
                error.count_request()
            else:
                _log.error("expiry did not complete", image=image.id, reason=str(error))
            return False

    async def expire(self, project: Project, pr_number: int, *, deleted_by: str = "") -> Expired:
        """Apply the policy to a closed pull request. Images that can't be deleted now stay scheduled.

        With `deleted_by`, a person deletes the images regardless of the policy, and it stays open.
        """
        at_once = bool(deleted_by) or project.policy is Policy.PR_CLOSE
        place = (project.id, pr_number, self._now())
        mark = partial(self._records.close_pr, *place, schedule=at_once, deleted_by=deleted_by)
        try:
            marked = await mark()
        except errors.RecordsFullError:
            if not at_once or not await self._make_room(project, pr_number):
                raise
            marked = await mark()
        expired = await self._expire_pr(project, pr_number) if at_once else 0
        return Expired(pr_number, project.policy, marked, expired)

    async def remove_project(self, project: Project, seconds: float) -> int:
        """Delete a project's images, then the project. Stop after `seconds`. Return how many images remain.

        Revokes the project's tokens first, which stops new uploads. Deletes the project when no images
        remain. Remaining images stay scheduled for expiry. Raises ExpireFailedError.
        """
        until = time.monotonic() + seconds
        while left := await self._projects.retire_project(project.id, self._now(), EXPIRE_BATCH):
            if time.monotonic() > until:
                return left
            batch = await self._records.next_scheduled("", EXPIRE_BATCH, project.id)
            outcome = await self._expire_now(batch)
            if outcome.failed:
                raise errors.ExpireFailedError(errors.EXPIRE_FAILED)
        return 0 if await self._projects.remove_project(project.id) else 1

    async def _make_room(self, project: Project, pr_number: int) -> bool:
        """Delete the bytes of an expiring pull request. A full disk has no room to mark its images first."""
        images = await self._records.images_of_pr(project.id, pr_number, EXPIRE_BATCH)
        failed = await self._store.delete([key for image in images for key in image.keys])
        return any(image.key not in failed for image in images)

    async def _expire_pr(self, project: Project, pr_number: int) -> int:
        expired, after = 0, ""
        while batch := await self._records.next_scheduled(after, EXPIRE_BATCH, project.id, pr_number):
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
        checked: checks.CheckedUpload,
        kind: ImageKind = "pull_request",
    ) -> tuple[Image, Image | None]:
        """Return the unsaved records of a new image and of its before image, if it has one."""
        image = self.new_image(project, pr_number, checked.fields, checked.image, kind)
        if checked.before is None:
            return image, None
        before = self.new_image(project, NO_PULL_REQUEST, checked.fields, checked.before, "before")
        return image._replace(before_id=before.id), before

    def new_image(
        self,
        project: Project,
        pr_number: int,
        fields: checks.UploadFields,
        file: checks.CheckedFile,
        kind: ImageKind,
    ) -> Image:
        """Return the unsaved record of a new image."""
        return Image(
            id=secrets.token_hex(16),
            project_id=project.id,
            pr_number=pr_number,
            name=fields.name,
            commit_sha=fields.commit_sha,
            viewport=fields.viewport,
            ext=file.ext,
            size=file.size,
            uploaded_at=self._now(),
            kid=self._keys.ring().signing_kid,
            theme=fields.theme,
            sha256=file.sha256(),
            kind=kind,
        )

    async def store_pair(
        self,
        project: Project,
        record: LimitedRecording,
        image: Image,
        before: Image | None,
        checked: checks.CheckedUpload,
    ) -> bool:
        """Store and record an image and its before image, or neither. Return whether they were recorded.

        Raises QuotaReachedError if they don't fit.
        """
        limits = self.limits_of(project)
        await self._quotas.require_room(limits, image.size + (before.size if before else 0))
        objects = {before.key: checked.before.chunks} if before and checked.before else {}
        objects[image.key] = checked.image.chunks
        return await store_and_record(self._store, objects, lambda: record(limits))

    async def store_baseline(
        self,
        project: Project,
        image: Image,
        branch: str,
        checked: checks.CheckedUpload,
        kept: KeptReply | None,
    ) -> bool:
        """Store and record a shot's baseline on this branch, or neither. Return whether it was recorded."""
        return await self.store_pair(
            project,
            lambda limits: self._records.add_image(image, branch, kept=kept, limits=limits),
            image,
            None,
            checked,
        )

    def limits_of(self, project: Project) -> Limits:
        """Return what limits the project's uploads."""
        return self._quotas.limits_of(project)

    def _sign(self, image: Image, ext: str, later: int = 0) -> str:
        expires_at = image.url_expires_at(self._now()) + later
        owner_id = image.source_id or image.id if ext == image.ext else image.id
        return self._img_url + self._keys.ring().sign(owner_id, ext, expires_at, image.kid)

    def _now(self) -> int:
        return int(self._clock())
