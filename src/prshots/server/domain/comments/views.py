"""The comment's views: the newest image of each shot, and the differences from the base."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import ComparedShot, Comparison, ComparisonState, SizedComment, Verdict
from prshots.server.domain.comments.comment_shots import CommentShot, sums
from prshots.server.domain.comments.fitting import Frame, fit_comment
from prshots.server.domain.comments.markup import code, screenshots, visible
from prshots.server.domain.comments.tables import TABLES, CommentImage, Tables

_LONGEST_BRANCH = 40
_LONGEST_REASON = 200
_SHORT_SHA = 7

WITH_IMAGES = (Verdict.CHANGED, Verdict.MOVED, Verdict.NEW)
"""The verdicts whose shots have images in the view of changes."""

_BY_IMPORTANCE = (*WITH_IMAGES, Verdict.FAILED, Verdict.REMOVED, Verdict.UNCHANGED)
_RANKS = {verdict: rank for rank, verdict in enumerate(_BY_IMPORTANCE)}
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


def changes_view(frame: Frame, comparison: Comparison | None, latest: Latest) -> SizedComment:
    """Build the comment with the differences from the base.

    If nothing was compared, the comment says what is missing, above the images of `latest`. Pass `latest`
    only if `shows_latest` returns true.
    """
    if comparison is None:
        missing = "Nothing is compared yet: run `prshots compare` after the upload."
        return latest_view(frame, latest, ", not compared", missing)
    unfinished = _UNFINISHED.get(comparison.state, "")
    missing = _what_is_missing(comparison)
    if unfinished and not comparison.shots:
        return latest_view(frame, latest, unfinished, missing)
    shots = sorted(
        comparison.shots,
        key=lambda shot: (_RANKS[shot.verdict], shot_key(shot.name, shot.viewport, shot.theme)),
    )
    counts = Counter(shot.verdict for shot in shots)
    tables = TABLES[frame.marker]
    listed = [_show_compared(shot, tables) for shot in shots]
    without_base = [_show_uncompared(shot) for shot in _find_uncompared(comparison, latest)]
    with_images = sum(bool(shot.images) for shot in listed)
    listed[with_images:with_images] = without_base
    heading = f"### {len(listed)} {screenshots(len(listed))}{unfinished}"
    if shots:
        heading += f": {sums({verdict: counts[verdict] for verdict in _IN_HEADING})}"
    if without_base:
        heading += f", {len(without_base)} without a baseline"
    lead = f"{_what_was_compared(comparison)} · see the {frame.dashboard}"
    if missing:
        lead += f"\n\n{missing}"
    return fit_comment(frame, heading, lead, listed)


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
    image = CommentImage(shot.url, shot.name, "no baseline")
    return CommentShot(shot.name, (shot.viewport, shot.theme), note="no baseline", images=[None, image])


def latest_view(frame: Frame, latest: Latest, state: str = "", missing: str = "") -> SizedComment:
    """Build the comment with the newest image of each shot."""
    count = len(latest.shots)
    heading = f"### {count} {screenshots(count)}{state}"
    lead = f"At {_commit(latest.commit_sha)} · " if latest.commit_sha else ""
    earlier = latest.commits - 1
    if earlier > 0:
        commits = "1 earlier commit" if earlier == 1 else f"{earlier} earlier commits"
        lead += f"{commits} in the {frame.dashboard}"
    else:
        lead += f"see the {frame.dashboard}"
    if missing:
        lead = f"{missing}\n\n{lead}"
    shots = sorted(latest.shots, key=lambda shot: shot_key(shot.name, shot.viewport, shot.theme))
    tables = TABLES[frame.marker]
    return fit_comment(
        frame, heading, lead, [_show_latest(shot, latest.commit_sha, tables) for shot in shots]
    )


def _show_latest(shot: LatestShot, newest_commit: str, tables: Tables) -> CommentShot:
    column = shot.viewport, shot.theme
    words = "" if shot.commit_sha == newest_commit else f"at {tables.code(_short(shot.commit_sha))}"
    return CommentShot(shot.name, column, images=[CommentImage(shot.url, shot.name, words)])


def _show_compared(shot: ComparedShot, tables: Tables) -> CommentShot:
    column = shot.viewport, shot.theme
    notes = [shot.verdict.value] if shot.verdict in WITH_IMAGES else []
    if shot.reason:
        notes.append(code(visible(shot.reason[:_LONGEST_REASON])))
    if shot.pair:
        notes.append("before and after uploaded together")
    if not shot.ancestor:
        notes.append(_not_an_ancestor(_commit(shot.base_commit)))
    images = _make_images(shot, tables) if shot.verdict in WITH_IMAGES else ()
    return CommentShot(shot.name, column, shot.verdict, ", ".join(notes), images)


def _make_images(shot: ComparedShot, tables: Tables) -> Sequence[CommentImage | None]:
    after_url = shot.view_url or ""
    if not shot.before_url:
        return None, CommentImage(after_url, shot.name, "new")
    if shot.pair:
        note = "uploaded together"
    else:
        note = "" if shot.ancestor else _not_an_ancestor(tables.code(_short(shot.base_commit)))
    link = ("difference", shot.diff_url) if shot.diff_url else None
    return (
        CommentImage(shot.before_url, f"{shot.name} (before)", "before", details=note),
        CommentImage(after_url, shot.name, "after", link, details=_difference(shot, tables), has_label=False),
    )


def _difference(shot: ComparedShot, tables: Tables) -> str:
    words = []
    if shot.pixels:
        regions = len(shot.regions)
        words.append(f"{shot.pixels:,} px in {regions} {'region' if regions == 1 else 'regions'}")
    if shot.shift:
        words.append(f"moved {abs(shot.shift):,} px {'down' if shot.shift > 0 else 'up'}")
    if shot.commit_sha:
        words.append(f"at {tables.code(_short(shot.commit_sha))}")
    return ", ".join(words)


def _not_an_ancestor(commit: str) -> str:
    return f"base {commit} is not an ancestor"


def _what_was_compared(comparison: Comparison) -> str:
    commit = _commit(comparison.commit_sha)
    if comparison.pairs and comparison.pairs == len(comparison.shots):
        return f"{commit}, before and after uploaded together"
    words = f"{commit} compared with {_branch(comparison)}"
    if comparison.base_commit:
        words += f" at {_commit(comparison.base_commit)}"
    whose = "its" if comparison.pairs == 1 else "their"
    return f"{words} ({comparison.pairs:,} with {whose} own before)" if comparison.pairs else words


def _what_is_missing(comparison: Comparison) -> str:
    """Return one sentence about missing parts and how to add them, or "" if everything was compared."""
    match comparison.state:
        case ComparisonState.COMPARED:
            return ""
        case ComparisonState.NO_BASELINE:
            branch = _branch(comparison)
            return f"There is no baseline for {branch} yet: run this job on a push to it."
        case ComparisonState.INCOMPLETE:
            return _what_is_incomplete(comparison)
        case ComparisonState.RUNNING:
            return "The comparison is still running: see the dashboard for its result."
        case ComparisonState.FAILED:
            return "The comparison failed: run `prshots compare` again."


def _what_is_incomplete(comparison: Comparison) -> str:
    if not comparison.shots:
        return "No screenshots were uploaded for this commit: run the job that takes them again."
    if _lacks_baselines(comparison):
        return (
            f"The others are not compared, because there is no baseline for {_branch(comparison)} yet: "
            "run this job on a push to it."
        )
    return (
        "Some screenshots of the base are missing in this run: "
        "run `prshots compare --complete` after the last upload."
    )


def _branch(comparison: Comparison) -> str:
    branch = visible(comparison.branch)
    return code(branch if len(branch) <= _LONGEST_BRANCH else f"{branch[: _LONGEST_BRANCH - 1]}…")


def _commit(commit_sha: str | None) -> str:
    return code(visible(_short(commit_sha)))


def _short(commit_sha: str | None) -> str:
    return (commit_sha or "")[:_SHORT_SHA]
