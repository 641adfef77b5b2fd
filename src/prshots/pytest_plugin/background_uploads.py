"""Upload screenshots in the background during the test run, and post the comment at the end."""

import os
import queue
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Self, TypeVar

from prshots.client.ci import Job, detect_job
from prshots.client.ci.checkout import builds_baselines, commit_of, full_commit
from prshots.client.ci.overrides import with_forge_variables
from prshots.client.compare import compare_with_base, describe, summary, view_and_page
from prshots.client.job_forge import forge_of
from prshots.client.keyless import token_source
from prshots.client.lookup import with_head, with_pull_request
from prshots.client.post_comment import Composer, post
from prshots.client.service import Client
from prshots.client.shots import ShotFile
from prshots.client.upload import NOT_TRIED, UploadOutcome, upload_all, upload_baselines
from prshots.contract import validate
from prshots.contract.errors import InvalidInputError
from prshots.contract.redaction import redact
from prshots.contract.sizes import pluralize
from prshots.contract.statements import message
from prshots.pytest_plugin.run import RunReport

T = TypeVar("T")

_HURRY_SECONDS = 1.0
"""How long to wait for running uploads when the test run is interrupted."""


class BackgroundUploads:
    """Uploads to one pull request or, without one, as the baselines of `branch`.

    A thread uploads each added file and then deletes it.
    """

    def __init__(self, client: Client, pr_number: int | None, branch: str, commit_sha: str, job: Job) -> None:
        self.pr_number = pr_number
        self._branch = branch
        self._client = client
        self._commit_sha = commit_sha
        self._job = job
        self._queue: queue.SimpleQueue[ShotFile | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="prshots", daemon=True)
        self._started = 0
        self._outcomes: list[UploadOutcome] = []
        self._crash = ""

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], *, only_if_known: bool, is_baseline: bool
    ) -> Self | None:
        """Create uploads from the commands' variables. Raises InvalidInputError, ClosedPullRequestError.

        With `only_if_known`, return None if they name neither a pull request nor the baselines' branch.
        """
        url = validate.root(environ.get("PRSHOTS_URL", ""))
        if not url:
            raise InvalidInputError(
                "PRSHOTS_URL is not an address: set it to one such as https://prshots.example.com"
            )
        given = environ.get("PRSHOTS_PR", "").strip()
        branch = _setting(environ, "PRSHOTS_BRANCH", validate.branch, "be the name of a branch")
        job = detect_job(environ)
        if is_baseline or (not given and builds_baselines(job, branch)):
            target = None, _baseline_branch(job, branch, given), _baseline_commit(environ, job)
            return cls(_client(url, environ), *target, job)
        if given:
            pr_number = _setting(environ, "PRSHOTS_PR", validate.pr_number, "be a pull request's number")
        else:
            job = with_pull_request(job)
            pr_number = job.pr_number
        if pr_number is None:
            if only_if_known:
                return None
            raise InvalidInputError("no pull request: set PRSHOTS_PR to its number")
        given_commit = _given_commit(environ)
        job = job if given_commit else with_head(job, pr_number)
        job.refuse_closed(pr_number)
        return cls(_client(url, environ), pr_number, branch, _commit(job, given_commit), job)

    @property
    def words(self) -> str:
        if self.pr_number is None:
            return message("baselines_of", branch=self._branch)
        return message("pull_request", number=self.pr_number)

    def add(self, shot: ShotFile) -> None:
        if not self._started:
            self._thread.start()
        self._started += 1
        self._queue.put(shot)

    def finish(self, report: RunReport, *, hurry: bool) -> None:
        """Wait for all uploads, and add them to the report."""
        if hurry:
            self._client.close()
        if self._started:
            self._queue.put(None)
            self._thread.join(_HURRY_SECONDS if hurry else None)
        uploaded = sum(outcome.is_done for outcome in self._outcomes)
        report.uploaded += uploaded
        report.known += sum(outcome.is_known for outcome in self._outcomes)
        problems = [
            f"{outcome.shot.name}: {outcome.error}"
            for outcome in self._outcomes
            if outcome.error and not outcome.is_fatal
        ]
        if left := self._started - uploaded - len(problems):
            reason = "interrupted" if hurry else self._crash or self._fatal_error()
            problems.append(
                message("run_not_uploaded", screenshots=pluralize(left, "screenshot"), why=reason)
            )
        report.problems += problems

    def conclude(self, report: RunReport, *, compares: bool, is_complete: bool) -> None:
        """Complete the baselines, or compare the uploads and report the result. Raises PrshotsError."""
        job = self._job
        is_complete = is_complete and not (job.is_parallel or job.has_failed)
        if self.pr_number is None:
            if is_complete:
                self._client.complete_baselines(self._branch, self._commit_sha)
            return
        report.dashboard_url = describe(self._client, self.pr_number, job)
        if compares:
            found = compare_with_base(
                self._client,
                job,
                self.pr_number,
                self._commit_sha,
                self._branch,
                complete=is_complete,
                say=report.warnings.append,
            )
            report.comparison = summary(found)

    def post(self, pr_number: int) -> str:
        """Update the pull request's comment, and return a summary. Raises PrshotsError."""
        job = with_forge_variables(self._job, os.environ)
        with closing(forge_of(job)) as forge:
            view, _ = view_and_page(self._client, pr_number, job)
            composer = Composer(self._client, pr_number, job, view=view)
            posted = post(forge, composer)
        name = "run_commented_at" if posted.url else "run_commented"
        words = message(name, outcome=posted.outcome, url=posted.url)
        if not composer.warning:
            return words
        return message("run_commented_with_warning", commented=words, warning=composer.warning)

    def close(self) -> None:
        self._client.close()

    def _fatal_error(self) -> str:
        errors = [outcome.error for outcome in self._outcomes if outcome.is_fatal]
        return next((error for error in errors if error != NOT_TRIED), NOT_TRIED)

    def _work(self) -> None:
        try:
            while batch := self._next_batch():
                outcomes = self._upload(batch)
                self._outcomes += outcomes
                for shot in batch:
                    shot.path.unlink(missing_ok=True)
                if any(outcome.is_fatal for outcome in outcomes):
                    return
        except Exception as error:  # noqa: BLE001 - reported at the end of the run
            self._crash = redact(f"{type(error).__name__}: {error}")

    def _upload(self, batch: list[ShotFile]) -> list[UploadOutcome]:
        sha = self._commit_sha
        if self.pr_number is not None:
            return upload_all(self._client, batch, pr_number=self.pr_number, commit_sha=sha)
        return upload_baselines(self._client, batch, branch=self._branch, commit_sha=sha)

    def _next_batch(self) -> list[ShotFile]:
        """Wait for shots and return all queued shots. An empty list means the end.

        The service is asked once per batch which of its shots it has. Usually, a batch is one test's shots:
        tests take longer than uploads.
        """
        batch = [self._queue.get()]
        while batch[-1] is not None:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        if batch[-1] is None:
            batch.pop()
            self._queue.put(None)  # also ends the next call
        return [shot for shot in batch if shot is not None]


def _client(url: str, environ: Mapping[str, str]) -> Client:
    token, project = environ.get("PRSHOTS_TOKEN", ""), environ.get("PRSHOTS_PROJECT", "")
    return Client(url, token_source(url, token, project, environ))


def _commit(job: Job, given: str) -> str:
    if found := commit_of(job, given):
        return found
    raise InvalidInputError("no commit: neither CI nor git names one. Set PRSHOTS_COMMIT")


def _given_commit(environ: Mapping[str, str]) -> str:
    return _setting(environ, "PRSHOTS_COMMIT", validate.commit, "have 7 to 40 hexadecimal characters")


def _setting(environ: Mapping[str, str], name: str, check: Callable[[str], T], rule: str) -> T:
    """Return a setting's value. Raises InvalidInputError if it is set and breaks the rule."""
    given = environ.get(name, "").strip()
    checked = check(given)
    if given and not checked:
        raise InvalidInputError(f"{name} must {rule}; got {given[:100]!r}")
    return checked


def _baseline_branch(job: Job, branch: str, given_pr: str) -> str:
    if given_pr or job.pr_number is not None or job.lookup is not None or job.from_fork:
        raise InvalidInputError("this job runs for a pull request, which never writes baselines")
    if found := branch or job.branch:
        return found
    raise InvalidInputError("no branch for the baselines: set PRSHOTS_BRANCH")


def _baseline_commit(environ: Mapping[str, str], job: Job) -> str:
    if found := full_commit(commit_of(job, _given_commit(environ))):
        return found
    raise InvalidInputError("no commit of 40 characters: neither CI nor git names one. Set PRSHOTS_COMMIT")
