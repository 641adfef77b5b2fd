"""The process of `prshots serve` that runs as long as the service does.

The command replaces itself with this process once it has checked the settings and opened the ports:
`python -P -m prshots.server.supervise PLAN`. The command line, the settings and the engines stay out of its
memory: it takes 20 MB instead of 40.
"""

import sys

from prshots.server.lean_imports import not_installed

with not_installed("ssl"):  # 5 MB, and the supervisor connects to nothing
    import asyncio

from prshots.server.processes.handover import read_plan


def main() -> None:
    supervisor = read_plan(sys.argv[1])
    sys.exit(asyncio.run(supervisor.run()))


if __name__ == "__main__":
    main()
