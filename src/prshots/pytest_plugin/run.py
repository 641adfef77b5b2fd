"""The screenshots of one pytest process: keep them, upload them, and report at the end."""

import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from prshots.contract.errors import CallError, ClosedPullRequestError, InvalidInputError, PrshotsError
from prshots.contract.formats import format_of, pixel_size
from prshots.contract.redaction import redact
from prshots.contract.sizes import pluralize
from prshots.contract.statements import message
from prshots.contract.variables import client_warnings
from prshots.pytest_plugin.camera import Screenshot, screenshot_function, theme_of, viewport_of
from prshots.pytest_plugin.shot_names import ShotNames

if TYPE_CHECKING:
    from prshots.pytest_plugin.background_uploads import BackgroundUploads

_BROWSERS = ("page", "driver", "selenium", "browser")
"""The fixtures to take a screenshot of when a test fails, in this order."""

_NOT_IN_FILE_NAMES = re.compile(r'[<>:"|?*\\]|\A[/.]+|(?<=/)\.+')


@dataclass(slots=True)
class RunReport:
    """The numbers and messages of a test run.

    `uploaded_to` is the pull request or the branch, `comment` the result of posting, and `kept_in` a folder.
    The service already had `known` of the uploaded screenshots. `is_partial` means that some tests didn't
    run. Only `problems` fail a strict run.
    """

    uploaded: int = 0
    known: int = 0
    kept: int = 0
    is_partial: bool = False
    uploaded_to: str = ""
    kept_in: str = ""
    comment: str = ""
    comparison: str = ""
    dashboard_url: str = ""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        """Add the report of another process."""
        self.uploaded += other["uploaded"]
        self.known += other["known"]
        self.is_partial |= other["is_partial"]
        self.kept += other["kept"]
        self.problems += other["problems"]
        self.warnings += other["warnings"]

    def lines(self) -> list[str]:
        lines = []
        if self.uploaded:
            known = message("already_there", count=f"{self.known:,}") if self.known else ""
            comment = f", {self.comment}" if self.comment else ""
            counted = pluralize(self.uploaded, "screenshot")
            uploaded = message("run_uploaded", screenshots=counted, target=self.uploaded_to)
            lines.append(f"{uploaded}{known}{comment}")
        if self.comparison:
            lines.append(self.comparison)
        if self.kept:
            lines.append(f"{pluralize(self.kept, 'screenshot')} kept in {self.kept_in}")
        page = [f"dashboard: {self.dashboard_url}"] if self.dashboard_url else []
        return [*lines, *self.problems, *self.warnings, *page]


@dataclass(slots=True)
class PytestRun:
    """The screenshots of a test run. `folder` and `uploads` are None if they are off."""

    folder: Path | None
    takes_failures: bool
    posts: bool
    compares: bool
    is_worker: bool
    uploads: "BackgroundUploads | None" = None
    report: RunReport = field(default_factory=RunReport)
    _spool: Path | None = None
    _spooled: int = 0
    _of_test: list[tuple[Path, Screenshot]] = field(default_factory=list)
    """The screenshots of the running test, in temporary files."""

    _problems_of_test: list[str] = field(default_factory=list)
    _kept: set[Path] = field(default_factory=set)

    @classmethod
    def begin(cls, setting: Callable[[str], Any], *, base: Path, is_worker: bool) -> Self:
        """Start a run from the settings. Raises UsageError if uploads are on and a setting is invalid."""
        mode, folder = setting("prshots"), setting("prshots_dir")
        if mode not in ("auto", "on", "off"):
            raise pytest.UsageError(f"prshots must be auto, on or off; got {mode!r}")
        run = cls(
            folder=base / folder if folder else None,
            takes_failures=setting("prshots_failures"),
            posts=setting("prshots_post"),
            compares=setting("prshots_compare"),
            is_worker=is_worker,
        )
        run.report.kept_in, run.report.is_partial = folder, setting("prshots_partial")
        run.report.warnings += [] if is_worker or mode == "off" else client_warnings(os.environ)
        try:
            run.uploads = _background_uploads(mode, is_baseline=setting("prshots_baseline"))
        except ClosedPullRequestError as error:
            run.report.warnings += [] if is_worker else [str(error)]
        except (InvalidInputError, CallError) as error:
            if mode == "on":
                raise pytest.UsageError(f"--prshots=on: {error}") from error
            run.report.problems += [] if is_worker else [f"no screenshots are uploaded: {error}"]
        if run.uploads is not None:
            run.report.uploaded_to = run.uploads.words
        return run

    @property
    def is_idle(self) -> bool:
        """Whether screenshots are neither kept nor uploaded, as on a developer's machine."""
        return self.uploads is None and self.folder is None

    def take(self, name: str, take: Callable[[], Screenshot]) -> None:
        """Take a screenshot of the running test. Errors become lines in the report."""
        if self.is_idle:
            return
        try:
            self._spool_image(take())
        except Exception as error:  # noqa: BLE001 - a closed browser may raise anything
            self._problems_of_test.append(f"{name}: {_error_message(error)}")

    def take_failure(self, names: ShotNames, fixtures: Mapping[str, Any]) -> None:
        """Take a screenshot of a failed test's browser, if it has one. It never becomes a baseline."""
        is_baseline = self.uploads is not None and self.uploads.pr_number is None
        if not self.takes_failures or self.is_idle or is_baseline:
            return
        name = names.with_label(f"failed/{names.unnamed}")
        for browser in (fixtures[fixture] for fixture in _BROWSERS if fixture in fixtures):
            if hasattr(browser, "screenshot") or hasattr(browser, "get_screenshot_as_png"):
                self.take(name, partial(_take_failure, name, browser))
                return

    def forget_test(self) -> None:
        """Drop the test's screenshots: it runs again, and only its last run counts."""
        for path, _ in self._of_test:
            path.unlink(missing_ok=True)
        self._of_test, self._problems_of_test = [], []

    def finish_test(self) -> None:
        """Keep and upload the test's screenshots. Its last run is over."""
        self.report.problems += self._problems_of_test
        for path, taken in self._of_test:
            try:
                self._save(path, taken)
            except InvalidInputError as error:
                self.report.problems.append(f"{taken.name}: {error}")
        self._of_test, self._problems_of_test = [], []

    def finish(self, *, interrupted: bool) -> None:
        """Wait for the uploads, compare, and post the comment. If interrupted, don't compare or post."""
        if self.uploads is not None:
            self.uploads.finish(self.report, hurry=interrupted)
            if self.report.uploaded and not interrupted and not self.is_worker:
                self._conclude(self.uploads)
        self.close()

    def close(self) -> None:
        if self.uploads is not None:
            self.uploads.close()
        if self._spool is not None:
            shutil.rmtree(self._spool, ignore_errors=True)
            self._spool = None

    def _conclude(self, uploads: "BackgroundUploads") -> None:
        """Mark the run complete, compare it, and post the comment: once per run, not in every worker."""
        is_complete = not (self.report.is_partial or self.report.problems)
        try:
            uploads.conclude(self.report, compares=self.compares, is_complete=is_complete)
        except PrshotsError as error:
            self.report.problems.append(message("not_compared_because", why=error))
        if self.posts and uploads.pr_number is not None:
            try:
                self.report.comment = uploads.post(uploads.pr_number)
            except PrshotsError as error:
                self.report.problems.append(message("run_not_commented", why=error))

    def _spool_image(self, taken: Screenshot) -> None:
        """Write the image to a temporary file, because a run's images may not fit in memory."""
        if format_of(taken.image) is None:
            raise InvalidInputError(message("not_an_image" if taken.image else "empty_file"))
        if self._spool is None:
            self._spool = Path(tempfile.mkdtemp(prefix="prshots-"))
        self._spooled += 1
        path = self._spool / str(self._spooled)
        path.write_bytes(taken.image)
        self._of_test.append((path, taken._replace(image=b"")))

    def _save(self, path: Path, taken: Screenshot) -> None:
        """Keep and upload a spooled image. Raises InvalidInputError."""
        from prshots.client.shots import shot_from

        _, name, viewport, theme = taken
        if self.folder is not None:
            image = path.read_bytes()
            self._keep(self.folder, image, name, _suffix(image, viewport, theme))
        if self.uploads is None:
            path.unlink()
            return
        shot = shot_from(path, name=name, viewport=viewport, theme=theme, with_suffix=False)
        if shot.warning:
            self.report.warnings.append(f"{name}: {shot.warning}")
        self.uploads.add(shot)

    def _keep(self, folder: Path, image: bytes, name: str, suffix: str) -> None:
        """Write a file that `prshots upload` would name the same. Never overwrites a file of this run."""
        stem = _NOT_IN_FILE_NAMES.sub("_", name)
        numbers = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
        paths = (folder / f"{stem}{number}{suffix}" for number in numbers)
        path = next(path for path in paths if path not in self._kept)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)
        except OSError as error:
            self.report.problems.append(f"{name}: cannot write to {self.report.kept_in}: {error.strerror}")
            return
        self._kept.add(path)
        self.report.kept += 1


def _take_failure(name: str, browser: Any) -> Screenshot:  # noqa: ANN401 - many kinds
    return Screenshot(screenshot_function(browser)(), name, viewport_of(browser), theme_of(browser))


def _suffix(image: bytes, viewport: str, theme: str) -> str:
    """Return the end of a file name: viewport, theme and extension. A theme needs a viewport."""
    if theme and not viewport and (pixels := pixel_size(image)):
        viewport = "{}x{}".format(*pixels)
    image_format = format_of(image)
    extension = image_format.ext if image_format else "png"
    return (f"@{viewport}" if viewport else "") + (f".{theme}" if theme else "") + f".{extension}"


def _background_uploads(mode: str, *, is_baseline: bool) -> "BackgroundUploads | None":
    """Return the uploads, or None if they are off or not configured. Raises InvalidInputError."""
    if mode == "off" or (mode == "auto" and not os.environ.get("PRSHOTS_URL", "").strip()):
        return None
    # Imported late, because every pytest run imports this module.
    from prshots.pytest_plugin.background_uploads import BackgroundUploads

    return BackgroundUploads.from_environment(
        os.environ, only_if_known=mode == "auto", is_baseline=is_baseline
    )


def _error_message(error: Exception) -> str:
    """Return the first line of the error, because browsers append whole logs."""
    if isinstance(error, PrshotsError):
        return str(error)
    said = redact(str(error)).strip().partition("\n")[0][:300]
    return f"no screenshot: {said or type(error).__name__}"
