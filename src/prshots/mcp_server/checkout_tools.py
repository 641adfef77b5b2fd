"""The tools without the protocol. Each runs in a checkout's folder, and may raise PrshotsError."""

import itertools
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from prshots.client.ci import detect_job
from prshots.client.ci.checkout import commit_of, head_commit
from prshots.client.ci.overrides import with_forge_variables
from prshots.client.compare import compare_with_base, find_newest_commit, summary, view_and_page
from prshots.client.heads import Head, current_head, find_local_checkout
from prshots.client.job_forge import forge_of
from prshots.client.keyless import token_source
from prshots.client.move_staged import move_staged
from prshots.client.post_comment import Composer, post
from prshots.client.review import read_review
from prshots.client.service import Client
from prshots.client.show import Pairs, show
from prshots.client.upload import UploadOutcome
from prshots.contract import validate
from prshots.contract.errors import CallError, InvalidInputError, PrshotsError
from prshots.contract.limits import THEMES
from prshots.contract.replies import Verdict
from prshots.contract.statements import message

MAX_SHOTS = 50
"""Keeps a wrong folder from uploading every image in it."""

MAX_COMPARED = 25
COMPARED = ("name", "viewport", "theme", "verdict", "pixels", "shift", "reason", "diff_url")
"""The fields of a compared shot that a model gets. Of three URLs, the difference says the most."""

Tell = Callable[[float, float | None, str], None]
"""Called with the progress, its total if known, and a message."""


@dataclass(frozen=True, slots=True)
class CheckoutTools:
    """The tools, with the process's variables. `tell` receives the progress of one call."""

    environ: Mapping[str, str]
    tell: Tell

    def show(self, pairs: Pairs, pr: int | None) -> dict[str, Any]:
        if len(pairs.shots) > MAX_SHOTS:
            raise InvalidInputError(
                f"{len(pairs.shots)} screenshots found: name at most {MAX_SHOTS} in one call, such as only "
                "those of the page you changed"
            )
        total = len(pairs.shots)
        numbers = itertools.count(1)

        def on_done(outcome: UploadOutcome) -> None:
            self.tell(next(numbers), total, outcome.shot.name)

        with self.connect() as service:
            branch = validate.branch(self.environ.get("PRSHOTS_BRANCH"))
            shown = show(service, self.head(pr), pairs, base_branch=branch, say=self._say, on_done=on_done)
        return shown.json()

    def compare(self, pr: int | None) -> dict[str, Any]:
        head = self.head(pr)
        number = head.pr_number
        head.job.refuse_closed(number)
        with self.connect() as service:
            commit_sha = find_newest_commit(service, head, self._say)
            branch = validate.branch(self.environ.get("PRSHOTS_BRANCH"))
            found = compare_with_base(
                service, head.job, number, commit_sha, branch, complete=False, say=self._say
            )
        shots = [shot for shot in found.json["shots"] if shot["verdict"] != Verdict.UNCHANGED]
        return {
            "pr": number,
            "commit_sha": commit_sha,
            "state": found.state.value,
            "counts": dict(found.counts),
            "shots": [
                {name: shot[name] for name in COMPARED if shot.get(name)} for shot in shots[:MAX_COMPARED]
            ],
            "left_out": max(len(shots) - MAX_COMPARED, 0),
            "summary": summary(found),
            "dashboard_url": found.dashboard_url,
        }

    def comment(self, pr: int | None) -> dict[str, Any]:
        head = self.head(pr)
        number = head.pr_number
        head.job.refuse_closed(number)
        with self.connect() as service, closing(forge_of(head.job, self._say)) as forge:
            _, words = move_staged(service, head)
            view, dashboard_url = view_and_page(service, number, head.job)
            composer = Composer(service, number, head.job, None, view, dashboard_url)
            posted = post(forge, composer)
        return {
            "pr": number,
            "outcome": posted.outcome.value,
            "comment_url": posted.url or None,
            "notes": [*filter(None, (words, *composer.notes, composer.warning))],
            "dashboard_url": dashboard_url or None,
        }

    def review(self, pr: int | None) -> dict[str, Any]:
        with self.connect() as service:
            return read_review(service, self.head(pr), self._say)

    def upload_url(
        self, *, name: str, viewport: str, content_type: str, theme: str, with_before: bool, pr: int | None
    ) -> dict[str, Any]:
        if theme not in {"", *THEMES}:
            raise InvalidInputError(f"theme: got {theme[:20]!r}, use {' or '.join(THEMES)}")
        head = self.head(pr)
        head.job.refuse_closed(head.job.pr_number)
        with self.connect() as service:
            made = service.put_url(
                name=name,
                viewport=viewport,
                theme=theme,
                commit_sha=commit_of(head.job),
                content_type=content_type,
                with_before=with_before,
                pr_number=head.job.pr_number,
                branch=head.branch,
                repository=head.repository,
            )
        return {
            "pr": head.job.pr_number,
            "branch": head.branch or None,
            **({"before_put_url": made.before_put_url} if with_before else {}),
            "put_url": made.put_url,
            "content_type": content_type,
            "expires_at": made.expires_at,
            "next": f"curl --fail -X PUT -H 'Content-Type: {content_type}' --data-binary @FILE URL"
            + ("; before_put_url first, then put_url" if with_before else ""),
        }

    def doctor(self) -> dict[str, Any]:
        """Check the service, its token, git and the forge. Changes nothing."""
        checks: list[dict[str, Any]] = []
        for about, check in {
            "service": self._check_service,
            "git": self._check_git,
            "pull request": self._check_pull_request,
        }.items():
            try:
                checks.append({"about": about, "ok": True, "words": check()})
            except PrshotsError as error:
                checks.append({"about": about, "ok": False, "words": str(error)})
        return {"ok": all(check["ok"] for check in checks), "checks": checks}

    def _check_service(self) -> str:
        with self.connect() as service:
            if service.limits() is None:
                raise CallError(
                    f"{service.url} does not answer as a prshots service: check PRSHOTS_URL and your network"
                )
            service.comment(1)  # any pull request works: this only checks the token
            return f"{service.url} accepts the upload token"

    def _check_git(self) -> str:
        if name := detect_job(self.environ).ci:
            return f"runs in {name}, which names the commit and the branch"
        checkout = find_local_checkout(self.environ)
        if checkout.unknown or not (commit := head_commit()):
            raise InvalidInputError(checkout.unknown or "no commit yet: commit first")
        where = checkout.repository or "a repository without a remote on a forge"
        return f"branch {checkout.branch} of {where}, at {commit[:7]}"

    def _check_pull_request(self) -> str:
        head = self.head(None)
        if head.job.pr_number is None:
            return f"none known, because {head.unknown}; screenshots are staged for the branch"
        return f"number {head.job.pr_number} in {head.job.repository}"

    def head(self, pr: int | None) -> Head:
        return current_head(self.environ, pr, lambda job: with_forge_variables(job, self.environ), self._say)

    def connect(self) -> Client:
        url, token, project = (
            self.environ.get(f"PRSHOTS_{name}", "") for name in ("URL", "TOKEN", "PROJECT")
        )
        if not url.strip():
            raise InvalidInputError(message("no_service_url"))
        tokens = token_source(url.strip(), token, project, self.environ, on_wait=self._say)
        return Client(url, tokens, on_wait=self._say)

    def _say(self, words: str) -> None:
        self.tell(0, None, words)
