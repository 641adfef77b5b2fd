"""All checks in their order: what the later ones need, the earlier ones find out."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import structlog

from prshots.contract.errors import PrshotsError, SettingsError
from prshots.contract.redaction import redact
from prshots.server.config.settings import PREFIX, Settings, load_settings
from prshots.server.doctor import Finding, ok, problem, warning
from prshots.server.doctor.addresses import check_addresses, check_parts
from prshots.server.doctor.engines import Engines
from prshots.server.doctor.image_proxy import fetched_as_by_github

CHECK_SECONDS = 30.0
"""How long one check may take in all. What it asks of an engine or an address has a limit of its own."""

Check = Callable[[], Awaitable[list[Finding]]]


def examine_settings(config: Path | None) -> tuple[Settings | None, list[Finding]]:
    """Load the settings. A wrong variable is left out, so that the rest can be looked at all the same."""
    findings: list[Finding] = []
    with _environment_as_it_was():
        while True:
            try:
                settings = load_settings(config)
            except SettingsError as error:
                variable = str(error).partition(":")[0]
                known = variable.startswith(PREFIX) and os.environ.pop(variable, None) is not None
                rest = ". The rest is checked as if it were not set" if known else ""
                findings.append(problem("settings", f"{error}{rest}"))
                if not known:
                    return None, findings
            else:
                return settings, findings or [ok("settings", "every setting can be read")]


async def examine(settings: Settings, starts: Callable[[str], None]) -> AsyncIterator[Finding]:
    """Go through all checks; `starts` hears of each before it begins. No check keeps another from running."""
    engines = Engines(settings)
    checks: dict[str, Check] = {
        "data folder": engines.check_data_folder,
        "signing keys": engines.check_keys,
        "database": engines.check_database,
        "image store": engines.check_store,
        "counter": engines.check_counter,
        "sign-in": lambda: _check_sign_in(settings),
        "addresses": lambda: check_addresses(settings),
        "parts": lambda: check_parts(settings),
        "image proxy": lambda: fetched_as_by_github(settings, engines.ring, can_store=engines.can_store),
    }
    with _silent_logs():
        for about, check in checks.items():
            starts(about)
            for finding in await _findings(about, check):
                yield finding


async def _findings(about: str, check: Check) -> list[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return [
            problem(about, f"could not be checked within {CHECK_SECONDS:.0f} s: something does not answer")
        ]
    except PrshotsError as error:
        return [problem(about, redact(str(error)))]
    except OSError as error:
        return [problem(about, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))]


async def _check_sign_in(settings: Settings) -> list[Finding]:
    settings.check_providers()
    if not settings.providers:
        return [ok("sign-in", "no login provider: people sign in with the link of `prshots login-link`")]
    found = [ok("sign-in", f"with {', '.join(settings.providers)}")]
    if settings.allowed_users.strip() == "*":
        found.append(
            warning("sign-in", f"{PREFIX}ALLOWED_USERS is *: everyone with an account there comes in")
        )
    return found


@contextlib.contextmanager
def _environment_as_it_was() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.update(before)


@contextlib.contextmanager
def _silent_logs() -> Iterator[None]:
    """Let nothing but findings be seen: what adapters log, they also raise."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)
