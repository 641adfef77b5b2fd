"""Replies of the service that say more than the contract's, or that need reading."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prshots.contract.replies import ComparedShot, Comparison, ComparisonState, Expired, Verdict


@dataclass(frozen=True, slots=True)
class ExpiredReply(Expired):
    """`baselines`: how many images of a merged pull request became baselines."""

    baselines: int = 0


@dataclass(frozen=True, slots=True)
class ComparisonReply(Comparison):
    """A comparison, and the JSON that the service sent."""

    json: Mapping[str, Any] = field(default_factory=dict, repr=False)


def comparison_from(value: Mapping[str, Any]) -> ComparisonReply:
    """Read the JSON. Raises KeyError, TypeError or ValueError if it is something else."""
    return ComparisonReply(
        pr_number=int(value["pr_number"]),
        commit_sha=str(value["commit_sha"]),
        branch=str(value["branch"]),
        base_commit=value["base_commit"],
        state=ComparisonState(value["state"]),
        counts={str(verdict): int(count) for verdict, count in dict(value["counts"]).items()},
        shots=[_shot(shot) for shot in value["shots"]],
        dashboard_url=str(value["dashboard_url"]),
        pairs=int(value.get("pairs", 0)),
        json=value,
    )


def _shot(value: Mapping[str, Any]) -> ComparedShot:
    return ComparedShot(
        name=str(value["name"]),
        viewport=str(value["viewport"]),
        theme=str(value["theme"]),
        verdict=Verdict(value["verdict"]),
        pixels=int(value["pixels"] or 0),
        regions=[(left, top, width, height) for left, top, width, height in value["regions"]],
        shift=int(value["shift"]),
        view_url=value["view_url"],
        before_url=value["before_url"],
        diff_url=value["diff_url"],
        base_commit=value["base_commit"],
        ancestor=value.get("ancestor", True) is not False,
        reason=str(value.get("reason", "")),
        pair=str(value.get("pair", "")),
        commit_sha=str(value.get("commit_sha", "")),
    )
