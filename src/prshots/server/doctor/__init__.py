"""`prshots doctor`: check everything that the service depends on, and report how to fix problems.

The doctor never creates or migrates a database. It writes a small object and a test image, and deletes both.
If it is killed before that, the sweep deletes them within hours.
"""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    about: str
    state: State
    words: str


def ok(about: str, words: str) -> DoctorFinding:
    return DoctorFinding(about, State.OK, words)


def warning(about: str, words: str) -> DoctorFinding:
    return DoctorFinding(about, State.WARNING, words)


def problem(about: str, words: str) -> DoctorFinding:
    return DoctorFinding(about, State.PROBLEM, words)


CLOCK_SECONDS = 5.0
"""The largest clock difference without a warning. Sign-ins and sweeps need clocks within a minute."""


def check_clock(about: str, ahead: float, more: str = "") -> list[DoctorFinding]:
    """Warn if a clock differs from this machine's."""
    if abs(ahead) <= CLOCK_SECONDS:
        return []
    difference = f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's"
    return [warning(about, f"its clock is {difference}: use NTP on both machines{more}")]
