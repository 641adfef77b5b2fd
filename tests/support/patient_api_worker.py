"""An API worker whose rate counter waits for Valkey as long as the test says, not 50 ms.

Run as `python patient_api_worker.py SECONDS PART LISTENER_FD READY_FD LIFELINE_FD`, like the supervisor runs
`prshots.server.processes.worker`.
"""

import functools
import sys

from prshots.server.adapters.counters import redis
from prshots.server.processes import worker

if __name__ == "__main__":
    seconds = float(sys.argv.pop(1))
    redis.RedisCounter = functools.partial(
        redis.RedisCounter, patience=[seconds], server_seconds=seconds, retry_seconds=0.05
    )
    worker.main()
