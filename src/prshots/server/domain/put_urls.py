"""One-time URLs: who has one can upload one image with a plain PUT, and nothing else."""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from prshots.contract.errors import InvalidInputError, NotFoundError, UnsupportedTypeError
from prshots.contract.limits import COMMIT_SHA
from prshots.contract.replies import PutUrls as PutUrlsReply
from prshots.contract.replies import Uploaded
from prshots.server.domain.baselines import require_branch
from prshots.server.domain.credentials import hash_of
from prshots.server.domain.images import Images
from prshots.server.domain.models import NO_PULL_REQUEST, Place, Project, PutUrl
from prshots.server.domain.ports import PutUrlRecords
from prshots.server.domain.projects import Access
from prshots.server.domain.staging import Staging, place_of
from prshots.server.domain.upload_checks import (
    CheckedUpload,
    UploadedFile,
    UploadForm,
    check_fields,
    check_upload,
    format_of,
    pr_number_from_json,
    require_pr,
)

PUT_SECONDS = 600
NO_TARGET = "pr_number or branch required, and not both"


@dataclass(frozen=True, slots=True)
class Putting:
    """A valid URL, and the project that it uploads to."""

    put_url: PutUrl
    project: Project


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
        secret, now = secrets.token_urlsafe(32), int(self._clock())
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
        )
        await self._records.add(put_url)
        return PutUrlsReply(self._address(secret), put_url.expires_at)

    async def find(self, secret: str) -> Putting:
        """Return what a URL's secret is for. Raises NotFoundError if it was used or is unknown."""
        found = await self._records.find(hash_of(secret), int(self._clock()))
        if found is None:
            raise NotFoundError("not found")
        return Putting(*found)

    async def put(self, putting: Putting, file: UploadedFile) -> Uploaded:
        """Validate, count and store an image like an upload. Unless that succeeds, the URL stays valid."""
        put_url, project = putting.put_url, putting.project
        checked = self._checked(put_url, file)
        await self._images.count_upload(project)
        staged = self._staging.new(project, put_url.place, checked) if not put_url.pr_number else None
        image = staged.image if staged else self._images.new_image(project, put_url.pr_number, checked)
        if not await self._images.keep_if(
            lambda: self._records.use(put_url, image, staged), image, file.chunks
        ):
            raise NotFoundError("not found")
        return self._staging.reply(project, staged) if staged else self._images.uploaded(image)

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
    given = [name for name in ("pr_number", "branch") if body.get(name) is not None]
    if len(given) != 1:
        raise InvalidInputError(NO_TARGET)
    if given == ["pr_number"]:
        return pr_number_from_json(body["pr_number"]), Place("", "")
    return NO_PULL_REQUEST, place_of(body)
