"""Show screenshots on the branch's pull request or, before it exists, stage them for it.

`prshots show` and the MCP server share this function. See docs/use/agents.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from tempfile import NamedTemporaryFile
from typing import Any

from prshots.client import DEFAULT_CONCURRENCY
from prshots.client.ci.checkout import commit_of
from prshots.client.ci.git import Say
from prshots.client.compare import compare_with_base, describe, summary
from prshots.client.heads import Head
from prshots.client.move_staged import move_staged
from prshots.client.replies import ComparisonReply
from prshots.client.service import Client, Image
from prshots.client.shots import Problem, ShotFile, find_shots, open_image
from prshots.client.upload import UploadOutcome, send_all, shot_fields
from prshots.contract.errors import (
    CallError,
    InvalidInputError,
    NoScreenshotsError,
    PayloadTooLargeError,
    PrshotsError,
)
from prshots.contract.replies import ServiceLimits, Staged, StagedShot, Uploaded
from prshots.contract.sizes import readable_size
from prshots.contract.statements import called, message

MAX_MARKDOWN_CHARACTERS = 4000
"""Longer markdown goes to a file. A signed URL costs a model about 100 tokens, twice if it pastes it."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The shots to show, their before images, and the paths that can't be used."""

    shots: list[ShotFile]
    before_images: dict[tuple[str, str, str], ShotFile]
    problems: list[Problem]


def find_pairs(
    paths: Sequence[str], before_images: Sequence[str], *, name: str = "", viewport: str = "", theme: str = ""
) -> Pairs:
    """Find the screenshots and their before images: the only one, or the one of the same shot.

    A before image without a matching screenshot becomes a problem. Raises InvalidInputError if an argument is
    invalid, or if there are before images but no paths, and NoScreenshotsError.
    """
    after = find_shots(paths, name=name, viewport=viewport, theme=theme, short_names_outside=True)
    if paths and not after.shots:
        raise NoScreenshotsError(describe_problems(after.problems) or f"no screenshots at {', '.join(paths)}")
    if not before_images:
        return Pairs(after.shots, {}, after.problems)
    if not paths:
        raise InvalidInputError(f"{called('--before')} needs the screenshot after it: also name that one")
    before = find_shots(before_images, viewport=viewport, theme=theme, short_names_outside=True)
    problems = [*after.problems, *before.problems]
    if not (before.shots or before.problems):
        problems.append(Problem(", ".join(before_images), "has no screenshots"))
    if len(after.shots) == len(before.shots) == 1:
        return Pairs(after.shots, {after.shots[0].key: before.shots[0]}, problems)
    known = {shot.key for shot in after.shots}
    unpaired = (
        "has no screenshot after it with the same name and viewport: give both files the same name, in two "
        "folders"
    )
    problems += [Problem(str(shot.path), unpaired) for shot in before.shots if shot.key not in known]
    return Pairs(after.shots, {shot.key: shot for shot in before.shots if shot.key in known}, problems)


def describe_problems(problems: Sequence[Problem]) -> str:
    return "; ".join(f"{problem.path}: {problem.words}" for problem in problems)


@dataclass(frozen=True, slots=True)
class ShownShot:
    """A shot with its addresses. `path` is empty if an earlier run staged it."""

    name: str
    viewport: str
    theme: str
    reply: Uploaded
    path: str = ""

    @property
    def markdown(self) -> str:
        """The image, or a table of before and after."""
        after, url = self.reply.markdown, self.reply.before_url
        if not url:
            return after
        before = after.removesuffix(f"]({self.reply.view_url})") + f", before]({url})"
        cells = " | ".join(cell.replace("|", "\\|") for cell in (before, after))
        return f"| before | after |\n|---|---|\n| {cells} |"

    def json(self) -> dict[str, str]:
        """Return the shot without its URLs. The markdown has them once, because each costs tokens."""
        known = {"path": self.path, "name": self.name, "viewport": self.viewport, "theme": self.theme}
        return {name: value for name, value in known.items() if value} | {"id": self.reply.id}


@dataclass(frozen=True, slots=True)
class Shown:
    """The shown shots, and where they are. `failed` couldn't be sent; `problems` are unusable paths.

    `is_staged` means that they aren't on a pull request yet. `notes` are for the user, each a sentence
    without its period.
    """

    head: Head
    commit_sha: str
    shots: Sequence[ShownShot]
    failed: Sequence[Problem]
    problems: Sequence[Problem]
    is_staged: bool
    moved: int = 0
    notes: Sequence[str] = ()
    comparison: ComparisonReply | None = None
    dashboard_url: str = ""

    @property
    def expires_at(self) -> int | None:
        times = [shot.reply.expires_at for shot in self.shots if isinstance(shot.reply, Staged)]
        return min(times) if times and self.is_staged else None

    @property
    def markdown(self) -> str:
        """The markdown to paste. A pair has its name above it; an image has its name as alt text."""
        return "\n\n".join(
            f"{_caption(shot)}\n\n{shot.markdown}" if shot.reply.before_url else shot.markdown
            for shot in self.shots
        )

    @property
    def next(self) -> str:
        """The next step, in sentences for an agent."""
        number, branch, show = self.head.job.pr_number, self.head.branch, called("prshots show")
        if not self.shots:
            return f"Nothing is staged for {branch}. Run {show} with the paths of the screenshots."
        if not self.is_staged:
            return (
                "Paste the markdown verbatim where reviewers should see it, or run "
                f"{called('prshots comment --post')} to keep one comment on the pull request current."
            )
        when = datetime.fromtimestamp(self.expires_at or 0, UTC).strftime("%Y-%m-%d")
        with_pr = f"run {show} with the same paths and {called('--pr')}"
        if number is not None:
            return f"To put the screenshots on pull request {number}, {with_pr}. They expire on {when}."
        then = f"run {show} again: the screenshots move to the pull request"
        if self.head.unsure:
            then = f"{with_pr}, because prshots can't find it: {self.head.unsure}"
        return (
            f"Open the pull request from {branch} with the markdown in its description, then {then}. "
            f"Otherwise they expire on {when}."
        )

    def json(self) -> dict[str, Any]:
        job, found = self.head.job, self.comparison
        state = "staged" if self.is_staged else "uploaded"
        return {
            "state": state if self.shots else "none",
            "pr": job.pr_number,
            "pr_url": job.pr_url or None,
            "branch": self.head.branch or None,
            "repository": self.head.repository or None,
            "commit_sha": self.commit_sha,
            "shots": [shot.json() for shot in self.shots],
            "failed": [
                {"path": problem.path, "error": problem.words} for problem in (*self.failed, *self.problems)
            ],
            **_to_paste(self.markdown),
            "moved": self.moved,
            "notes": list(self.notes),
            "comparison": found and found.brief,
            "expires_at": self.expires_at,
            "dashboard_url": self.dashboard_url or None,
            "next": self.next,
        }


def _to_paste(markdown: str) -> dict[str, str | None]:
    """Return the markdown, or a file with it if it is long: see MAX_MARKDOWN_CHARACTERS."""
    if len(markdown) <= MAX_MARKDOWN_CHARACTERS:
        return {"markdown": markdown, "markdown_file": None}
    with NamedTemporaryFile("w", prefix="prshots-", suffix=".md", encoding="utf-8", delete=False) as file:
        file.write(markdown)
    return {"markdown": None, "markdown_file": file.name}


def show(
    service: Client,
    head: Head,
    pairs: Pairs,
    *,
    base_branch: str = "",
    say: Say,
    on_done: Callable[[UploadOutcome], None] = lambda _: None,
) -> Shown:
    """Show the screenshots. Without any, show the branch's staged screenshots.

    `say` gets a sentence about a step that takes long. Raises InvalidInputError if there is no commit, and
    the errors of the service's client if no step succeeds. Raises CallError if nothing could be sent.
    """
    head.job.refuse_closed(head.job.pr_number)
    commit_sha = commit_of(head.job)
    if not commit_sha:
        raise InvalidInputError("no commit: git has none here yet. Commit first")
    # First, to fail on a wrong address or token before sending.
    earlier = service.staged(head.branch, repository=head.repository) if head.branch else []
    count, words = move_staged(service, head)
    dropped = _describe_dropped_pairs(service, head, pairs, earlier)
    outcomes = _send(service, head, pairs, commit_sha, on_done)
    shots = [
        ShownShot(*outcome.shot.key, outcome.uploaded, str(outcome.shot.path))
        for outcome in outcomes
        if outcome.uploaded
    ]
    if not pairs.shots:
        newest = {(shot.name, shot.viewport, shot.theme): shot for shot in earlier}
        shots = [ShownShot(*key, shot) for key, shot in newest.items()]
        commit_sha = earlier[-1].commit_sha if earlier else commit_sha
    failed = [Problem(str(outcome.shot.path), outcome.error) for outcome in outcomes if outcome.error]
    if failed and not shots:
        raise CallError(describe_problems([*failed, *pairs.problems]))
    staged = f"staged for {head.branch}, because {head.unknown}" if head.unknown else ""
    notes = [*filter(None, (words, staged, dropped))]
    is_staged = head.job.pr_number is None or not (pairs.shots or count)
    shown = Shown(head, commit_sha, shots, failed, pairs.problems, is_staged, count, notes)
    if not shots:
        return shown
    if not is_staged:
        return _compare(service, shown, base_branch, say)
    pages = [shot.reply.dashboard_url for shot in shots if isinstance(shot.reply, Staged)]
    return replace(shown, dashboard_url=pages[0] if pages else "")


def _describe_dropped_pairs(service: Client, head: Head, pairs: Pairs, earlier: Sequence[StagedShot]) -> str:
    """Return a note about shots that had a before image and now get none, or "" if there are none."""
    alone = [shot for shot in pairs.shots if shot.key not in pairs.before_images]
    paired = {(shot.name, shot.viewport, shot.theme) for shot in earlier if shot.before_url}
    if alone and head.job.pr_number and (found := service.comparison(head.job.pr_number)):
        paired |= {(shot.name, shot.viewport, shot.theme) for shot in found.shots if shot.pair}
    names = ", ".join(shot.name for shot in alone if shot.key in paired)
    advice = f"To keep the pair, also use {called('--before')}"
    return f"{names}: shown without the earlier before image. {advice}" if names else ""


def _send(
    service: Client, head: Head, pairs: Pairs, commit_sha: str, on_done: Callable[[UploadOutcome], None]
) -> list[UploadOutcome]:
    """Send every shot, even if the service has it: only the reply to an upload has the markdown to paste."""
    limits = service.limits() if pairs.shots else None

    def send(shot: ShotFile, image: Image, content_type: str) -> Uploaded:
        before = pairs.before_images.get(shot.key)
        about: dict[str, Any] = {**shot_fields(shot, content_type, commit_sha)}
        about |= _before_arguments(before, limits) if before else {}
        if head.job.pr_number is not None:
            return service.upload(image, pr_number=head.job.pr_number, **about)
        return service.stage(image, branch=head.branch, repository=head.repository, **about)

    return send_all(send, pairs.shots, limits, concurrency=DEFAULT_CONCURRENCY, shrink=False, on_done=on_done)


def _before_arguments(before: ShotFile, limits: ServiceLimits | None) -> dict[str, Any]:
    """Return the arguments for the before image. Raises PayloadTooLargeError."""
    if limits is not None and before.size >= limits.max_image_bytes:
        size, limit = readable_size(before.size), readable_size(limits.max_image_bytes)
        raise PayloadTooLargeError(f"its before image is {size}: the service takes less than {limit}")
    return {"before": lambda: open_image(before.path), "before_content_type": before.content_type}


def _compare(service: Client, shown: Shown, base_branch: str, say: Say) -> Shown:
    """Describe the pull request and compare it, to show pairs everywhere. A failure is only a note."""
    job, number = shown.head.job, shown.head.job.pr_number or 0
    notes = [*shown.notes]
    comparison: ComparisonReply | None = None
    dashboard_url = ""
    try:
        dashboard_url = describe(service, number, job)
        comparison = compare_with_base(
            service, job, number, shown.commit_sha, base_branch, complete=False, say=say
        )
        notes.append(summary(comparison).removesuffix("."))
    except PrshotsError as error:
        notes.append(message("not_compared_because", why=error))
    return replace(shown, comparison=comparison, dashboard_url=dashboard_url, notes=notes)


def _caption(shot: ShownShot) -> str:
    name = shot.reply.markdown.removeprefix("![").removesuffix(f"]({shot.reply.view_url})")  # escaped
    return f"**{name}** ({', '.join(filter(None, (shot.viewport, shot.theme)))})"
