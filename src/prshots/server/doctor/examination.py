"""Run all checks in order. Later checks use the results of earlier ones."""

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
from prshots.server.doctor import DoctorFinding, ok, problem, warning
from prshots.server.doctor.addresses import check_addresses, check_components
from prshots.server.doctor.engines import Engines
from prshots.server.doctor.image_proxy import check_image_proxy
from prshots.server.wiring.sign_in import allow_list

CHECK_SECONDS = 30.0
"""The limit for a whole check. Each of its requests has its own, shorter timeout."""

Check = Callable[[], Awaitable[list[DoctorFinding]]]


def examine_settings(config: Path | None) -> tuple[Settings | None, list[DoctorFinding]]:
    """Load the settings. Report and ignore invalid variables, to check the rest."""
    findings: list[DoctorFinding] = []
    with _restore_environment():
        while True:
            try:
                settings = load_settings(config)
            except SettingsError as error:
                variable = str(error).partition(":")[0]
                known = variable.startswith(PREFIX) and os.environ.pop(variable, None) is not None
                rest = ". It is ignored for the rest of the checks" if known else ""
                findings.append(problem("settings", f"{error}{rest}"))
                if not known:
                    return None, findings
            else:
                return settings, findings or [ok("settings", "all settings are valid")]


async def examine(settings: Settings, starts: Callable[[str], None]) -> AsyncIterator[DoctorFinding]:
    """Run all checks, even after a failure. Calls `starts` with each check's name before it runs."""
    engines = Engines(settings)
    checks: dict[str, Check] = {
        "data folder": engines.check_data_folder,
        "signing keys": engines.check_keys,
        "database": engines.check_database,
        "image store": engines.check_store,
        "counter": engines.check_counter,
        "sign-in": lambda: _check_sign_in(settings),
        "addresses": lambda: check_addresses(settings),
        "components": lambda: check_components(settings),
        "image proxy": lambda: check_image_proxy(settings, engines.ring, can_store=engines.can_store),
    }
    with _silent_logs():
        for about, check in checks.items():
            starts(about)
            for finding in await _findings(about, check):
                yield finding


async def _findings(about: str, check: Check) -> list[DoctorFinding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return [
            problem(about, f"the check took longer than {CHECK_SECONDS:.0f} s: something does not answer")
        ]
    except PrshotsError as error:
        return [problem(about, redact(str(error)))]
    except OSError as error:
        return [problem(about, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))]


async def _check_sign_in(settings: Settings) -> list[DoctorFinding]:
    settings.check_providers()
    if not settings.providers:
        return [ok("sign-in", "no login provider: people sign in with a link from `prshots login-link`")]
    found = [ok("sign-in", f"with {', '.join(settings.providers)}")]
    if settings.allowed_users.strip() == "*":
        found.append(
            warning("sign-in", f"{PREFIX}ALLOWED_USERS is *: everyone with an account there can sign in")
        )
    return found + [
        warning("sign-in", message) for message in allow_list(settings).never_matching(settings.providers)
    ]


@contextlib.contextmanager
def _restore_environment() -> Iterator[None]:
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.update(before)


@contextlib.contextmanager
def _silent_logs() -> Iterator[None]:
    """Hide log lines, to print only findings. Adapters raise every error that they log."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)
