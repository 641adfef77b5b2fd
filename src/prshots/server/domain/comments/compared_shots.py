"""Compared shots as the comment shows them: their images, and what differs in words."""

from collections.abc import Iterable, Sequence

from prshots.contract.natural_order import shot_key
from prshots.contract.replies import ComparedShot, Verdict
from prshots.contract.sizes import pluralize
from prshots.server.domain.comments.markup import code, visible
from prshots.server.domain.comments.tables import CommentImage, CommentShot, Tables

_LONGEST_REASON = 200
_SHORT_SHA = 7

WITH_IMAGES = (Verdict.CHANGED, Verdict.MOVED, Verdict.NEW)
"""The verdicts whose shots have images in the view of changes."""

_BY_IMPORTANCE = (Verdict.FAILED, *WITH_IMAGES, Verdict.REMOVED, Verdict.UNCHANGED)
_RANKS = {verdict: rank for rank, verdict in enumerate(_BY_IMPORTANCE)}


def sort_by_importance(shots: Iterable[ComparedShot]) -> list[ComparedShot]:
    return sorted(
        shots, key=lambda shot: (_RANKS[shot.verdict], shot_key(shot.name, shot.viewport, shot.theme))
    )


def show_compared(shot: ComparedShot, tables: Tables) -> CommentShot:
    column = shot.viewport, shot.theme
    notes = [shot.verdict.value] if shot.verdict in WITH_IMAGES else []
    if shot.reason:
        notes.append(code(visible(shot.reason[:_LONGEST_REASON])))
    if shot.pair:
        notes.append("before and after uploaded together")
    if not shot.ancestor:
        notes.append(_newest_base(commit_as_code(shot.base_commit)))
    images = _make_images(shot, tables) if shot.verdict in WITH_IMAGES else ()
    return CommentShot(shot.name, column, shot.verdict, ", ".join(notes), images)


def _make_images(shot: ComparedShot, tables: Tables) -> Sequence[CommentImage]:
    after_url = shot.view_url or ""
    if not shot.before_url:
        return [CommentImage(after_url, shot.name, "new")]
    if shot.pair:
        note = "uploaded together"
    else:
        note = "" if shot.ancestor else _newest_base(tables.code(short_sha(shot.base_commit)))
    return [
        CommentImage(shot.before_url, f"{shot.name} (before)", "before", note),
        CommentImage(after_url, shot.name, "after", _difference(shot, tables)),
    ]


def _difference(shot: ComparedShot, tables: Tables) -> str:
    words = []
    if shot.pixels:
        words.append(f"{shot.pixels:,} px in {pluralize(len(shot.regions), 'region')}")
    if shot.shift:
        words.append(f"moved {abs(shot.shift):,} px {'down' if shot.shift > 0 else 'up'}")
    if shot.commit_sha:
        words.append(f"at {tables.code(short_sha(shot.commit_sha))}")
    return ", ".join(words)


def _newest_base(commit: str) -> str:
    return f"base {commit} is the newest of its branch"


def commit_as_code(commit_sha: str | None) -> str:
    return code(visible(short_sha(commit_sha)))


def short_sha(commit_sha: str | None) -> str:
    return (commit_sha or "")[:_SHORT_SHA]
