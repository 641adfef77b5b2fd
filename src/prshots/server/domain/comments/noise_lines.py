"""The lines for noise: shots that alternate on their branch, and shots in quarantine, without pictures."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from prshots.contract.replies import ComparedShot, Comparison, ReviewState, SizedComment
from prshots.server.domain.comments.fitting import Frame
from prshots.server.domain.comments.markup import link, name_as_code, screenshots, size
from prshots.server.domain.images.models import ShotKey

NOISE = (ReviewState.SEEN_BEFORE, ReviewState.QUARANTINED)

_SHARE = 12
"""A line takes at most this part of a comment, and its link half of that."""


@dataclass(frozen=True, slots=True)
class NoisePages:
    """The dashboard's pages about noise, and when each quarantine ends."""

    project_url: str = ""
    ends: Mapping[ShotKey, int] = field(default_factory=dict)


def fold_noise(
    frame: Frame, comparison: Comparison, branch: str, pages: NoisePages, room: int
) -> tuple[Comparison, str]:
    """Return the comparison without noise, and the lines that name the noise, or "" if they don't fit."""
    seen, quarantined = ([shot for shot in comparison.shots if shot.review.state is state] for state in NOISE)
    others = [shot for shot in comparison.shots if shot.review.state not in NOISE]
    text = ""
    if seen:
        verb = link("alternates" if len(seen) == 1 else "alternate", _href(frame, pages, "noise"))
        text += _write_line(frame, seen, f"{verb} on {branch}, as before")
    if quarantined:
        verb = "is" if len(quarantined) == 1 else "are"
        where = link("in quarantine", _href(frame, pages, "quarantine"))
        text += _write_line(frame, quarantined, f"{verb} {where}{_until(quarantined, pages.ends)}")
    return replace(comparison, shots=others), text if size(text) <= room else ""


def count_noise(written: SizedComment, noise: int, *, is_listed: bool) -> SizedComment:
    """Return the comment with counts that include the noise."""
    listed = noise if is_listed else 0
    return replace(
        written,
        count=written.count + noise,
        listed=written.listed + listed,
        omitted=written.omitted + noise - listed,
    )


def _href(frame: Frame, pages: NoisePages, page: str) -> str:
    href = f"{pages.project_url}/{page}"
    return href if pages.project_url and size(href) <= frame.limit // _SHARE // 2 else ""


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


def _until(shots: Collection[ComparedShot], ends: Mapping[ShotKey, int]) -> str:
    """Return when the first of these quarantines ends."""
    days = {
        datetime.fromtimestamp(end, UTC).date().isoformat()
        for shot in shots
        if (end := ends.get(ShotKey(shot.name, shot.viewport, shot.theme)))
    }
    return f" until {min(days)}{' or later' if len(days) > 1 else ''}" if days else ""
