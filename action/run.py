"""The action, run with the client that install.sh has installed.

For a closed pull request, it expires the screenshots. For any other, it uploads and compares them, posts the
comment, and adds it to the job summary. For the branch of the baselines, it uploads baselines. Any other job
does nothing.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from prshots.cli.compare import GATED, verdicts_in
from prshots.cli.upload_output import SOME_FAILED
from prshots.client.ci import Job, detected, validate
from prshots.client.ci.checkout import builds_baselines
from prshots.client.lookup import with_pull_request
from prshots.contract.errors import InvalidInputError

FORKS = "https://github.com/prshots/prshots/blob/main/docs/use/ci.md#forks"

WARNING = "Warning: "

VARIABLES = {
    "url": "PRSHOTS_URL",
    "token": "PRSHOTS_TOKEN",
    "project": "PRSHOTS_PROJECT",
    "pr-number": "PRSHOTS_PR",
    "commit": "PRSHOTS_COMMIT",
    "branch": "PRSHOTS_BRANCH",
    "github-token": "GITHUB_TOKEN",
}
"""The client's variable for each input. Without the input, the job may have set the variable."""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a client command, and the messages that it said."""

    code: int
    printed: str
    said: list[str]

    @property
    def last_line(self) -> str:
        """Return the last message: the error, if the command failed."""
        return self.said[-1] if self.said else ""

    def annotate_warnings(self) -> None:
        for line in self.said:
            if line.startswith(WARNING):
                annotated("warning", line.removeprefix(WARNING), code=0)


def main() -> int:
    # On Windows, this keeps a git.exe of the working folder from running.
    os.environ["NoDefaultCurrentDirectoryInExePath"] = "1"  # noqa: SIM112 - the name of Windows
    for name, variable in VARIABLES.items():
        if given := text_input(name):
            os.environ[variable] = given
    if token := os.environ.get("PRSHOTS_TOKEN"):
        print(f"::add-mask::{token}")
    enter(text_input("working-directory") or ".")
    job = known_job()
    if not is_for_pull_request() and not builds_baselines(job, branch()):
        words = "This job runs for neither a pull request nor the branch of the baselines: nothing to do."
        return annotated("notice", words, code=0)
    if without_secrets(job) and not has_credentials(os.environ):
        words = f"This job has no secrets because {without_secrets(job)}. Nothing was uploaded. See {FORKS}"
        return annotated("warning", words, code=0)
    if job.closed:
        return expire(job)
    check_gate()
    if has_failed() and not is_for_pull_request():
        words = "A step before this one failed, so its screenshots are no baselines. Nothing was uploaded."
        return annotated("notice", words, code=0)
    return complete(job) if flag_input("complete") else upload(job)


def known_job() -> Job:
    """Return the job, and set its pull request for every command: the forge is asked at most once."""
    job = detected(os.environ)
    if not os.environ.get("PRSHOTS_PR"):
        try:
            job = with_pull_request(job)
        except InvalidInputError as error:
            fail(f"{error}.")
        if job.pr_number is not None:
            os.environ["PRSHOTS_PR"] = str(job.pr_number)
    return job


def is_for_pull_request() -> bool:
    return bool(os.environ.get("PRSHOTS_PR"))


def branch() -> str:
    given = os.environ.get("PRSHOTS_BRANCH", "").strip()
    if given and not validate.branch(given):
        fail(f"The input `branch` must be the name of a branch, such as main; got {given[:60]!r}.")
    return validate.branch(given)


def check_gate() -> None:
    """Find a mistake in `fail-on` before the upload, and also in jobs that do not compare."""
    try:
        verdicts = verdicts_in(text_input("fail-on"))
    except InvalidInputError as error:
        fail(f"The input `fail-on` is invalid: {error}.")
    if verdicts and not compares():
        fail("The inputs `fail-on` and `compare: false` exclude each other: remove one of them.")


def upload(job: Job) -> int:
    """Upload, then post the comment and the summary, even if some files failed."""
    paths = [path for line in text_input("paths").splitlines() if (path := line.strip())]
    if not paths:
        fail("The input `paths` is missing: set it to files, folders or globs, one per line.")
    options = [f"--{name}" for name in ("shrink", "allow-empty") if flag_input(name)]
    options += ["--partial"] if is_partial() else []
    options += [] if compares() else ["--no-compare"]
    done = run("upload", "--format", "github-output", *options, "--", *paths)
    append("GITHUB_OUTPUT", done.printed)
    done.annotate_warnings()
    if done.code not in {0, SOME_FAILED}:
        return annotated("error", done.last_line, code=1)
    if "count=0" in done.printed.splitlines():
        return 0
    shown_code = show(job) if is_for_pull_request() else 0
    if done.code == SOME_FAILED:
        return annotated("error", "Some files were not uploaded. See the log.", code=1)
    return shown_code


def complete(job: Job) -> int:
    """Say that all shards have uploaded, and show the result for a pull request."""
    if text_input("paths"):
        fail("The inputs `paths` and `complete` exclude each other: each shard uploads with `partial: true`.")
    done = run("compare", "--complete", "--format", "github-output")
    append("GITHUB_OUTPUT", done.printed)
    if done.code:
        return annotated("error", done.last_line, code=1)
    return show(job) if is_for_pull_request() else 0


def show(job: Job) -> int:
    """Post the comment and the summary, then fail the step if `fail-on` asks for it."""
    view = ["--view", given] if (given := text_input("view")) else []
    template = ["--template", given] if (given := text_input("template")) else []
    comment_code = post("comment", job, *view, *template) if flag_input("comment") else 0
    summary_code = summarize(*view)
    return comment_code or summary_code or gate()


def gate() -> int:
    """Fail the step if a shot has a verdict that `fail-on` names."""
    if not (verdicts := text_input("fail-on")):
        return 0
    done = run("compare", "--fail-on", verdicts)
    if done.code == GATED:  # said are how many there are, and where to see them
        return annotated("error", " ".join(done.said[-2:]), code=1)
    return annotated("error", done.last_line, code=1) if done.code else 0


def expire(job: Job) -> int:
    if flag_input("comment"):
        return post("expire", job)
    done = run("expire")
    return annotated("error", done.last_line, code=1) if done.code else 0


def post(command: str, job: Job, *options: str) -> int:
    """Post the comment. A job without secrets may be read-only: if it cannot post, only warn."""
    done = run(command, "--post", *options)
    done.annotate_warnings()
    if done.code == 0:
        if url := done.printed.strip():
            append("GITHUB_OUTPUT", f"comment-url={url.splitlines()[0]}\n")
        return 0
    if why := without_secrets(job):
        words = f"{done.last_line} (The job does not fail, because {why}.) See {FORKS}"
        return annotated("warning", words, code=0)
    return annotated("error", done.last_line, code=1)


def summarize(*options: str) -> int:
    if "GITHUB_STEP_SUMMARY" not in os.environ:  # older versions of Forgejo have none
        return 0
    done = run("comment", *options)
    if done.code:
        return annotated("error", done.last_line, code=1)
    append("GITHUB_STEP_SUMMARY", done.printed)
    return 0


def run(*arguments: str) -> Done:
    """Run the client and print its messages. The runner does not interpret them as commands.

    They contain file names, which the author of the pull request chooses.
    """
    # Isolated (-I): the working folder belongs to the pull request, and nothing is imported from it.
    python = [sys.executable, "-I", "-X", "utf8"]
    command = [*python, "-c", "from prshots.cli import main; main()", *arguments]
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        resume = secrets.token_hex(16)
        print(f"::stop-commands::{resume}", flush=True)
        with subprocess.Popen(  # noqa: S603 - no shell
            command,
            stdout=printed,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        ) as process:
            for line in process.stderr or ():
                print(line, end="", flush=True)
                if words := line.strip().removeprefix("prshots: "):
                    said.append(words)
        print(f"::{resume}::", flush=True)
        printed.seek(0)
        return Done(process.returncode, printed.read(), said)


def without_secrets(job: Job) -> str:
    """Return why this job gets no secrets and a read-only token; empty if it gets them."""
    if job.from_fork and os.environ.get("GITHUB_EVENT_NAME") == "pull_request":
        return "the pull request comes from a fork"
    if os.environ.get("GITHUB_ACTOR") == "dependabot[bot]":
        return "Dependabot opened the pull request"
    return ""


def has_credentials(environ: Mapping[str, str]) -> bool:
    names = ("PRSHOTS_TOKEN", "PRSHOTS_ID_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL")
    return any(environ.get(name) for name in names)


def text_input(name: str) -> str:
    return os.environ.get(f"PRSHOTS_INPUT_{name.upper().replace('-', '_')}", "").strip()


def is_partial() -> bool:
    """Return whether a shot that is missing may come from another shard, or from a test that failed."""
    return flag_input("partial") or has_failed()


def has_failed() -> bool:
    """Return whether a step before this one failed."""
    return os.environ.get("PRSHOTS_JOB_STATUS") in {"failure", "cancelled"}


def compares() -> bool:
    return flag_input("compare") or not text_input("compare")


def flag_input(name: str) -> bool:
    given = text_input(name).lower()
    if given not in {"true", "false", ""}:
        fail(f"The input `{name}` must be true or false; got {given!r}.")
    return given == "true"


def enter(folder: str) -> None:
    try:
        os.chdir(Path(os.environ.get("GITHUB_WORKSPACE", ""), folder))
    except OSError as error:
        fail(f"The input `working-directory` is not usable: {folder!r}: {error.strerror}.")


def append(file_variable: str, text: str) -> None:
    """Append to a file that the runner reads after the step."""
    if path := os.environ.get(file_variable):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


def annotated(level: str, words: str, *, code: int) -> int:
    """Print an annotation for the workflow's page, and return the exit code."""
    escaped = words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=prshots::{escaped}", flush=True)
    return code


def fail(words: str) -> NoReturn:
    sys.exit(annotated("error", words, code=1))


if __name__ == "__main__":
    sys.exit(main())
