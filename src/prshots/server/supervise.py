"""The long-running process of `prshots serve`.

It doesn't load the command line, the settings or the engines, so it takes 20 MB instead of 40 MB:
`handover.py` replaces the command with it.
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
