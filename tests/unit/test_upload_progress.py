"""Progress lines in a log while screenshots are uploaded."""

from pathlib import Path

import pytest

from prshots.cli.upload import TELL_SECONDS, ProgressLines
from prshots.client.shots import ShotFile
from prshots.client.upload import NOT_TRIED, UploadOutcome
from prshots.contract.replies import Uploaded

DONE = Uploaded("id", "url", "markdown")


def outcome(name: str, *, error: str = "", is_fatal: bool = False) -> UploadOutcome:
    shot = ShotFile(Path(f"shots/{name}.png"), name, "9x9", "image/png", 9)
    return UploadOutcome(shot, None if error else DONE, error=error, is_fatal=is_fatal)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, []), (TELL_SECONDS / 100, ["Uploading … 100 of 300", "Uploading … 200 of 300"])]
)
def test_only_slow_uploads_report_progress(
    seconds: float, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter(number * seconds for number in range(1000))
    with ProgressLines(300, clock=lambda: next(times)) as lines:
        for number in range(300):
            lines.done(outcome(str(number)))
    printed = capsys.readouterr()
    assert (printed.out, printed.err.splitlines()) == ("", told)


def test_each_failure_has_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    refused = "https://example.com refused the token"
    with ProgressLines(6, clock=lambda: 0.0) as lines:
        lines.done(outcome("a", error="is empty"))
        lines.done(outcome("b", error="is empty"))
        for name in ("c", "d"):
            lines.done(outcome(name, error=refused, is_fatal=True))
        for name in ("e", "f"):
            lines.done(outcome(name, error=NOT_TRIED))
    assert capsys.readouterr().err.splitlines() == ["shots/a.png: is empty", "shots/b.png: is empty", refused]
