"""Upload many screenshots concurrently, to a pull request or as baselines, and report on each.

The client first sends the hashes of the files, and then only the files that the service doesn't have.
"""

import hashlib
import queue
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from prshots.client import DEFAULT_CONCURRENCY
from prshots.client.service import Client, HashedShot, Image, ShotFields
from prshots.client.shots import ShotFile, open_image
from prshots.contract.errors import (
    CallError,
    InvalidInputError,
    PayloadTooLargeError,
    PrshotsError,
    RateLimitedError,
    UnauthorizedError,
    UnreachableError,
    WrongAddressError,
)
from prshots.contract.limits import MAX_IMAGE_BYTES
from prshots.contract.replies import ServiceLimits, Uploaded
from prshots.contract.sizes import readable_size
from prshots.contract.statements import message

NOT_TRIED = message("not_tried")

_FATAL = (UnauthorizedError, UnreachableError, RateLimitedError, WrongAddressError)
"""Errors that every other upload would hit as well."""

_FAILURES_IN_A_ROW = 3
"""After this many uploads in a row that the service couldn't store, the rest aren't tried."""


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """The result for one screenshot: `uploaded`, or an `error`. `note` is extra information for the user.

    `is_fatal` means that any other upload would also fail. `is_too_large` means that shrinking the image
    would help. `is_known` means that the service already has the bytes: none were sent, and there is no
    `uploaded`.
    """

    shot: ShotFile
    uploaded: Uploaded | None = None
    error: str = ""
    note: str = ""
    is_fatal: bool = False
    is_too_large: bool = False
    is_known: bool = False

    @property
    def is_done(self) -> bool:
        return self.uploaded is not None or self.is_known


ShotKey = tuple[str, str, str]
"""A shot's name, viewport and theme."""

Send = Callable[[ShotFile, Image, str], Uploaded]
"""Sends a shot's image with a content type."""

Ask = Callable[[Sequence[HashedShot]], Sequence[Mapping[str, Any]]]
"""Returns the shots that the service doesn't have, by `name`, `viewport` and `theme`."""


def shot_fields(shot: ShotFile, content_type: str, commit_sha: str) -> ShotFields:
    return {
        "name": shot.name,
        "viewport": shot.viewport,
        "theme": shot.theme,
        "commit_sha": commit_sha,
        "content_type": content_type,
    }


def upload_all(
    client: Client,
    shots: Sequence[ShotFile],
    *,
    pr_number: int,
    commit_sha: str,
    concurrency: int = DEFAULT_CONCURRENCY,
    shrink: bool = False,
    on_done: Callable[[UploadOutcome], None] = lambda _: None,
) -> list[UploadOutcome]:
    """Upload a pull request's screenshots, and return the outcomes in the same order.

    Sends only images that the service doesn't have. `on_done` receives each outcome as soon as it is
    known, in the caller's thread. One failure doesn't stop the others, unless they would also fail. With
    `shrink`, images that are too large are recompressed.
    """

    def send(shot: ShotFile, image: Image, content_type: str) -> Uploaded:
        return client.upload(image, pr_number=pr_number, **shot_fields(shot, content_type, commit_sha))

    ask = partial(client.missing_images, pr_number, commit_sha)
    limits = client.limits() if shots else None
    return send_all(send, shots, limits, ask, concurrency=concurrency, shrink=shrink, on_done=on_done)


def upload_baselines(
    client: Client,
    shots: Sequence[ShotFile],
    *,
    branch: str,
    commit_sha: str,
    concurrency: int = DEFAULT_CONCURRENCY,
    shrink: bool = False,
    on_done: Callable[[UploadOutcome], None] = lambda _: None,
) -> list[UploadOutcome]:
    """Upload a commit's baselines, and return the outcomes in the same order, as `upload_all` does.

    `commit_sha` has 40 characters.
    """

    def send(shot: ShotFile, image: Image, content_type: str) -> Uploaded:
        return client.baseline(image, branch=branch, **shot_fields(shot, content_type, commit_sha))

    ask = partial(client.missing_baselines, branch, commit_sha)
    limits = client.limits() if shots else None
    return send_all(send, shots, limits, ask, concurrency=concurrency, shrink=shrink, on_done=on_done)


def send_all(
    send: Send,
    shots: Sequence[ShotFile],
    limits: ServiceLimits | None,
    ask: Ask | None = None,
    *,
    concurrency: int,
    shrink: bool,
    on_done: Callable[[UploadOutcome], None],
) -> list[UploadOutcome]:
    """Send each shot as `upload_all` describes. Without `ask`, send even those that the service has."""
    uploads = _Uploads(send, shots, limits, ask, shrink=shrink)
    try:
        uploads.find_known(shots)
    except PrshotsError as error:  # every upload would fail the same way
        failed = [UploadOutcome(shot, error=NOT_TRIED, is_fatal=True) for shot in shots]
        failed[0] = replace(failed[0], error=str(error))
        for outcome in failed:
            on_done(outcome)
        return failed
    for _ in range(min(concurrency, len(shots))):
        # No thread pool: Python waits for a pool's threads at exit, and Ctrl-C should stop immediately.
        # The context has the deadline.
        threading.Thread(target=copy_context().run, args=(uploads.work,), name="upload", daemon=True).start()
    outcomes: dict[int, UploadOutcome] = {}
    try:
        for _ in shots:
            index, outcome = uploads.next_done()
            outcomes[index] = outcome
            on_done(outcome)
    finally:
        uploads.stop()
    return [outcomes[index] for index in range(len(shots))]


class _Uploads:
    """The screenshots to upload, shared by the threads that upload them."""

    def __init__(
        self,
        send: Send,
        shots: Sequence[ShotFile],
        limits: ServiceLimits | None,
        ask: Ask | None,
        *,
        shrink: bool,
    ) -> None:
        self._send = send
        self._ask = ask
        self._known: set[ShotKey] = set()
        # Without known limits, nothing is refused here: the service decides.
        self._max_bytes = limits.max_image_bytes if limits else None
        self._shrink_from = (self._max_bytes or MAX_IMAGE_BYTES) if shrink else sys.maxsize
        self._left = iter(enumerate(shots))
        self._lock = threading.Lock()
        self._shrinking = threading.Lock()
        self._done: queue.SimpleQueue[tuple[int, UploadOutcome] | BaseException] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._failures = 0

    def find_known(self, shots: Sequence[ShotFile]) -> None:
        """Ask about all files that are sent unchanged. Raises the errors of the service's client."""
        if self._ask:
            unchanged = [shot for shot in shots if shot.size < self._shrink_from]
            hashes = {shot.key: sha256 for shot in unchanged if (sha256 := _file_hash(shot))}
            self._known = _known_of(self._ask, hashes)

    def work(self) -> None:
        try:
            while (task := self._next()) is not None:
                index, shot = task
                self._done.put((index, self._try_upload(shot)))
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            self._done.put(error)

    def next_done(self) -> tuple[int, UploadOutcome]:
        done = self._done.get()
        if isinstance(done, BaseException):
            raise done
        return done

    def stop(self) -> None:
        self._stopped.set()

    def _next(self) -> tuple[int, ShotFile] | None:
        with self._lock:
            return next(self._left, None)

    def _try_upload(self, shot: ShotFile) -> UploadOutcome:
        if shot.key in self._known:
            return UploadOutcome(shot, note=shot.note, is_known=True)
        if self._stopped.is_set():
            return UploadOutcome(shot, error=NOT_TRIED, is_fatal=True)
        try:
            outcome = self._upload(shot)
        except (PrshotsError, OSError) as error:
            self._failures += isinstance(error, CallError)
            if isinstance(error, _FATAL) or self._failures >= _FAILURES_IN_A_ROW:
                self.stop()
            return UploadOutcome(
                shot,
                error=message("cannot_read", why=error.strerror or error)
                if isinstance(error, OSError)
                else str(error),
                note=shot.note,
                is_fatal=self._stopped.is_set(),
                is_too_large=isinstance(error, PayloadTooLargeError),
            )
        self._failures = 0
        return outcome

    def _upload(self, shot: ShotFile) -> UploadOutcome:
        if shot.size >= self._shrink_from:
            return self._upload_shrunk(shot)
        if self._max_bytes is not None and shot.size >= self._max_bytes:
            limit = readable_size(self._max_bytes)
            raise PayloadTooLargeError(message("too_large", size=readable_size(shot.size), limit=limit))
        uploaded = self._send(shot, lambda: open_image(shot.path), shot.content_type)
        return UploadOutcome(shot, uploaded, note=shot.note)

    def _upload_shrunk(self, shot: ShotFile) -> UploadOutcome:
        from prshots.client.shrink import shrink

        with self._shrinking:  # one at a time: a decoded image takes a lot of memory
            content, content_type, label = shrink(shot.path, self._shrink_from)
        sizes = {"before": readable_size(shot.size), "after": readable_size(len(content))}
        note = message("shrunk", **sizes, format=label)
        # Ask one by one: all contents together could exceed the memory.
        if self._ask and _known_of(self._ask, {shot.key: hashlib.sha256(content).hexdigest()}):
            return UploadOutcome(shot, note=note, is_known=True)
        return UploadOutcome(shot, self._send(shot, content, content_type), note=note)


def _file_hash(shot: ShotFile) -> str:
    """Return the SHA-256 of the file, or "" if it can't be read: sending it reports the error."""
    try:
        with open_image(shot.path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, InvalidInputError):
        return ""


def _known_of(ask: Ask, hashes: Mapping[ShotKey, str]) -> set[ShotKey]:
    """Return the shots whose bytes the service has. From now on, it has them for this commit."""
    asked = [
        {"name": name, "viewport": viewport, "theme": theme, "sha256": sha256}
        for (name, viewport, theme), sha256 in hashes.items()
    ]
    missing = {tuple(str(shot.get(part)) for part in ("name", "viewport", "theme")) for shot in ask(asked)}
    return {key for key in hashes if key not in missing}
