"""The lines for noise: shots that alternate on their branch, and shots in quarantine, without pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from prshots.contract.replies import ComparedShot, Comparison
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.markup import link, name_as_code, screenshots, size
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.noise import NOISE

Ends = Mapping[ShotKey, int]
"""When the quarantine of each shot ends."""

_SHARE = 12
"""A line takes at most this part of a comment, and its link half of that."""


def fold_noise(
    frame: Frame, comparison: Comparison, branch: str, ends: Ends, room: int
) -> tuple[Comparison, str]:
    """Return the comparison without noise, and the lines that name the noise, or "" if they don't fit."""
    seen, quarantined = ([shot for shot in comparison.shots if shot.review.state is state] for state in NOISE)
    others = [shot for shot in comparison.shots if shot.review.state not in NOISE]
    text = ""
    if seen:
        verb = link("alternates" if len(seen) == 1 else "alternate", _href(frame, "noise"))
        text += _write_line(frame, seen, f"{verb} on {branch}, as before")
    if quarantined:
        verb = "is" if len(quarantined) == 1 else "are"
        where = link("in quarantine", _href(frame, "quarantine"))
        text += _write_line(frame, quarantined, f"{verb} {where}{_until(quarantined, ends)}")
    return replace(comparison, shots=others), text if size(text) <= room else ""


def _href(frame: Frame, page: str) -> str:
    """Return the URL of a page of the project, or "" if it is too long."""
    href = f"{frame.dashboard_url.rpartition('/prs/')[0]}/{page}"
    return href if size(href) <= frame.limit // _SHARE // 2 else ""


def _write_line(frame: Frame, shots: Sequence[ComparedShot], words: str) -> str:
    """Return the line with as many names as fit, and a count of the others."""
    names = list(dict.fromkeys(shot.name for shot in shots))
    text = f"\n\n{len(shots)} {screenshots(len(shots))} {words}"
    for number, name in enumerate(names):
        longer = f"{text}{', ' if number else ': '}{name_as_code(name)}"
        if size(longer) > frame.limit // _SHARE:
            return f"{text} and {len(names) - number} more" if number else text
        text = longer
    return text


def _until(shots: Sequence[ComparedShot], ends: Ends) -> str:
    """Return when the first of these quarantines ends."""
    keys = [ShotKey(shot.name, shot.viewport, shot.theme) for shot in shots]
    days = {datetime.fromtimestamp(ends[key], UTC).date().isoformat() for key in keys if key in ends}
    return f" until {min(days)}{' or later' if len(days) > 1 else ''}" if days else ""
