"""The comment's views: the newest image of each shot, and the differences from the base."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import Comparison, ComparisonState, SizedComment, Verdict
from prshots.contract.sizes import pluralize
from prshots.server.domain.comments.comment_shots import CommentShot, sums
from prshots.server.domain.comments.compared_shots import (
    WITH_IMAGES,
    commit_as_code,
    short_sha,
)
from prshots.server.domain.comments.fitting import GroupPictures, ShotImages, fit_comment
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.gate_lines import write_gate, write_unreadable
from prshots.server.domain.comments.groups import find_decided, list_groups, show_groups
from prshots.server.domain.comments.layout import picture_width
from prshots.server.domain.comments.markup import code, screenshots, size, visible
from prshots.server.domain.comments.noise_lines import Ends, fold_noise
from prshots.server.domain.comments.tables import TABLES, CommentImage, Tables

_LONGEST_BRANCH = 40

_IN_HEADING = (*WITH_IMAGES, Verdict.REMOVED, Verdict.FAILED, Verdict.UNCHANGED)

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
