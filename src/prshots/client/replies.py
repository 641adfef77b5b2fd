"""Parse the service's reply to a comparison."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from prshots.contract.replies import ComparedShot, Comparison, ComparisonState, Verdict


@dataclass(frozen=True, slots=True)
class ComparisonReply(Comparison):
    """A comparison, and the JSON that the service sent."""

    json: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def brief(self) -> dict[str, Any]:
        """The JSON without the shots, as commands print it."""
        return {name: self.json[name] for name in ("branch", "base_commit", "state", "counts")}


def comparison_from(value: Mapping[str, Any]) -> ComparisonReply:
    """Parse the JSON. Raises KeyError, TypeError or ValueError if it isn't a comparison."""
    read = _known(Comparison, value) | {
        "state": ComparisonState(value["state"]),
        "counts": {str(verdict): int(count) for verdict, count in dict(value["counts"]).items()},
        "shots": [_shot(shot) for shot in value["shots"]],
    }
    return ComparisonReply(**read, json=value)


def _shot(value: Mapping[str, Any]) -> ComparedShot:
    read = {"verdict": Verdict(value["verdict"]), "pixels": int(value["pixels"] or 0)}
    return ComparedShot(**_known(ComparedShot, value) | read)


def _known(kind: type[Comparison | ComparedShot], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the reply, without those that a later version adds. Raises KeyError."""
    return {
        each.name: value[each.name]
        for each in fields(kind)
        if each.name in value or each.default is MISSING  # a field without a default is always in the JSON
    }
