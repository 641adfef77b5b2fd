"""The comment's views: the newest image of each shot, and the differences from the base with the gate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from prshots.contract.comments import Marker
from prshots.contract.gates import describe_gate
from prshots.contract.natural_order import shot_key
from prshots.contract.replies import (
    NOT_COMPARED,
    ComparedShot,
    Comparison,
    ComparisonState,
    GateState,
    ReviewState,
    SizedComment,
    Verdict,
)
from prshots.contract.sizes import pluralize
from prshots.server.domain.comments.fitting import GroupPictures, ShotImages, fit_comment
from prshots.server.domain.comments.frame import LINK_SHARE, Frame
from prshots.server.domain.comments.groups import (
    WITH_IMAGES,
    commit_as_code,
    find_decided,
    list_groups,
    short_sha,
    show_compared,
    show_groups,
    sort_by_importance,
)
from prshots.server.domain.comments.layout import picture_width
from prshots.server.domain.comments.markup import (
    code,
    link,
    name_as_code,
    plain_or_code,
    screenshots,
    size,
    visible,
)
from prshots.server.domain.comments.tables import TABLES, CommentImage, CommentShot, Tables, label, sums
from prshots.server.domain.images.models import ShotKey
from prshots.server.domain.review.noise import NOISE
from prshots.server.domain.review.rules import MOST_NAMED, describe_unreadable, is_unreadable

_LONGEST_BRANCH = 40

_IN_HEADING = (*WITH_IMAGES, Verdict.REMOVED, Verdict.FAILED, Verdict.UNCHANGED)

_MAX_REJECTED = 3
_LONGEST_NOTE = 120

Ends = Mapping[ShotKey, int]
"""When the quarantine of each shot ends."""

_NOISE_SHARE = 12
"""A line about noise takes at most this part of a comment, and its link half of that."""

_UNFINISHED = {
    ComparisonState.INCOMPLETE: ", incomplete",
    ComparisonState.RUNNING: ", still comparing",
    ComparisonState.FAILED: ", comparison failed",
    ComparisonState.NO_BASELINE: ", not compared",
}


@dataclass(frozen=True, slots=True)
class LatestShot:
    """The newest image of a shot."""

    name: str
    viewport: str
    theme: str
    url: str
    commit_sha: str


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest image of each shot, the newest commit, and the number of commits with images."""

    shots: Sequence[LatestShot]
    commit_sha: str
    commits: int


NO_SHOTS = Latest((), "", 0)


def shows_latest(comparison: Comparison | None) -> bool:
    """Return whether the view of changes also shows images that weren't compared."""
    return comparison is None or not comparison.shots or _lacks_baselines(comparison)


def changes_view(
    frame: Frame,
    comparison: Comparison | None,
    latest: Latest,
    *,
    quarantine_ends: Ends = MappingProxyType({}),
) -> SizedComment:
    """Build the comment with each change once: a line and a picture for each group of shots.

    If nothing was compared, the comment says what is missing, above the images of `latest`. Pass `latest`
    only if `shows_latest` returns true.
    """
    if comparison is None:
        missing = "Nothing is compared yet: run `prshots compare` after the upload."
        return latest_view(frame, latest, ", not compared", missing)
    unfinished = _UNFINISHED.get(comparison.state, "")
    missing = _what_is_missing(frame, comparison)
    if unfinished and not comparison.shots:
        return latest_view(frame, latest, unfinished, missing)
    without_base = list(map(_show_uncompared, _find_uncompared(comparison, latest)))
    total = len(comparison.shots) + len(without_base)
    heading = frame.heading(f"{total} {screenshots(total)}{unfinished}")
    if comparison.shots:
        heading += f": {sums({verdict: comparison.counts.get(verdict, 0) for verdict in _IN_HEADING})}"
    if without_base:
        heading += f", {len(without_base)} without a baseline"
    lead = f"{_what_was_compared(frame, comparison)} · see the {frame.dashboard}"
    unreadable, gate = write_unreadable(frame, comparison), write_gate(frame, comparison, missing)
    lead = "\n\n".join(filter(None, (unreadable, lead, gate)))
    room = frame.limit // 2 - size(heading + lead)
    shown, noise = fold_noise(frame, comparison, _branch(frame, comparison), quarantine_ends, room)
    written = _write_groups(frame, heading, lead + noise, shown, without_base)
    listed = written.listed + (total - written.count if noise else 0)
    return replace(written, count=total, listed=listed, omitted=total - written.shown - listed)


def _write_groups(
    frame: Frame, heading: str, lead: str, comparison: Comparison, without_base: Sequence[CommentShot]
) -> SizedComment:
    room = frame.limit - size(heading + lead)
    decided = find_decided(comparison)
    lead += list_groups(frame, comparison.groups, decided, room)
    shots = show_groups(frame, comparison, decided, without_base)
    return fit_comment(frame, heading, lead, shots, GroupPictures(frame, shots), linked=True)


def _find_uncompared(comparison: Comparison, latest: Latest) -> Sequence[LatestShot]:
    """Return the shots that have no base because the branch has no baselines."""
    if not _lacks_baselines(comparison):
        return ()
    compared = {(shot.name, shot.viewport, shot.theme) for shot in comparison.shots}
    others = [shot for shot in latest.shots if (shot.name, shot.viewport, shot.theme) not in compared]
    return sorted(others, key=lambda shot: shot_key(shot.name, shot.viewport, shot.theme))


def _lacks_baselines(comparison: Comparison) -> bool:
    """Return whether the comparison covers only pairs that were uploaded together."""
    is_incomplete = comparison.state is ComparisonState.INCOMPLETE
    return is_incomplete and bool(comparison.pairs) and not comparison.base_commit


def _show_uncompared(shot: LatestShot) -> CommentShot:
    column = shot.viewport, shot.theme
    image = CommentImage(shot.url, shot.name, "no baseline", width=picture_width(column))
    return CommentShot(shot.name, column, note="no baseline", images=[image], caption="no baseline")


def latest_view(frame: Frame, latest: Latest, state: str = "", missing: str = "") -> SizedComment:
    """Build the comment with the newest image of each shot."""
    count = len(latest.shots)
    heading = frame.heading(f"{count} {screenshots(count)}{state}")
    lead = f"At {commit_as_code(latest.commit_sha)} · " if latest.commit_sha else ""
    earlier = latest.commits - 1
    if earlier > 0:
        lead += f"{pluralize(earlier, 'earlier commit')} in the {frame.dashboard}"
    else:
        lead += f"see the {frame.dashboard}"
    if missing:
        lead = f"{missing}\n\n{lead}"
    shots = sorted(latest.shots, key=lambda shot: shot_key(shot.name, shot.viewport, shot.theme))
    tables = TABLES[frame.marker]
    listed = [_show_latest(shot, latest.commit_sha, tables) for shot in shots]
    return fit_comment(frame, heading, lead, listed, ShotImages(listed, frame.marker, frame.limit))


def _show_latest(shot: LatestShot, newest_commit: str, tables: Tables) -> CommentShot:
    column = shot.viewport, shot.theme
    words = "" if shot.commit_sha == newest_commit else f"at {tables.code(short_sha(shot.commit_sha))}"
    return CommentShot(shot.name, column, images=[CommentImage(shot.url, shot.name, words)])


def _what_was_compared(frame: Frame, comparison: Comparison) -> str:
    commit = commit_as_code(comparison.commit_sha)
    if comparison.pairs and comparison.pairs == len(comparison.shots):
        return f"{commit}, before and after uploaded together"
    based = [shot for shot in comparison.shots if shot.base_commit]
    unlisted = sum(not shot.ancestor for shot in based)
    newest = f"the newest of {_branch(frame, comparison)}"
    words = f"{commit} compared with {newest if unlisted == len(based) > 0 else _branch(frame, comparison)}"
    if comparison.base_commit:
        words += f" at {commit_as_code(comparison.base_commit)}"
    if 0 < unlisted < len(based) and not frame.is_short:
        words += f", {pluralize(unlisted, 'screenshot')} with {newest}"
    if unlisted and not frame.is_short:
        words += f", because the job listed no commit that has {'it' if unlisted == 1 else 'them'}"
    whose = "its" if comparison.pairs == 1 else "their"
    return f"{words} ({comparison.pairs:,} with {whose} own before)" if comparison.pairs else words


def _what_is_missing(frame: Frame, comparison: Comparison) -> str:
    """Return one sentence about missing parts and how to add them, or "" if everything was compared."""
    match comparison.state:
        case ComparisonState.COMPARED:
            return ""
        case ComparisonState.NO_BASELINE:
            branch = _branch(frame, comparison)
            return f"There is no baseline for {branch} yet: run this job on a push to it."
        case ComparisonState.INCOMPLETE:
            return _what_is_incomplete(frame, comparison)
        case ComparisonState.RUNNING:
            return "The comparison is still running: see the dashboard for its result."
        case ComparisonState.FAILED:
            return "The comparison failed: run `prshots compare` again."


def _what_is_incomplete(frame: Frame, comparison: Comparison) -> str:
    if not comparison.shots:
        return "No screenshots were uploaded for this commit: run the job that takes them again."
    if _lacks_baselines(comparison):
        return (
            "The others are not compared, because there is no baseline for "
            f"{_branch(frame, comparison)} yet: run this job on a push to it."
        )
    return (
        "Some screenshots of the base are missing in this run: "
        "run `prshots compare --complete` after the last upload."
    )


def _branch(frame: Frame, comparison: Comparison) -> str:
    branch, longest = visible(comparison.branch), _LONGEST_BRANCH // (2 if frame.is_short else 1)
    return code(branch if len(branch) <= longest else f"{branch[: longest - 1]}…")


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


def fold_noise(
    frame: Frame, comparison: Comparison, branch: str, ends: Ends, room: int
) -> tuple[Comparison, str]:
    """Return the comparison without noise, and the lines that name the noise, or "" if they don't fit."""
    seen, quarantined = ([shot for shot in comparison.shots if shot.review.state is state] for state in NOISE)
    others = [shot for shot in comparison.shots if shot.review.state not in NOISE]
    text = ""
    if seen:
        verb = link("alternates" if len(seen) == 1 else "alternate", _noise_href(frame, "noise"))
        text += _write_noise(frame, seen, f"{verb} on {branch}, as before")
    if quarantined:
        verb = "is" if len(quarantined) == 1 else "are"
        where = link("in quarantine", _noise_href(frame, "quarantine"))
        text += _write_noise(frame, quarantined, f"{verb} {where}{_until(quarantined, ends)}")
    return replace(comparison, shots=others), text if size(text) <= room else ""


def _noise_href(frame: Frame, page: str) -> str:
    """Return the URL of a page of the project, or "" if it is too long."""
    href = f"{frame.dashboard_url.rpartition('/prs/')[0]}/{page}"
    return href if size(href) <= frame.limit // _NOISE_SHARE // 2 else ""


def _write_noise(frame: Frame, shots: Sequence[ComparedShot], words: str) -> str:
    """Return the line with as many names as fit, and a count of the others."""
    names = list(dict.fromkeys(shot.name for shot in shots))
    text = f"\n\n{len(shots)} {screenshots(len(shots))} {words}"
    for number, name in enumerate(names):
        longer = f"{text}{', ' if number else ': '}{name_as_code(name)}"
        if size(longer) > frame.limit // _NOISE_SHARE:
            return f"{text} and {len(names) - number} more" if number else text
        text = longer
    return text


def _until(shots: Sequence[ComparedShot], ends: Ends) -> str:
    """Return when the first of these quarantines ends."""
    keys = [ShotKey(shot.name, shot.viewport, shot.theme) for shot in shots]
    days = {datetime.fromtimestamp(ends[key], UTC).date().isoformat() for key in keys if key in ends}
    return f" until {min(days)}{' or later' if len(days) > 1 else ''}" if days else ""
