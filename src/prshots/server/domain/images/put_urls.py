"""One-time URLs: who has one can upload one image with a plain PUT, and nothing else."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from prshots.contract.errors import ConflictError, InvalidInputError, NotFoundError, UnsupportedTypeError
from prshots.contract.limits import COMMIT_SHA
from prshots.contract.replies import PutUrls as PutUrlsReply
from prshots.contract.replies import Uploaded
from prshots.server.domain.images.checks import (
    CheckedUpload,
    UploadedFile,
    UploadForm,
    check_fields,
    check_upload,
    format_of,
    pr_number_from_json,
    require_pr,
)
from prshots.server.domain.images.models import NO_PULL_REQUEST, Image, ImageKind, Place, PutUrl
from prshots.server.domain.images.ports import PutUrlRecords
from prshots.server.domain.images.recorded_objects import Recording
from prshots.server.domain.images.service import Images
from prshots.server.domain.images.staging import Staging, place_of
from prshots.server.domain.projects.access import Access, require_branch
from prshots.server.domain.projects.credentials import hash_of
from prshots.server.domain.projects.models import Project

PUT_SECONDS = 600
BAD_WITH_BEFORE = "with_before must be true or false"
BEFORE_FIRST = "put the before first"
NO_TARGET = "pr_number or branch required, and not both"


@dataclass(frozen=True, slots=True)
class Putting:
    """A valid URL, and the project that it uploads to. `is_before`: it takes the before of its image."""

    put_url: PutUrl
    project: Project
    is_before: bool


class PutUrls:
    def __init__(
        self,
        *,
        records: PutUrlRecords,
        images: Images,
        staging: Staging,
        base_url: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._images = images
        self._staging = staging
        self._base_url = base_url
        self._clock = clock

    async def create(self, access: Access, body: Mapping[str, Any]) -> PutUrlsReply:
        """Return a new URL. Raises InvalidInputError, UnsupportedTypeError, ForbiddenError."""
        (pr_number, place), (name, commit_sha, viewport, theme) = check_fields(body, _target, COMMIT_SHA)
        content_type = format_of(body.get("content_type")).content_type
        if pr_number == NO_PULL_REQUEST:
            require_branch(access, place.branch, "stage images")
        else:
            require_pr(access.only_pr, pr_number)
        with_before = body.get("with_before", False)
        if not isinstance(with_before, bool):
            raise InvalidInputError(BAD_WITH_BEFORE)
        secret, of_before = secrets.token_urlsafe(32), secrets.token_urlsafe(32) if with_before else ""
        now = int(self._clock())
        put_url = PutUrl(
            sha256=hash_of(secret),
            project_id=access.project.id,
            token_id=access.token_id,
            pr_number=pr_number,
            place=place,
            name=name,
            commit_sha=commit_sha,
            viewport=viewport,
            theme=theme,
            content_type=content_type,
            expires_at=min(now + PUT_SECONDS, access.expires_at or now + PUT_SECONDS),
            before_sha256=hash_of(of_before) if of_before else None,
        )
        await self._records.add(put_url)
        return PutUrlsReply(
            self._address(secret), put_url.expires_at, self._address(of_before) if of_before else ""
        )

    async def find(self, secret: str) -> Putting:
        """Return what a URL's secret is for.

        Raises NotFoundError if it was used or is unknown, ConflictError if its before must be put first.
        """
        sha256 = hash_of(secret)
        found = await self._records.find(sha256, int(self._clock()))
        if found is None:
            raise NotFoundError("not found")
        put_url, project = found
        is_before = sha256 == put_url.before_sha256
        if is_before and put_url.before_id:
            raise NotFoundError("not found")
        if not is_before and put_url.before_sha256 and not put_url.before_id:
            raise ConflictError(BEFORE_FIRST)
        return Putting(put_url, project, is_before)

    async def put(self, putting: Putting, file: UploadedFile) -> Uploaded:
        """Validate, count and store an image like an upload. Unless that succeeds, the URL stays valid."""
        checked = self._checked(putting.put_url, file)
        if not putting.put_url.before_id:  # a pair counts once
            await self._images.count_upload(putting.project)
        return await (self._put_before if putting.is_before else self._put_image)(putting, checked)

    async def _put_before(self, putting: Putting, checked: CheckedUpload) -> Uploaded:
        before = self._images.new_image(putting.project, NO_PULL_REQUEST, checked, "before")
        await self._keep(lambda: self._records.use_before(putting.put_url, before), before, checked)
        return self._images.uploaded(before)

    async def _put_image(self, putting: Putting, checked: CheckedUpload) -> Uploaded:
        put_url, project = putting.put_url, putting.project
        is_staged = put_url.pr_number == NO_PULL_REQUEST
        kind: ImageKind = "staged" if is_staged else "pull_request"
        image = self._images.new_image(project, put_url.pr_number, checked, kind)._replace(
            before_id=put_url.before_id
        )
        staged = self._staging.stage(image, put_url.place) if is_staged else None
        await self._keep(lambda: self._records.use(put_url, image, staged), image, checked)
        before = await self._images.before_of(image)
        if staged:
            return self._staging.reply(project, replace(staged, before=before))
        return self._images.uploaded(image, before)

    async def _keep(self, record: Recording, image: Image, checked: CheckedUpload) -> None:
        if not await self._images.keep_if(record, image, checked.file.chunks):
            raise NotFoundError("not found")

    def _checked(self, put_url: PutUrl, file: UploadedFile) -> CheckedUpload:
        if file.content_type != put_url.content_type:
            raise UnsupportedTypeError(f"Content-Type must be {put_url.content_type}, which the URL is for")
        fields = {
            "name": put_url.name,
            "commit_sha": put_url.commit_sha,
            "viewport": put_url.viewport,
            "theme": put_url.theme,
        }
        _, checked = check_upload(
            UploadForm(file, fields),
            lambda _: None,
            commit=COMMIT_SHA,
            max_image_bytes=self._images.max_image_bytes,
        )
        return checked

    def _address(self, secret: str) -> str:
        return f"{self._base_url}/v1/put/{secret}"


def _target(body: Mapping[str, Any]) -> tuple[int, Place]:
    given = [name for name in ("pr_number", "branch") if name in body]
    if len(given) != 1:
        raise InvalidInputError(NO_TARGET)
    if given == ["pr_number"]:
        return pr_number_from_json(body["pr_number"]), Place("", "")
    return NO_PULL_REQUEST, place_of(body)
