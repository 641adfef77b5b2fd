"""One-time URLs. The holder of a URL can upload one image with a plain PUT, and nothing else."""

import secrets
import time
from dataclasses import dataclass, replace

from prshots.contract.errors import ConflictError, NotFoundError, UnsupportedTypeError
from prshots.contract.replies import OneTimeUrls, Uploaded
from prshots.server.domain.images import checks
from prshots.server.domain.images.models import NO_PULL_REQUEST, BranchPlace, Image, ImageKind, PutUrl
from prshots.server.domain.images.ports import PutUrlRecords
from prshots.server.domain.images.service import Images, LimitedRecording
from prshots.server.domain.images.staging import Staging
from prshots.server.domain.projects.credentials import hash_of
from prshots.server.domain.projects.models import Access, Project

PUT_SECONDS = 600
BEFORE_FIRST = "put the before first"


@dataclass(frozen=True, slots=True)
class PutTarget:
    """A valid URL and the project that it uploads to. `is_before` means that it accepts the before image."""

    put_url: PutUrl
    project: Project
    is_before: bool

    def check_file(self, file: checks.UploadedFile, max_image_bytes: int) -> checks.CheckedUpload:
        """Check the file like any other upload. Raises PayloadTooLargeError, UnsupportedTypeError."""
        put_url = self.put_url
        if file.content_type != put_url.content_type:
            raise UnsupportedTypeError(f"Content-Type must be {put_url.content_type}, which the URL is for")
        fields = checks.UploadFields(put_url.name, put_url.commit_sha, put_url.viewport, put_url.theme)
        return checks.check_files(fields, file, None, max_image_bytes)

    @property
    def is_counted(self) -> bool:
        """Whether this counts as an upload. A pair counts once, with its before image."""
        return not self.put_url.before_id


class PutUrls:
    def __init__(
        self,
        *,
        records: PutUrlRecords,
        images: Images,
        staging: Staging,
        base_url: str,
    ) -> None:
        self._records = records
        self._images = images
        self._staging = staging
        self._base_url = base_url

    async def create(
        self,
        access: Access,
        fields: checks.UploadFields,
        pr_number: int,
        place: BranchPlace,
        content_type: str,
        *,
        with_before: bool,
    ) -> OneTimeUrls:
        """Create a URL. `pr_number` is 0 if the image will be staged at `place`."""
        secret = secrets.token_urlsafe(32)
        before_secret = secrets.token_urlsafe(32) if with_before else ""
        now = int(time.time())
        put_url = PutUrl(
            sha256=hash_of(secret),
            project_id=access.project.id,
            token_id=access.token_id,
            pr_number=pr_number,
            place=place,
            name=fields.name,
            commit_sha=fields.commit_sha,
            viewport=fields.viewport,
            theme=fields.theme,
            content_type=content_type,
            expires_at=min(now + PUT_SECONDS, access.expires_at or now + PUT_SECONDS),
            before_sha256=hash_of(before_secret) if before_secret else None,
        )
        await self._records.add(put_url)
        return OneTimeUrls(
            self._address(secret), put_url.expires_at, self._address(before_secret) if before_secret else ""
        )

    async def find(self, secret: str) -> PutTarget:
        """Return the upload that a URL's secret permits.

        Raises NotFoundError for a used or unknown URL, and ConflictError if the before image must come first.
        """
        sha256 = hash_of(secret)
        found = await self._records.find(sha256, int(time.time()))
        if found is None:
            raise NotFoundError("not found")
        put_url, project = found
        is_before = sha256 == put_url.before_sha256
        if is_before and put_url.before_id:
            raise NotFoundError("not found")
        if not is_before and put_url.before_sha256 and not put_url.before_id:
            raise ConflictError(BEFORE_FIRST)
        return PutTarget(put_url, project, is_before)

    async def put(self, target: PutTarget, checked: checks.CheckedUpload) -> Uploaded:
        """Store an image. If that fails, the URL stays valid."""
        return await (self._put_before if target.is_before else self._put_image)(target, checked)

    async def _put_before(self, target: PutTarget, checked: checks.CheckedUpload) -> Uploaded:
        before = self._images.new_image(
            target.project, NO_PULL_REQUEST, checked.fields, checked.image, "before"
        )
        await self._store(
            target.project,
            lambda limits: self._records.use_before(target.put_url, before, limits),
            before,
            checked,
        )
        return self._images.reply(before)

    async def _put_image(self, target: PutTarget, checked: checks.CheckedUpload) -> Uploaded:
        put_url, project = target.put_url, target.project
        is_staged = put_url.pr_number == NO_PULL_REQUEST
        kind: ImageKind = "staged" if is_staged else "pull_request"
        new = self._images.new_image(project, put_url.pr_number, checked.fields, checked.image, kind)
        image = new._replace(before_id=put_url.before_id)
        staged = self._staging.stage(image, put_url.place) if is_staged else None
        await self._store(
            project, lambda limits: self._records.use(put_url, image, staged, limits), image, checked
        )
        before = await self._images.before_of(image)
        if staged:
            return self._staging.reply(project, replace(staged, before=before))
        return self._images.reply(image, before)

    async def _store(
        self, project: Project, record: LimitedRecording, image: Image, checked: checks.CheckedUpload
    ) -> None:
        """Store and record the image. Raises NotFoundError if the URL was used in the meantime."""
        if not await self._images.store_pair(project, record, image, None, checked):
            raise NotFoundError("not found")

    def _address(self, secret: str) -> str:
        return f"{self._base_url}/v1/put/{secret}"
