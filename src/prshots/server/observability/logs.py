"""Logging to standard error: for people (in color on a terminal), or as JSON for a log collector.

Warnings and errors from libraries, and uncaught exceptions, use the same format, so a log collector gets only
JSON.
"""

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import structlog
from structlog.typing import EventDict, Processor

from prshots.contract.redaction import redact


def configure_logs(log_format: str, log_level: str, component: str) -> None:
    """Set up logging for this process. Every line includes the `component`."""
    level = logging.getLevelNamesMapping()[log_level.upper()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            *(_json_processors(component) if log_format == "json" else _console_processors(component)),
            _redact_line,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(_StandardError()),  # type: ignore[arg-type]  # has the methods that structlog needs
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_Libraries()], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda caught: _log_uncaught(
        caught.exc_type, caught.exc_value, caught.exc_traceback
    )


def _console_processors(component: str) -> list[Processor]:
    return [
        _add_fields(component=component),
        structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S"),
        structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        ),
    ]


def _json_processors(component: str) -> list[Processor]:
    return [
        _add_fields(component=component, pid=os.getpid()),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        _order_fields,
        structlog.processors.JSONRenderer(),
    ]


def _add_fields(**fields: object) -> Processor:
    """Add fields to each line. The line's own fields take precedence."""
    return lambda _, __, event: {**fields, **event}


def _order_fields(_: object, __: str, event: EventDict) -> EventDict:
    """Put the fields that every line has first, where people can find them."""
    return {name: event[name] for name in ("timestamp", "level", "event", "component", "pid")} | dict(event)


def _redact_line(_: object, __: str, line: Any) -> str:  # noqa: ANN401 - renderers return str or bytes
    return redact(str(line))


class _StandardError:
    """Writes each line in one piece, so lines from several processes don't mix.

    If the log can't be written, for example on a full disk, requests must not fail.
    """

    def write(self, line: str) -> None:
        with contextlib.suppress(OSError, UnicodeError):
            sys.stderr.write(line)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()


class _Libraries(logging.Handler):
    """Forwards log records from libraries."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        write: Callable[..., None] = log.error if record.levelno >= logging.ERROR else log.warning
        write(record.getMessage(), logger=record.name, exc_info=record.exc_info)


def _log_uncaught(kind: Any, error: Any, traceback: Any) -> None:  # noqa: ANN401 - as in Python's hooks
    if not issubclass(kind, KeyboardInterrupt):
        structlog.get_logger().error("internal error", exc_info=(kind, error, traceback))
