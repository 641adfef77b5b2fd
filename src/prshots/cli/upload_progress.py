"""Upload progress on standard error: a bar on a terminal, a line per screenshot in a log."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from prshots.cli.common import say
from prshots.cli.upload_output import printable

if TYPE_CHECKING:
    from prshots.client.uploading import UploadOutcome


class Lines:
    """Prints one line per screenshot. Screenshots that were not tried get none."""

    def __init__(self, total: int) -> None:
        self._total = total
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is KeyboardInterrupt:
            say(f"Interrupted: {self.count} of {self._total} screenshots processed.")

    def done(self, outcome: "UploadOutcome") -> None:
        from prshots.client.uploading import NOT_TRIED

        self.count += 1
        if outcome.error != NOT_TRIED:
            shot = outcome.shot
            good = "already there" if outcome.is_known else "ok"
            result = outcome.error or (f"{good}; {outcome.note}" if outcome.note else good)
            which = " ".join(filter(None, shot.key))
            self._tell(f"{which} … {result}", is_good=not outcome.error)

    def say(self, words: str) -> None:
        say(words)

    def _tell(self, words: str, *, is_good: bool) -> None:
        del is_good
        self.say(printable(f"[{self.count}/{self._total}] {words}"))


class Bar(Lines):
    """Shows a progress bar. Errors and pauses are printed above it."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        super().__exit__(kind, error, trace)

    def say(self, words: str) -> None:
        self._bar.console.print(words, markup=False, highlight=False, soft_wrap=True)

    def _tell(self, words: str, *, is_good: bool) -> None:
        self._bar.update(self._task, completed=self.count)
        if not is_good:
            self.say(printable(words))
