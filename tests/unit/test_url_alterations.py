"""Delivery decides on altered URLs, without a network. The same alterations as in `make drill DRILL=urls`."""

import os
import random
import time
from pathlib import Path

from drills.altered_urls import Url, altered
from drills.urls import ACCEPTED
from prshots.contract.object_names import origin_key
from prshots.server.adapters.keys import FixedKeys
from prshots.server.adapters.objects.disk import DiskReader
from prshots.server.delivery.decision import Delivery
from prshots.server.delivery.replies import FileSlice, Reply, Request
from prshots.server.links import Key, KeyRing

RING = KeyRing([Key("k2", b"2" * 32), Key("k1", b"1" * 32)])
EXP = int(time.time()) + 86_400
ALTERED = 10_000


def issued(folder: Path, rng: random.Random) -> list[Url]:
    """Store images in every format, and return their URLs by each key."""
    urls = []
    for ext in ("png", "jpg", "webp", "thumb.webp"):
        image_id = f"{rng.getrandbits(128):032x}"
        file = folder / origin_key(image_id, ext)
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"image")
        urls += [Url.parse(RING.sign(image_id, ext, EXP - number, f"k{number}")) for number in (1, 2)]
    return urls


def status(delivery: Delivery, target: str) -> int:
    reply = delivery.respond(Request("GET", target, {}))
    assert isinstance(reply, Reply)
    if isinstance(reply.body, FileSlice):
        os.close(reply.body.file.fd)
    return reply.status


def test_only_issued_urls_are_accepted(tmp_path: Path) -> None:
    rng = random.Random(12)
    urls = issued(tmp_path, rng)
    delivery = Delivery(DiskReader(tmp_path), FixedKeys(RING), 3600)
    for place, accepted in ACCEPTED.items():
        assert all(status(delivery, f"{place}{url}") in accepted for url in urls)
    targets = frozenset(str(url).encode() for url in urls)
    for _ in range(ALTERED):
        target = altered(rng, urls, targets).decode("latin-1")
        for place in ACCEPTED:
            assert status(delivery, f"{place}{target}") in {403, 404}, (place, target)
