"""A process that counts uploads in shared memory as fast as it can: `counting_process.py MEMORY_FD LIMIT REPORT_FD`.

It writes one byte for each upload that is within the limit, and ends at the first that is not.
"""

import asyncio
import os
import sys

from prshots.server.adapters.counters.memory import MemoryCounter


async def main(memory: int, limit: int, report: int) -> None:
    counter = MemoryCounter(limit, memory=memory)
    while (await counter.hit("project")).is_counted:
        os.write(report, b".")


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
