"""Delivery of signed images compared with nginx, SeaweedFS and Starlette: one worker each, 32 connections."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from bench.peers import LINKS_PER_FILE, Peer, nginx, seaweedfs, starlette
from bench.pictures import png
from bench.processes import cpu_seconds, wait_until_idle
from bench.report import Row, Target
from bench.run import BenchError, Run
from bench.service import Api, Service
from bench.wrk import Load, in_turn, status_of, wrk

CONNECTIONS = 32
# Many images of each size, to keep any server from gaining by caching a single file.
IMAGES_PER_SIZE = 64
SIZES = {"20 KB": 20 * 1024, "100 KB": 100 * 1024, "1 MB": 1024 * 1024}
NGINX, SEAWEEDFS, STARLETTE = "nginx secure_link", "SeaweedFS presigned GET", "Starlette FileResponse"
TARGETS = {
    ("20 KB", NGINX): Target(at_least=0.5),
    ("100 KB", NGINX): Target(at_least=0.45),
    ("1 MB", NGINX): Target(at_least=0.70),
    ("100 KB", SEAWEEDFS): Target(at_least=4),
}
UNCACHED_TARGETS = {"20 KB": Target(at_least=0.40), "100 KB": Target(at_least=0.45)}


def measure(run: Run) -> Iterator[Row]:
    run.say("delivery: starting four servers with the same images")
    images = images_of_all_sizes()
    with (
        _ours(run.directory / "ours", images) as ours,
        nginx(run.directory / "nginx", images) as by_nginx,
        _seaweedfs(run.directory / "seaweedfs", images) as by_seaweedfs,
        starlette(run.directory / "starlette", images) as by_starlette,
    ):
        for server in (ours, by_nginx, by_seaweedfs):
            check_that_links_are_verified(server)
        servers = {"ours": ours, NGINX: by_nginx, SEAWEEDFS: by_seaweedfs, STARLETTE: by_starlette}
        for size in SIZES:
            yield from _compare(run, size, servers)
            yield from _compare_uncached(run, size, {"ours": ours, NGINX: by_nginx})


def images_of_all_sizes() -> dict[str, bytes]:
    sizes = (size for size in SIZES.values() for _ in range(IMAGES_PER_SIZE))
    return {f"{number:032x}.png": png(size) for number, size in enumerate(sizes)}


def of_size(paths: Sequence[str], size: str) -> Sequence[str]:
    """Return the paths to the images of one size."""
    first = list(SIZES).index(size) * IMAGES_PER_SIZE
    return paths[first : first + IMAGES_PER_SIZE]


def _compare(run: Run, size: str, servers: Mapping[str, Peer]) -> Iterator[Row]:
    paths = {name: of_size(peer.paths, size) for name, peer in servers.items()}
    rates, cpu = load_in_turn(run, size, servers, paths, f"delivery of {size}")
    for peer in (NGINX, SEAWEEDFS, STARLETTE):
        target = TARGETS.get((size, peer))
        yield Row(f"delivery, {size}", "images/s", rates["ours"], peer, rates[peer], target)
    yield cpu_row(f"delivery, {size}", cpu)


def _compare_uncached(run: Run, size: str, servers: Mapping[str, Peer]) -> Iterator[Row]:
    """Use more links than delivery caches, to make it verify each one, as nginx does."""
    count = IMAGES_PER_SIZE * LINKS_PER_FILE
    first = list(SIZES).index(size) * count
    paths = {name: peer.many_paths[first : first + count] for name, peer in servers.items()}
    rates, cpu = load_in_turn(run, size, servers, paths, f"delivery of {size}, uncached links")
    measure, target = f"delivery, {size}, uncached links", UNCACHED_TARGETS.get(size)
    yield Row(measure, "images/s", rates["ours"], NGINX, rates[NGINX], target)
    yield cpu_row(measure, cpu)


def cpu_row(measure: str, cpu: Mapping[str, float]) -> Row:
    """Return the CPU time that each server's own processes spend per image.

    Other load on the machine distorts this figure least. If wrk doesn't have a core to itself, the fastest
    server waits most, and our images per second look better than they are.
    """
    return Row(f"{measure}: CPU time", "µs/image", cpu["ours"], NGINX, cpu[NGINX])


def load_in_turn(
    run: Run, size: str, servers: Mapping[str, Peer], paths: Mapping[str, Sequence[str]], what: str
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the images per second, and the microseconds of CPU time per image, for each server."""
    cpu: dict[str, list[float]] = {name: [] for name in servers}
    measures = {
        name: partial(_images_per_second, run, size, server, paths[name], cpu[name])
        for name, server in servers.items()
    }
    rates = in_turn(measures, run.say, what)
    return rates, {name: statistics.median(values) for name, values in cpu.items()}


def _images_per_second(run: Run, size: str, server: Peer, paths: Sequence[str], cpu: list[float]) -> float:
    before = cpu_seconds(server.pid)
    result = wrk(Load(server.address, paths), connections=CONNECTIONS, seconds=run.seconds)
    cpu.append((cpu_seconds(server.pid) - before) / result.requests * 1e6)
    if result.bytes_each < SIZES[size]:
        raise BenchError(f"{server.address} sent {result.bytes_each:,.0f} bytes for an image of {size}")
    return result.per_second


def check_that_links_are_verified(server: Peer) -> None:
    path, _, query = server.paths[0].partition("?")
    of_another = server.paths[1].partition("?")[2]
    if status_of(server.address, f"{path}?{query}") != 200:
        raise BenchError(f"{server.address} refuses a valid link")
    if status_of(server.address, f"{path}?{of_another}") != 403:
        raise BenchError(f"{server.address} accepts one image's signature for another image")


@contextmanager
def _ours(directory: Path, images: Mapping[str, bytes]) -> Iterator[Peer]:
    service = Service.create(directory)
    with service.idle() as pid:
        with closing(Api(service)) as api:
            paths = [api.upload(content) for content in images.values()]
        wait_until_idle(pid)
        many = [link for path in paths for link in service.links(path, LINKS_PER_FILE)]
        yield Peer(pid, service.img_address, paths, many)


@contextmanager
def _seaweedfs(directory: Path, images: Mapping[str, bytes]) -> Iterator[Peer]:
    with seaweedfs(directory) as server:
        for name, content in images.items():
            server.put(name, content)
        paths: Sequence[str] = [server.presigned("get_object", name) for name in images]
        yield Peer(server.pid, server.address, paths)
