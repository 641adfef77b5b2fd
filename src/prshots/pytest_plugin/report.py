"""The summary lines at the end of a test run."""

from dataclasses import dataclass, field
from typing import Any


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
            known = f", {self.known} of them already there" if self.known else ""
            comment = f", {self.comment}" if self.comment else ""
            lines.append(f"{screenshots(self.uploaded)} uploaded to {self.uploaded_to}{known}{comment}")
        if self.comparison:
            lines.append(self.comparison)
        if self.kept:
            lines.append(f"{screenshots(self.kept)} kept in {self.kept_in}")
        page = [f"dashboard: {self.dashboard_url}"] if self.dashboard_url else []
        return [*lines, *self.problems, *self.warnings, *page]


def screenshots(count: int) -> str:
    return f"{count} {'screenshot' if count == 1 else 'screenshots'}"
