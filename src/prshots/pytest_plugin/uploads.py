"""From the test run to the pull request: uploads in the background, and the comment at the end."""

import queue
import threading
from collections.abc import Mapping
from contextlib import closing
from typing import Self

from prshots.client.ci import ForgeKind, Job, detected, validate, with_forge
from prshots.client.ci.checkout import commit_of
from prshots.client.service import Client
from prshots.client.shots import Shot
from prshots.client.uploading import NOT_TRIED, UploadOutcome, upload_all
from prshots.contract.errors import InvalidInputError
from prshots.contract.redaction import redact
from prshots.pytest_plugin.report import screenshots

_HURRY_SECONDS = 1.0
"""How long an upload may take to notice that it is to stop, before it is left behind."""


class Delivery:
    """One pull request at one service. What is added is uploaded by a thread, and its file removed."""

    def __init__(self, client: Client, pr_number: int, commit_sha: str, environ: Mapping[str, str]) -> None:
        self.pr_number = pr_number
        self._client = client
        self._commit_sha = commit_sha
        self._environ = environ
        self._queue: queue.SimpleQueue[Shot | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="prshots", daemon=True)
        self._started = 0
        self._outcomes: list[UploadOutcome] = []
        self._broken_off = ""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, only_if_known: bool) -> Self | None:
        """Return what the variables that the command line takes say, too.

        With `only_if_known`, None when they name no pull request. Raises InvalidInputError.
        """
        url = validate.root(environ.get("PRSHOTS_URL", ""))
        if not url:
            raise InvalidInputError(
                "PRSHOTS_URL takes the service's address, such as https://prshots.example.com"
            )
        job = detected(environ)
        given = environ.get("PRSHOTS_PR", "").strip()
        pr_number = validate.pr_number(given) if given else job.pr_number
        if pr_number is None:
            if only_if_known and not given:
                return None
            raise InvalidInputError(f"which pull request? PRSHOTS_PR takes its number; got {given[:100]!r}")
        commit_sha = _commit(environ, job)
        from prshots.client.keyless import token_source

        token, project = environ.get("PRSHOTS_TOKEN", ""), environ.get("PRSHOTS_PROJECT", "")
        return cls(Client(url, token_source(url, token, project, environ)), pr_number, commit_sha, environ)

    def add(self, shot: Shot) -> None:
        if not self._started:
            self._thread.start()
        self._started += 1
        self._queue.put(shot)

    def finished(self, *, hurry: bool) -> tuple[int, list[str]]:
        """Wait for all; return how many were uploaded, and what is to be said of the others."""
        if hurry:
            self._client.close()
        if self._started:
            self._queue.put(None)
            self._thread.join(_HURRY_SECONDS if hurry else None)
        uploaded = sum(outcome.uploaded is not None for outcome in self._outcomes)
        problems = [
            f"{outcome.shot.name}: {outcome.error}"
            for outcome in self._outcomes
            if outcome.error and not outcome.is_hopeless
        ]
        if left := self._started - uploaded - len(problems):
            reason = "interrupted" if hurry else self._broken_off or self._hopeless()
            problems.append(f"{screenshots(left)} not uploaded: {reason}")
        return uploaded, problems

    def post(self) -> str:
        """Bring the pull request's comment up to date, and return what was done. Raises PrshotsError."""
        from prshots.client.forges import forge_of
        from prshots.client.posting import Composer, post

        job = _job_with_forge(self._environ)
        with closing(forge_of(job)) as forge:
            posted = post(forge, Composer(self._client, self.pr_number, job))
        return f"comment {posted.outcome}: {posted.url}" if posted.url else f"comment {posted.outcome}"

    def close(self) -> None:
        self._client.close()

    def _hopeless(self) -> str:
        """Return why there was no more to be done, from the one that found out."""
        errors = [outcome.error for outcome in self._outcomes if outcome.is_hopeless]
        return next((error for error in errors if error != NOT_TRIED), NOT_TRIED)

    def _work(self) -> None:
        try:
            while batch := self._next_batch():
                outcomes = upload_all(
                    self._client, batch, pr_number=self.pr_number, commit_sha=self._commit_sha
                )
                self._outcomes += outcomes
                for shot in batch:
                    shot.path.unlink(missing_ok=True)
                if any(outcome.is_hopeless for outcome in outcomes):
                    return
        except Exception as error:  # noqa: BLE001 - said at the end, not in the middle of the tests' output
            self._broken_off = redact(f"{type(error).__name__}: {error}")

    def _next_batch(self) -> list[Shot]:
        """Return what is to be uploaded, once there is something; nothing at the end."""
        batch = [self._queue.get()]
        while batch[-1] is not None:
            try:
                batch.append(self._queue.get_nowait())
            except queue.Empty:
                break
        if batch[-1] is None:
            batch.pop()
            self._queue.put(None)  # for the next time
        return [shot for shot in batch if shot is not None]


def _commit(environ: Mapping[str, str], job: Job) -> str:
    given = environ.get("PRSHOTS_COMMIT", "").strip()
    if given and not validate.commit(given):
        raise InvalidInputError(f"PRSHOTS_COMMIT takes 7 to 40 hexadecimal digits; got {given[:100]!r}")
    if found := commit_of(job, validate.commit(given)):
        return found
    raise InvalidInputError("which commit? No CI says, and this is no folder of git: set PRSHOTS_COMMIT")


def _job_with_forge(environ: Mapping[str, str]) -> Job:
    kind = environ.get("PRSHOTS_FORGE", "").strip()
    if kind and kind not in tuple(ForgeKind):
        raise InvalidInputError(f"PRSHOTS_FORGE is one of {', '.join(ForgeKind)}; got {kind[:100]!r}")
    return with_forge(
        detected(environ),
        environ,
        kind=ForgeKind(kind) if kind else None,
        api=environ.get("PRSHOTS_FORGE_URL", ""),
        repository=environ.get("PRSHOTS_REPOSITORY", ""),
        token=environ.get("PRSHOTS_FORGE_TOKEN", ""),
    )
