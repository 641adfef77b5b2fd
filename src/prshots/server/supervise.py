"""The long-running process of `prshots serve`.

The command replaces itself with this process after it has checked the settings and opened the ports: `python
-P -m prshots.server.supervise PLAN`. This process doesn't load the command line, the settings or the engines,
so it takes 20 MB instead of 40 MB.
"""

import sys

from prshots.server.lean_imports import not_installed

with not_installed("ssl"):  # 5 MB, and the supervisor makes no connections
    import asyncio

from prshots.server.processes.handover import read_plan


def main() -> None:
    supervisor = read_plan(sys.argv[1])
    sys.exit(asyncio.run(supervisor.run()))


if __name__ == "__main__":
    main()
