"""The `prshots` command, run in the test's own process.

A process of its own spends a second on starting Python and importing. Each command is also run as one, somewhere.
"""

import asyncio
import io
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout

import pytest
import structlog

from prshots.cli import main


def run_here(*args: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the command with this environment and no other, and return what came of it as `subprocess.run` does."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(args, env)
    with ThreadPoolExecutor(1) as thread:  # the command has an event loop, and a thread has room for one
        return thread.submit(_run, args, env).result()


def _run(args: tuple[str, ...], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with _as_if_alone(args, env), redirect_stdout(out), redirect_stderr(err):
        code = _exit_code()
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(args, code, *texts)


def _exit_code() -> int:
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):  # Python would print it
            print(ended.code, file=sys.stderr)
            return 1
        return int(ended.code or 0)
    return 0


@contextmanager
def _as_if_alone(args: tuple[str, ...], env: Mapping[str, str]) -> Iterator[None]:
    """Give the command its arguments and environment, and undo what it does to its process."""
    configured, configure = structlog.get_config(), structlog.configure
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "argv", ["prshots", *args])
        for name in set(os.environ) - set(env):
            changed.delenv(name)
        for name, value in env.items():
            changed.setenv(name, value)
        changed.setattr(os, "dup2", lambda new, _: os.close(new))  # standard output stays pytest's
        changed.setattr(
            structlog, "configure", lambda **to: configure(**to | {"cache_logger_on_first_use": False})
        )
        changed.setattr(logging, "basicConfig", lambda **_: None)
        changed.setattr(logging, "captureWarnings", lambda **_: None)
        for module in (sys, threading):
            changed.setattr(module, "excepthook", module.excepthook)
        try:
            yield
        finally:
            configure(**configured)
