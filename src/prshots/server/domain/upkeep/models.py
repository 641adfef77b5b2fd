"""What the upkeep finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Total = Literal["project", "pull request", "day"]


@dataclass(frozen=True, slots=True)
class WrongTotal:
    """A stored total that differs from what was counted.

    `number` is the pull request's number, or the day (Unix time // 86,400); 0 for a project.
    """

    of: Total
    project_id: str
    number: int
    stored: Mapping[str, int]
    counted: Mapping[str, int]
