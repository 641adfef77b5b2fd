"""The `prshots` command, run in the test's own process.

A new process spends a second on starting Python and importing. Some other test runs each command as a process.
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
from contextvars import copy_context

import pytest
import structlog

from prshots.cli import main


def run_here(*args: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the command in exactly this environment, and return the same result as `subprocess.run`."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(args, env)
    with ThreadPoolExecutor(1) as thread:  # the command runs an event loop, and a thread can run only one
        return thread.submit(_run, args, env).result()


def _run(args: tuple[str, ...], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with _as_if_alone(args, env), redirect_stdout(out), redirect_stderr(err):
        code = copy_context().run(_exit_code)  # who acts stays with the command
    texts = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(args, code, *texts)


def _exit_code() -> int:
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):  # as Python does on exit
            print(ended.code, file=sys.stderr)
            return 1
        return int(ended.code or 0)
    return 0


@contextmanager
def _as_if_alone(args: tuple[str, ...], env: Mapping[str, str]) -> Iterator[None]:
    """Set the command's arguments and environment, and undo its changes to the process afterwards."""
    configured = structlog.get_config()
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "argv", ["prshots", *args])
        for name in set(os.environ) - set(env):
            changed.delenv(name)
        for name, value in env.items():
            changed.setenv(name, value)
        changed.setattr(os, "dup2", lambda new, _: os.close(new))  # leave pytest's standard output alone
        changed.setattr(logging, "basicConfig", lambda **_: None)
        changed.setattr(logging, "captureWarnings", lambda **_: None)
        changed.setattr("prshots.cli.common._Volume.is_quiet", False)
        for module in (sys, threading):
            changed.setattr(module, "excepthook", module.excepthook)
        try:
            yield
        finally:
            structlog.configure(**configured)
