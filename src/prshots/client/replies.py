"""Parse the service's reply to a comparison."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar

from prshots.contract import validate
from prshots.contract.gates import STATUS_NAME
from prshots.contract.replies import (
    NO_REVIEW,
    NOT_COMPARED,
    CloseUp,
    CommitState,
    ComparedShot,
    Comparison,
    ComparisonState,
    Gate,
    GateState,
    GateStatus,
    OutdatedNote,
    Pin,
    PullGate,
    Review,
    ReviewState,
    ShotPart,
    Verdict,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")
MAX_NUMBER = 2**37


@dataclass(frozen=True, slots=True)
class ComparisonReply(Comparison):
    """A comparison, and the JSON that the service sent."""

    json: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def brief(self) -> dict[str, Any]:
        """The JSON without the shots, as commands print it."""
        return {name: self.json[name] for name in ("branch", "base_commit", "state", "counts")}


def comparison_from(value: Mapping[str, Any]) -> ComparisonReply:
    """Parse the JSON. Raises KeyError, TypeError, ValueError or OverflowError if it isn't a comparison."""
    return reply_from(
        ComparisonReply,
        value,
        state=ComparisonState(value["state"]),
        counts={Verdict(verdict).value: int(count) for verdict, count in dict(value["counts"]).items()},
        shots=[_shot(shot) for shot in value["shots"]],
        dashboard_url=validate.address(value["dashboard_url"]),
        gate=_gate(value["gate"]) if "gate" in value else NOT_COMPARED,
        outdated_notes=[_read_note(OutdatedNote, note) for note in value.get("outdated_notes", ())],
        json=value,
    )


def _shot(value: Mapping[str, Any]) -> ComparedShot:
    verdict, pixels = Verdict(value["verdict"]), int(value["pixels"] or 0)
    review = _read_note(Review, value["review"]) if "review" in value else NO_REVIEW
    closeups = [reply_from(CloseUp, each) for each in value.get("closeups", ())]
    parts = [
        reply_from(ShotPart, each, review=ReviewState(each.get("review", ReviewState.OPEN)))
        for each in value.get("parts", ())
    ]
    return reply_from(
        ComparedShot, value, verdict=verdict, pixels=pixels, review=review, closeups=closeups, parts=parts
    )


def _gate(value: Mapping[str, Any]) -> Gate:
    return reply_from(Gate, value, state=GateState(value["state"]))


def gate_from(value: Mapping[str, Any]) -> PullGate:
    """Parse the JSON. Raises KeyError, TypeError or ValueError if it isn't a gate with our own statuses."""
    given = value["statuses"]
    statuses = [reply_from(GateStatus, each, state=CommitState(each["state"])) for each in given]
    if {each.context.partition("/")[0] for each in statuses} != {STATUS_NAME}:
        raise TypeError("statuses")
    url = validate.address(value["dashboard_url"])
    return reply_from(PullGate, value, state=GateState(value["state"]), statuses=statuses, dashboard_url=url)


def _read_note(kind: type[R], value: Mapping[str, Any]) -> R:
    """Return a review, or a note about an earlier image."""
    pin = value.get("pin") and Pin(float(value["pin"]["x"]), float(value["pin"]["y"]))
    return reply_from(kind, value, state=ReviewState(value["state"]), pin=pin)


def reply_from(kind: type[R], value: Mapping[str, Any], **read: object) -> R:
    """Return the reply, with the fields that were read already. Ignores fields that a later version adds.

    Raises TypeError with the names of missing and invalid fields.
    """
    known = {**value, **read}
    found = {field.name: known.get(field.name, _default_of(field)) for field in fields(kind)}
    if invalid := [field.name for field in fields(kind) if not _is_valid(found[field.name], field.type)]:
        raise TypeError(", ".join(invalid))
    return kind(**found)


def _default_of(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _is_valid(value: object, kind: object) -> bool:
    if isinstance(value, int) and abs(value) > MAX_NUMBER:  # such as a time that no calendar has
        return False
    return isinstance(value, kind) if isinstance(kind, type | UnionType) else value is not MISSING
