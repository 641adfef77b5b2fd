"""Many uploads at once, and what became of each."""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prshots.client import AT_ONCE
from prshots.client.service import Client
from prshots.client.shots import Shot, megabytes
from prshots.contract.errors import (
    CallError,
    PrshotsError,
    RateLimitedError,
    UnauthorizedError,
    UnreachableError,
)
from prshots.contract.replies import Uploaded

NOT_TRIED = "not tried: nothing could be uploaded any more"

_HOPELESS = (UnauthorizedError, UnreachableError, RateLimitedError)
"""What would befall every other upload alike."""

_FAILURES_IN_A_ROW = 3
"""After so many that the service could not take, however often each was tried, the rest is not tried."""


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """What became of one screenshot: it was uploaded, or there is an error. `note` is as a shot's.

    `is_hopeless`: whatever else were uploaded now could only fail too.
    """

    shot: Shot
    uploaded: Uploaded | None = None
    error: str = ""
    note: str = ""
    is_hopeless: bool = False


def nothing(outcome: UploadOutcome) -> None:
    del outcome


def upload_all(
    client: Client,
    shots: Sequence[Shot],
    *,
    pr_number: int,
    commit_sha: str,
    at_once: int = AT_ONCE,
    on_done: Callable[[UploadOutcome], None] = nothing,
) -> list[UploadOutcome]:
    """Upload screenshots, begun in their order, and return the outcomes in the same.

    `on_done` is told of each as it is done, in the thread of the caller. One that fails does not stop the
    others, unless they could only fail too. A screenshot that is too large is shrunk to fit.
    """
    uploads = _Uploads(client, shots, pr_number, commit_sha)
    for _ in range(min(at_once, len(shots))):
        # Not from a pool, whose threads Python waits for at its end: Ctrl-C ends at once.
        threading.Thread(target=uploads.work, name="upload", daemon=True).start()
    outcomes: dict[int, UploadOutcome] = {}
    try:
        for _ in shots:
            index, outcome = uploads.next_done()
            outcomes[index] = outcome
            on_done(outcome)
    finally:
        uploads.give_up()
    return [outcomes[index] for index in range(len(shots))]


class _Uploads:
    """The uploads that threads take turns with."""

    def __init__(self, client: Client, shots: Sequence[Shot], pr_number: int, commit_sha: str) -> None:
        self._client = client
        self._pr_number = pr_number
        self._commit_sha = commit_sha
        self._left = iter(enumerate(shots))
        self._lock = threading.Lock()
        self._shrinking = threading.Lock()
        self._done: queue.SimpleQueue[tuple[int, UploadOutcome] | BaseException] = queue.SimpleQueue()
        self._given_up = threading.Event()
        self._failures = 0

    def work(self) -> None:
        try:
            while (turn := self._next()) is not None:
                index, shot = turn
                self._done.put((index, self._outcome(shot)))
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits for it
            self._done.put(error)

    def next_done(self) -> tuple[int, UploadOutcome]:
        done = self._done.get()
        if isinstance(done, BaseException):
            raise done
        return done

    def give_up(self) -> None:
        self._given_up.set()

    def _next(self) -> tuple[int, Shot] | None:
        with self._lock:
            return next(self._left, None)

    def _outcome(self, shot: Shot) -> UploadOutcome:
        if self._given_up.is_set():
            return UploadOutcome(shot, error=NOT_TRIED, is_hopeless=True)
        try:
            outcome = self._uploaded(shot)
        except (PrshotsError, OSError) as error:
            self._judge(error)
            words = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
            return UploadOutcome(shot, error=words, note=shot.note, is_hopeless=self._given_up.is_set())
        self._failures = 0
        return outcome

    def _judge(self, error: Exception) -> None:
        self._failures += isinstance(error, CallError)
        if isinstance(error, _HOPELESS) or self._failures >= _FAILURES_IN_A_ROW:
            self.give_up()

    def _uploaded(self, shot: Shot) -> UploadOutcome:
        def upload(image: bytes | None, content_type: str) -> Uploaded:
            return self._client.upload(
                (lambda: shot.path.open("rb")) if image is None else image,
                name=shot.name,
                pr_number=self._pr_number,
                commit_sha=self._commit_sha,
                viewport=shot.viewport,
                content_type=content_type,
            )

        if not shot.is_too_large:
            return UploadOutcome(shot, upload(None, shot.content_type), note=shot.note)
        from prshots.client.shrinking import shrunk

        with self._shrinking:  # one at a time: decoded, a picture takes a lot of memory
            content, content_type, label = shrunk(shot.path)
        note = f"shrunk from {megabytes(shot.size)} to {megabytes(len(content))} as {label}"
        return UploadOutcome(shot, upload(content, content_type), note=note)
