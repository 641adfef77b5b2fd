"""Run git in a checkout, without prompts or hooks and with a time limit.

The checkout may be a stranger's. Its names only appear in arguments that start with `refs/`, as 40
hexadecimal digits, or after `--end-of-options`, so none of them can be an option. Its configuration must not
run programs: git only runs those that the user's own configuration and environment name.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from prshots.contract import validate
from prshots.contract.redaction import redact_briefly
from prshots.contract.statements import message
from prshots.forges.deadline import current_deadline

LOCAL_SECONDS = 30.0
FETCH_SECONDS = 120.0
TELL_AFTER_SECONDS = 1.0
LOCK_PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)
"""How long to wait between attempts while another git process holds a lock."""

Say = Callable[[str], None]

_SAFE = (
    "--no-pager",
    *("-c", "safe.bareRepository=explicit"),  # ordinary files of a checkout can be a bare repository
    *("-c", "core.alternateRefsCommand=true"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.ext.allow=never"),
    *("-c", "fetch.recurseSubmodules=false"),
    *("-c", "fetch.prune=false"),
    *("-c", "fetch.pruneTags=false"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
    *("-c", "log.showSignature=false"),
)
_VARIABLES = {
    "GIT_NO_LAZY_FETCH": "1",  # would run the remote's `uploadpack`
    "GIT_PROXY_COMMAND": "",  # overrides core.gitProxy
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "LC_ALL": "C",
}
"""Make git fail instead of prompting, run no programs of the repository, and print English."""

_PROGRAMS = {
    ("core", "sshcommand"): "ssh",
    ("core", "askpass"): "",
    ("credential", "helper"): "",
    ("hook", "command"): "true",
    ("http", "savecookies"): "false",  # writes to any file
}
"""Settings with which a repository could make a fetch run programs, and harmless values."""

_LOCKED = re.compile(r"\.lock'|shallow file has changed|another git process", re.IGNORECASE)
_FIRST_WORDS = re.compile(r"\A(?:fatal|error): ")


@dataclass(frozen=True, slots=True)
class GitResult:
    """The output of git. `error` is why it failed, or empty if it succeeded."""

    output: str = ""
    error: str = ""


def git(*arguments: str) -> GitResult:
    """Run a command that doesn't need the network. Never raises."""
    return _run(arguments, LOCAL_SECONDS)


def fetch(refspec: str, *, depth: int, say: Say, what: str) -> GitResult:
    """Fetch from the remote, with at most `depth` commits of history, or all if it is 0. Never raises.

    Retries while another process holds a lock. After a second, calls `say` about the history of `what`.
    """
    limit = (f"--depth={depth}",) if depth else ()
    command = ("fetch", "--no-tags", "--no-recurse-submodules", *limit)
    ran = GitResult()
    for pause in (*LOCK_PAUSES, None):
        ran = _ask_remote(command, refspec, lambda: say(message("fetching_history", what=what)))
        if pause is None or not _LOCKED.search(ran.error):
            break
        time.sleep(pause)
    return ran


def remote_refs(pattern: str) -> GitResult:
    """Return the remote's refs that match a pattern, each as its commit, a tab and its name. Never raises."""
    return _ask_remote(("ls-remote",), pattern)


def _ask_remote(command: tuple[str, ...], ref: str, on_wait: Callable[[], None] | None = None) -> GitResult:
    if not (remote := remote_name()):
        return GitResult(error=message("no_remote"))
    own_programs, problem = _own_programs()
    if problem:
        return GitResult(error=problem)
    options = ("--quiet", "--upload-pack=git-upload-pack", "--end-of-options", remote, ref)
    return _run((*own_programs, *command, *options), FETCH_SECONDS, on_wait)


def _own_programs() -> tuple[list[str], str]:
    """Return options that replace the repository's programs by the user's, or why that failed."""
    listed = git("config", "--list", "--show-scope", "-z")
    words = iter(listed.output.split("\0"))
    of_repository, of_user = ["credential.helper="], []
    for scope, entry in zip(words, words, strict=False):
        key, _, value = entry.partition("\n")
        harmless = _PROGRAMS.get((key.partition(".")[0], key.rpartition(".")[2]))
        if harmless is None:
            continue
        if "=" in key:  # git would cut the name there
            return [], message("git_setting_not_replaced", key=key)
        if scope in {"local", "worktree"}:
            of_repository.append(f"{key}={harmless}")
        else:
            of_user.append(f"{key}={value}")
    settings = [*of_repository, *of_user] if len(of_repository) > 1 else []
    return [word for setting in settings for word in ("-c", setting)], listed.error


def _run(arguments: tuple[str, ...], seconds: float, on_wait: Callable[[], None] | None = None) -> GitResult:
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell
            ["git", *_SAFE, *arguments],  # noqa: S607 - the job's own git
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | _VARIABLES,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # without a terminal, ssh doesn't prompt either
        )
    except OSError as error:
        return GitResult(error=message("git_does_not_run", why=error.strerror or error))
    seconds = min(seconds, max(current_deadline() - time.monotonic(), 0.0))
    with process:
        try:
            output, words = _communicate(process, seconds, on_wait)
        except subprocess.TimeoutExpired:
            return GitResult(error=message("git_too_slow", seconds=f"{seconds:.0f}"))
        finally:
            _end(process)
    return GitResult(output) if process.returncode == 0 else GitResult(error=_reason(words))


def _communicate(
    process: "subprocess.Popen[str]", seconds: float, on_wait: Callable[[], None] | None
) -> tuple[str, str]:
    if on_wait is not None:
        try:
            return process.communicate(timeout=TELL_AFTER_SECONDS)
        except subprocess.TimeoutExpired:
            on_wait()
    return process.communicate(timeout=seconds)


def _end(process: "subprocess.Popen[str]") -> None:
    """Kill git and the programs that it has started, if it is still running."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)


def _reason(said: str) -> str:
    """Return git's reason on one line. It may contain an address with a password."""
    lines = [line for line in said.splitlines() if line.strip()]
    reason = next((line for line in lines if _FIRST_WORDS.match(line)), lines[0] if lines else "")
    return redact_briefly(_FIRST_WORDS.sub("", reason)).strip().rstrip(".") or message("git_failed")


def commit_at(revision: str) -> str:
    """Return the commit of `HEAD`, of a ref that starts with `refs/`, or of a SHA, or "" if it isn't here."""
    found = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return validate.full_commit(found.output)


def remote_name() -> str:
    """Return the remote to fetch from: origin, or the only one, or "" if there is none."""
    names = git("remote").output.split()
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 and not names[0].startswith("-") else ""


def is_shallow() -> bool:
    return git("rev-parse", "--is-shallow-repository").output.strip() == "true"
