"""Runs one sweep in a separate process, which frees its memory afterward.

The supervisor runs `python -P -m prshots.server.processes.sweeper LIFELINE_FD`.
"""

import asyncio
import sys
import time
from dataclasses import asdict

import structlog

from prshots.contract.errors import PrshotsError
from prshots.server import wiring
from prshots.server.config.settings import Settings
from prshots.server.domain.upkeep.safeguards import FOREIGN_STORE
from prshots.server.domain.upkeep.sweep import SweepReport, sweep
from prshots.server.observability import metrics
from prshots.server.observability.logs import configure_logs
from prshots.server.processes import hold, settings_of_child

_log = structlog.get_logger()


def main() -> None:
    hold(int(sys.argv[1]))
    settings = settings_of_child()
    configure_logs(settings.log_format, settings.log_level, "sweep")
    try:
        asyncio.run(_sweep_once(settings))
    except PrshotsError as error:
        _log.error(f"sweep failed: {error}")
        sys.exit(1)


async def _sweep_once(settings: Settings) -> None:
    began = time.monotonic()
    try:
        async with wiring.open_for_sweep(settings) as engines:
            report = await sweep(engines)
            _, stored_bytes = await engines.upkeep.stored()
            metrics.STORED_BYTES.set(stored_bytes)
    except Exception:
        metrics.SWEEPS.labels("failed").inc()
        raise
    _count(report, time.monotonic() - began)
    _log_report(report)


def _count(report: SweepReport, seconds: float) -> None:
    metrics.SWEEPS.labels("ok").inc()
    metrics.EXPIRED.labels("sweep").inc(report.expired)
    metrics.SWEEP_FAILED.inc(report.failed)
    metrics.SWEEP_ORPHANS.inc(report.orphans)
    metrics.SWEEP_FREED_BYTES.inc(report.freed_bytes)
    for reason in metrics.SWEEP_REFUSALS:
        metrics.SWEEP_REFUSED.labels(reason).set(reason in report.refused)
    metrics.SWEEP_SECONDS.set(seconds)
    metrics.SWEPT_AT.set_to_current_time()


def _log_report(report: SweepReport) -> None:
    if report.foreign_store:
        _log.error(f"{FOREIGN_STORE}; files without a record were not deleted")
    for reason, words in report.refused.items():
        _log.error("sweep refused", reason=reason, what_to_do=words)
    counts = asdict(report)
    del counts["foreign_store"], counts["refused"]  # logged above
    if any(counts.values()):
        _log.info("swept", **counts)


if __name__ == "__main__":
    main()
