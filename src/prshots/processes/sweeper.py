"""One sweep in a process of its own: its memory is given back afterwards.

Run as `python -m prshots.processes.sweeper LIFELINE_FD` by the supervisor.
"""

import asyncio
import sys

import structlog

from prshots import wiring
from prshots.errors import PrshotsError
from prshots.processes import settings_of_child
from prshots.processes.lifeline import hold
from prshots.processes.logs import configure_logs
from prshots.sweep import FOREIGN_STORE, sweep


def main() -> None:
    configure_logs()
    try:
        asyncio.run(_sweep_once(int(sys.argv[1])))
    except PrshotsError as error:
        sys.exit(f"prshots sweep: {error}")


async def _sweep_once(lifeline_fd: int) -> None:
    hold(lifeline_fd)
    async with wiring.opened_for_sweep(settings_of_child()) as (records, people, store):
        report = await sweep(records, people, store)
    if report.foreign_store:
        structlog.get_logger().error(FOREIGN_STORE)
    if report.expired or report.failed or report.orphans or report.unfinished or report.logins:
        structlog.get_logger().info(
            "swept",
            expired=report.expired,
            failed=report.failed,
            orphans=report.orphans,
            unfinished=report.unfinished,
            logins=report.logins,
            freed_bytes=report.freed_bytes,
        )


if __name__ == "__main__":
    main()
