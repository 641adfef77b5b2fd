"""`prshots doctor`: looks at everything that the service stands on, and says in plain words what to fix.

It makes and migrates nothing. What it writes, a small object and an image to fetch, it deletes again; killed
meanwhile, it leaves what the sweep removes within hours.
"""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    about: str
    state: State
    words: str


def ok(about: str, words: str) -> Finding:
    return Finding(about, State.OK, words)


def warning(about: str, words: str) -> Finding:
    return Finding(about, State.WARNING, words)


def problem(about: str, words: str) -> Finding:
    return Finding(about, State.PROBLEM, words)


CLOCK_SECONDS = 5.0
"""How far clocks may be apart. Signed URLs live for a year, but sign-ins and sweeps go by the minute."""
