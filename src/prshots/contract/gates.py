"""The gate as a commit status on a forge."""

from enum import StrEnum
from typing import NamedTuple

from prshots.contract.replies import CommitState, ComparisonState, Gate, GateState
from prshots.contract.sizes import pluralize
from prshots.contract.statements import message, statements

STATUS_NAME = "prshots"
"""The name that a required check has in a repository's settings."""


class NoBaseline(StrEnum):
    """What the gate does while the base branch has no baselines."""

    BLOCK = "block"
    PASS = "pass"  # noqa: S105 - not a password


class CommitStatus(NamedTuple):
    """A commit's status on a forge. `url` is the page that shows more, `context` is the status's name."""

    state: CommitState
    description: str
    url: str
    context: str = STATUS_NAME


_STATES = {
    GateState.PASSED: CommitState.SUCCESS,
    GateState.WAITING: CommitState.PENDING,
    GateState.REJECTED: CommitState.FAILURE,
    GateState.BLOCKED: CommitState.PENDING,
}


def describe_gate(gate: Gate) -> str:
    """Return the gate in one line of plain text, for a status, a comment or a terminal."""
    name = f"gate_blocked_{gate.reason}" if gate.reason else f"gate_{gate.state}"
    known = name if name in statements()["messages"] else "gate_blocked"  # a newer service may have others
    return message(known, shots=pluralize(gate.open, "screenshot"))


def commit_state(gate: Gate) -> CommitState:
    """Return the state of the commit status. A blocked gate never succeeds: it fails or waits."""
    return CommitState.FAILURE if gate.reason == ComparisonState.FAILED else _STATES[gate.state]
