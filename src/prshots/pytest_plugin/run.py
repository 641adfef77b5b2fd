"""What one process of pytest does with its screenshots: keep them, upload them, and report at the end."""

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from prshots.contract.errors import InvalidInputError, PrshotsError
from prshots.pytest_plugin.report import Report
from prshots.pytest_plugin.taking import name_of, shortened, way_to_take

if TYPE_CHECKING:
    from prshots.pytest_plugin.uploads import Delivery

_BROWSERS = ("page", "driver", "selenium", "browser")
"""The fixtures that a failed test is looked for, in this order."""

_NOT_IN_FILE_NAMES = re.compile(r'[<>:"|?*\\]|\A[/.]+|(?<=/)\.+')


@dataclass(slots=True)
class Run:
    """`folder` keeps the files, if there is one; `delivery` uploads them, if there is where to."""

    folder: Path | None
    delivery: "Delivery | None"
    takes_failures: bool
    posts: bool
    report: Report = field(default_factory=Report)
    _spool: Path | None = None
    _spooled: int = 0
    _kept: set[Path] = field(default_factory=set)

    @classmethod
    def begun(
        cls, *, mode: str, folder: str, posts: bool, takes_failures: bool, base: Path, is_worker: bool
    ) -> Self:
        """Begin, with what the environment says. Raises UsageError when it is on, and that is not enough."""
        if mode not in ("auto", "on", "off"):
            raise pytest.UsageError(f"prshots is auto, on or off; got {mode!r}")
        kept_in = base / folder if folder else None
        run = cls(kept_in, None, takes_failures, posts and not is_worker)
        run.report.kept_in = folder
        try:
            run.delivery = _delivery(mode)
        except InvalidInputError as error:
            if mode == "on":
                raise pytest.UsageError(f"--prshots=on: {error}") from error
            run.report.problems += [] if is_worker else [f"nothing is uploaded: {error}"]
        if run.delivery is not None:
            run.report.uploaded_to = run.delivery.pr_number
        return run

    @property
    def is_idle(self) -> bool:
        """Whether nobody wants the screenshots, as on somebody's own machine."""
        return self.delivery is None and self.folder is None

    def take(self, take: Callable[[], bytes], name: str, viewport: str) -> None:
        """Take a screenshot, and keep and deliver it. Whatever goes wrong becomes a line of the report."""
        if self.is_idle:
            return
        try:
            self._deliver(take(), name, viewport)
        except Exception as error:  # noqa: BLE001 - anything may be raised by a browser that has gone
            self.report.problems.append(f"{name}: {_words(error)}")

    def take_failure(self, nodeid: str, fixtures: Mapping[str, Any]) -> None:
        """Take a screenshot of what a failed test was looking at, if it has a browser."""
        if not self.takes_failures or self.is_idle:
            return
        name = shortened(f"failed/{name_of(nodeid)}")
        for browser in (fixtures[name] for name in _BROWSERS if name in fixtures):
            if hasattr(browser, "screenshot") or hasattr(browser, "get_screenshot_as_png"):
                self.take(lambda browser=browser: way_to_take(browser)(), name, "")  # type: ignore[misc]
                return

    def finish(self, *, interrupted: bool) -> None:
        """Wait for what is being uploaded, and post the comment: neither, if somebody wants it to end."""
        if self.delivery is not None:
            uploaded, problems = self.delivery.finished(hurry=interrupted)
            self.report.uploaded += uploaded
            self.report.problems += problems
            if self.posts and self.report.uploaded and not interrupted:
                self._post(self.delivery)
        self.close()

    def close(self) -> None:
        if self.delivery is not None:
            self.delivery.close()
        if self._spool is not None:
            shutil.rmtree(self._spool, ignore_errors=True)
            self._spool = None

    def _post(self, delivery: "Delivery") -> None:
        try:
            self.report.comment = delivery.post()
        except PrshotsError as error:
            self.report.problems.append(f"the comment was not posted: {error}")

    def _deliver(self, image: bytes, name: str, viewport: str) -> None:
        from prshots.client.shots import megabytes, shot_from
        from prshots.contract.formats import format_of
        from prshots.contract.limits import MAX_IMAGE_BYTES

        image_format = format_of(image)
        if image_format is None:
            raise InvalidInputError("is neither PNG nor JPEG nor WebP" if image else "is empty")
        if self.folder is not None:
            self._keep(self.folder, image, name, f"@{viewport}" if viewport else "", image_format.ext)
        if self.delivery is not None:
            if len(image) >= MAX_IMAGE_BYTES:
                raise InvalidInputError(f"has {megabytes(len(image))}, and 5 MB is too much")
            path = self._spool_path()
            path.write_bytes(image)
            self.delivery.add(shot_from(path, name=name, viewport=viewport, with_suffix=False))

    def _keep(self, folder: Path, image: bytes, name: str, suffix: str, ext: str) -> None:
        """Keep it under a path that `prshots upload` would call the same, but over none of this run."""
        stem = _NOT_IN_FILE_NAMES.sub("_", name)
        numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
        paths = (folder / f"{stem}{number}{suffix}.{ext}" for number in numbers)
        path = next(path for path in paths if path not in self._kept)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)
        except OSError as error:
            self.report.problems.append(f"{name}: cannot be kept in {self.report.kept_in}: {error.strerror}")
            return
        self._kept.add(path)
        self.report.kept += 1

    def _spool_path(self) -> Path:
        """Return a place for the bytes until they are uploaded: a test may take hundreds of megabytes."""
        if self._spool is None:
            self._spool = Path(tempfile.mkdtemp(prefix="prshots-"))
        self._spooled += 1
        return self._spool / str(self._spooled)


def _delivery(mode: str) -> "Delivery | None":
    """Return where to upload to; None when it is off, or nobody says where. Raises InvalidInputError."""
    if mode == "off" or (mode == "auto" and not os.environ.get("PRSHOTS_URL", "").strip()):
        return None
    from prshots.pytest_plugin.uploads import Delivery

    return Delivery.from_environment(os.environ, only_if_known=mode == "auto")


def _words(error: Exception) -> str:
    """Return what went wrong in one line: browsers add whole logs to theirs."""
    if isinstance(error, PrshotsError):
        return str(error)
    from prshots.contract.redaction import redact

    said = redact(str(error)).strip().partition("\n")[0][:300]
    return f"no screenshot: {said or type(error).__name__}"
