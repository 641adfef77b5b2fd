"""The time from `prshots serve` to the first accepted upload."""

import statistics
import time
from collections.abc import Iterator
from contextlib import closing

from bench.pictures import png
from bench.report import Row, Target
from bench.run import Run
from bench.service import Api, Service
from bench.wrk import ROUNDS

TARGET = Target(at_most=3)


def measure(run: Run) -> Iterator[Row]:
    run.say(f"start: {ROUNDS} times on a new data folder, then again on the same folders")
    services = [Service.create(run.directory / str(number)) for number in range(ROUNDS)]
    fresh = statistics.median(_seconds_to_first_upload(service) for service in services)
    again = statistics.median(_seconds_to_first_upload(service) for service in services)
    yield Row("serve to first upload, new data folder", "s", fresh, target=TARGET)
    yield Row("serve to first upload, existing data folder", "s", again, target=TARGET)


def _seconds_to_first_upload(service: Service) -> float:
    image = png(20 * 1024)

    def uploads() -> bool:
        with closing(Api(service)) as api:
            return bool(api.upload(image))

    started = time.monotonic()
    with service.serving(ready=uploads):
        return time.monotonic() - started
