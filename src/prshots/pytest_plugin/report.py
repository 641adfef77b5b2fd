"""The summary lines at the end of a test run."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class RunReport:
    """`uploaded_to` is the pull request, `comment` the result of posting, and `kept_in` a folder.

    Only `problems` fail a strict run.
    """

    uploaded: int = 0
    kept: int = 0
    uploaded_to: int = 0
    kept_in: str = ""
    comment: str = ""
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def add(self, other: dict[str, Any]) -> None:
        """Add the report of another process."""
        self.uploaded += other["uploaded"]
        self.kept += other["kept"]
        self.problems += other["problems"]
        self.warnings += other["warnings"]

    def lines(self) -> list[str]:
        lines = []
        if self.uploaded:
            comment = f", {self.comment}" if self.comment else ""
            lines.append(f"{screenshots(self.uploaded)} uploaded to PR {self.uploaded_to}{comment}")
        if self.kept:
            lines.append(f"{screenshots(self.kept)} kept in {self.kept_in}")
        return [*lines, *self.problems, *self.warnings]


def screenshots(count: int) -> str:
    return f"{count} {'screenshot' if count == 1 else 'screenshots'}"
