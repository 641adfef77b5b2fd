"""The output of `prshots upload`: a table for people, and formats for scripts."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from prshots.cli.common import MAX_ROWS, print_json, print_table, say
from prshots.cli.target import Target
from prshots.contract.safe_text import safe_markdown
from prshots.contract.sizes import readable_size
from prshots.contract.statements import exit_code, message

if TYPE_CHECKING:
    from prshots.client.replies import ComparisonReply
    from prshots.client.shots import Problem, ShotFile
    from prshots.client.upload import UploadOutcome
    from prshots.contract.replies import ComparedShot


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    GITHUB_OUTPUT = "github-output"


@dataclass(frozen=True, slots=True)
class UploadReport:
    """The result of an upload or of a dry run. Unknown values are None or empty."""

    target: Target
    outcomes: "Sequence[UploadOutcome]"
    problems: "Sequence[Problem]"
    is_dry: bool = False
    comparison: "ComparisonReply | None" = None
    dashboard_url: str = ""

    @property
    def count(self) -> int:
        return sum(outcome.is_done for outcome in self.outcomes)

    @property
    def known(self) -> int:
        return sum(outcome.is_known for outcome in self.outcomes)

    @property
    def exit_code(self) -> int:
        """The exit code: 0 if everything was uploaded, 1 if nothing was, 3 if only some was."""
        good = sum(not outcome.error for outcome in self.outcomes)
        if good == len(self.outcomes) + len(self.problems):
            return 0
        return exit_code("some_failed" if good else "failed")

    def say_summary(self) -> None:
        if any(outcome.is_too_large for outcome in self.outcomes):
            say(message("use_shrink"))
        from prshots.client.upload import NOT_TRIED

        total = len(self.outcomes) + len(self.problems)
        left = sum(outcome.error == NOT_TRIED for outcome in self.outcomes)
        say(
            message(
                "uploaded_summary",
                count=self.count,
                total=total,
                target=self.target.words,
                already_there=message("already_there", count=f"{self.known:,}") if self.known else "",
                not_tried=message("not_tried_count", count=f"{left:,}") if left else "",
            )
        )

    def print(self, output_format: OutputFormat | None) -> None:
        match output_format:
            case OutputFormat.TABLE:
                self._print_table()
            case OutputFormat.JSON:
                print_json(self._json())
            case OutputFormat.MARKDOWN:
                print("".join(f"{safe_markdown(line)}\n" for line in self._markdown()), end="")
            case OutputFormat.GITHUB_OUTPUT:
                self._print_github_output()

    def _markdown(self) -> list[str]:
        return [outcome.uploaded.markdown for outcome in self.outcomes if outcome.uploaded]

    def _print_table(self) -> None:
        """Print the uploaded screenshots. Failures already have their own lines."""
        rows = [
            (outcome.shot, [readable_size(outcome.shot.size), self._result(outcome)])
            for outcome in self.outcomes
            if not outcome.error
        ]
        print_shots(["SIZE", "RESULT"], rows)

    def _result(self, outcome: "UploadOutcome") -> str:
        sent = "result_already_there" if outcome.is_known else "result_uploaded"
        done = message("result_would_be_uploaded" if self.is_dry else sent)
        return f"{done}; {outcome.note}" if outcome.note else done

    def _json(self) -> dict[str, Any]:
        good: list[dict[str, str]] = []
        failed: list[dict[str, str]] = []
        for outcome in self.outcomes:
            shot, uploaded = outcome.shot, outcome.uploaded
            if outcome.error:
                failed.append({"path": str(shot.path), "error": outcome.error})
                continue
            entry = {"path": str(shot.path), "name": shot.name, "viewport": shot.viewport}
            entry |= {"theme": shot.theme} if shot.theme else {}
            if uploaded is not None:
                entry |= {"id": uploaded.id, "view_url": uploaded.view_url, "markdown": uploaded.markdown}
            good.append(entry | {"note": outcome.note})
        failed += [{"path": problem.path, "error": problem.words} for problem in self.problems]
        target = self.target
        about = {"pr_number": target.pr_number, "commit_sha": target.commit_sha}
        about |= {"count": self.count, "known": self.known}
        about |= {"baseline_of": target.baseline_of} if target.baseline_of else {}
        done = {"uploaded": [], "would_upload": good} if self.is_dry else {"uploaded": good}
        comparison = self.comparison and self.comparison.brief
        seen_at = {"comparison": comparison, "dashboard_url": self.dashboard_url or None}
        return about | done | {"failed": failed} | seen_at

    def _print_github_output(self) -> None:
        # The delimiter is random: a name that contains it could end the block and set another output.
        end = f"end_{secrets.token_hex(16)}"
        print(f"count={self.count}")
        for line in github_outputs(self.dashboard_url, self.comparison):
            print(line)
        urls = [outcome.uploaded.view_url for outcome in self.outcomes if outcome.uploaded]
        for name, lines in (("urls", urls), ("markdown", self._markdown())):
            print("\n".join([f"{name}<<{end}", *lines, end]))


def print_shots(columns: Sequence[str], rows: "Sequence[tuple[ShotFile | ComparedShot, list[str]]]") -> None:
    """Print a table of shots with these columns, unless it is too long. Adds a theme column if needed."""
    if not 0 < len(rows) <= MAX_ROWS:
        return
    if any(shot.theme for shot, _ in rows):
        columns = ["THEME", *columns]
        rows = [(shot, [shot.theme or "-", *cells]) for shot, cells in rows]
    print_table(
        ["NAME", "VIEWPORT", *columns],
        [[shot.name, shot.viewport, *cells] for shot, cells in rows],
    )


def github_outputs(dashboard_url: str, comparison: "ComparisonReply | None") -> list[str]:
    """Return the known facts about a comparison, as lines for the $GITHUB_OUTPUT file."""
    lines = [f"dashboard-url={dashboard_url}"] if dashboard_url else []
    if comparison is not None:
        lines.append(f"comparison={comparison.state}")
        lines += [f"{name}={count}" for name, count in comparison.counts.items()]
    return lines


def say_dashboard(url: str) -> None:
    """Print the link to the dashboard as the last line, after flushing standard output."""
    if url:
        print(end="", flush=True)
        say(message("dashboard", url=url))
