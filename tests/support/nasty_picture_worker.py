"""A picture worker with more operations, for what no image does reliably on every machine."""

import os
import signal
import time

from prshots.contract.errors import DamagedPictureError
from prshots.server.adapters.pictures.workers.worker import main


def burn(picture: bytes, seconds: float = 1e9) -> bytes:
    """Use so much processor time."""
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    return picture


def fill_memory(picture: bytes, megabytes: int) -> bytes:
    return bytes(picture) + bytes(megabytes * 1024**2)


def wait(picture: bytes) -> bytes:
    """Use no processor time, and never end."""
    signal.pause()
    return picture


def die(picture: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return picture


def refuse(picture: bytes) -> bytes:
    raise DamagedPictureError(f"{len(picture)} bytes, and a ü")


def join(one: bytes, other: bytes, between: str) -> bytes:
    return one + between.encode() + other


def pid(picture: bytes) -> bytes:
    print("not a reply")
    return str(os.getpid()).encode() + picture


if __name__ == "__main__":
    main({made.__name__: made for made in (burn, fill_memory, wait, die, refuse, join, pid)})
