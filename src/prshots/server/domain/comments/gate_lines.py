"""The gate in the comment: what is left to review, and what is rejected."""

from dataclasses import replace

from prshots.contract.comments import Marker
from prshots.contract.gates import describe_gate
from prshots.contract.replies import (
    NOT_COMPARED,
    ComparedShot,
    Comparison,
    ComparisonState,
    GateState,
    ReviewState,
)
from prshots.server.domain.comments.compared_shots import show_compared, sort_by_importance
from prshots.server.domain.comments.frame import LINK_SHARE, Frame
from prshots.server.domain.comments.markup import code, link, name_as_code, plain_or_code, size, visible
from prshots.server.domain.comments.tables import TABLES, label
from prshots.server.domain.review.rules import MOST_NAMED, describe_unreadable, is_unreadable

_MAX_REJECTED = 3
_LONGEST_NOTE = 120


def write_gate(frame: Frame, comparison: Comparison, missing: str) -> str:
    """Return one line with the gate, and a line for each of the first rejected shots, if there is room.

    `missing` is a sentence about missing parts, which is more specific than the gate that they block.
    """
    gate = comparison.gate
    if _blocks_as_unreadable(comparison):
        return missing
    words = describe_gate(gate)
    if gate.state is GateState.BLOCKED and missing:
        return f"**Blocked**: {_continue(missing)}"
    if gate.state is GateState.REJECTED and gate.open:
        words += f", {describe_gate(replace(gate, state=GateState.WAITING))}"
    text = f"**{gate.state.capitalize()}**: {link(_continue(words), frame.href({'tab': 'changes'}))}"
    if gate.reason == NOT_COMPARED.reason:
        text += ": wait for its job, or run it again."
    text += _list_rejected(frame, comparison)
    return f"{text}\n\n{missing}" if missing else text


def write_unreadable(frame: Frame, comparison: Comparison) -> str:
    """Return which shots could not be compared, and what to do, or "" if all could."""
    unread = [shot for shot in comparison.shots if is_unreadable(shot.verdict, shot.review)]
    if not unread:
        return ""
    names = [(shot.name, shot.viewport, shot.theme) for shot in unread]
    words = describe_unreadable(names, plain_or_code, names=0 if frame.is_short else MOST_NAMED)
    return f"**Blocked**: {words}" if _blocks_as_unreadable(comparison) else words


def _blocks_as_unreadable(comparison: Comparison) -> bool:
    """Return whether shots that could not be compared are the reason for the gate."""
    is_compared = comparison.state is ComparisonState.COMPARED
    return is_compared and comparison.gate.reason == ComparisonState.FAILED


def _continue(sentence: str) -> str:
    """Return the sentence as it reads after a colon."""
    return sentence[0].lower() + sentence[1:]


def _list_rejected(frame: Frame, comparison: Comparison) -> str:
    """Return a list whose bullets differ from those of the groups, so that the two lists stay separate."""
    rejected = [shot for shot in comparison.shots if shot.review.state is ReviewState.REJECTED]
    text = ""
    for shot in sort_by_importance(rejected)[:_MAX_REJECTED]:
        line = f"\n* {_write_rejected(frame, shot)}"
        if size(text + line) > frame.limit // LINK_SHARE:
            break
        text += line
    return f"\n{text}" if text else ""


def _write_rejected(frame: Frame, shot: ComparedShot) -> str:
    """Return who rejected what, and the first line of the note. As code, neither can mention anyone."""
    tables = TABLES[Marker.LINK]  # the line is markdown on every forge
    name = link(name_as_code(shot.name), frame.href_of(show_compared(shot, tables)))
    words = f"{name} · {label((shot.viewport, shot.theme), tables)} · by {name_as_code(shot.review.by)}"
    note = shot.review.note.strip().partition("\n")[0][:_LONGEST_NOTE].strip()
    return f"{words}: {code(visible(note))}" if note else words
