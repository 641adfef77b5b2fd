"""Upload progress on standard error: a bar on a terminal, occasional lines in a log, and failures at once."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from prshots.cli.common import say, say_failure
from prshots.contract.safe_text import printable
from prshots.contract.statements import message

if TYPE_CHECKING:
    from prshots.client.upload import UploadOutcome

TELL_SECONDS = 10.0
"""How often a log gets a progress line."""


class ProgressLines:
    """Prints a line per failure, and the progress of a long upload."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._clock = clock
        self._told_at = clock()
        self._failures: set[str] = set()
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is KeyboardInterrupt:
            self.fail(message("interrupted", count=self.count, total=self._total))

    def done(self, outcome: "UploadOutcome") -> None:
        self.count += 1
        if outcome.error:
            self._tell_failure(outcome)
        self.advance()

    def advance(self) -> None:
        now = self._clock()
        if now - self._told_at >= TELL_SECONDS and self.count < self._total:
            self._told_at = now
            self.say(message("uploading", count=f"{self.count:,}", total=f"{self._total:,}"))

    def say(self, words: str) -> None:
        say(words)

    def fail(self, words: str) -> None:
        say_failure(words)

    def _tell_failure(self, outcome: "UploadOutcome") -> None:
        """Print each failure once. A failure that stops all uploads names no file. Skips files not tried."""
        from prshots.client.upload import NOT_TRIED

        words = outcome.error if outcome.is_fatal else f"{outcome.shot.path}: {outcome.error}"
        if outcome.error != NOT_TRIED and words not in self._failures:
            self._failures.add(words)
            self.fail(words)


class ProgressBar(ProgressLines):
    """Shows a progress bar, with errors and pauses above it."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(total)
        self._bar = Progress(
            TextColumn("Uploading"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._bar.stop()
        super().__exit__(kind, *error)

    def say(self, words: str) -> None:
        self._bar.console.print(printable(words), markup=False, highlight=False, soft_wrap=True)

    def fail(self, words: str) -> None:
        self.say(words)

    def advance(self) -> None:
        self._bar.update(self._task, completed=self.count)
