"""Altered image URLs against delivery: none is accepted, neither for the image nor by the check for proxies."""

import asyncio
import random
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from drills.altered_urls import Url, altered
from drills.exchange import KeptConnection, NoReplyError
from drills.report import Progress, Result, result_of
from prshots.server.links import KeyRing
from support.raw_requests import running_service
from support.service import JPEG, WEBP, Service, png, upload

CONNECTIONS = 8
AT_ONCE = 32
MANY_VIOLATIONS = 50
IMAGE, CHECK = "", "/check"
ACCEPTED = {IMAGE: frozenset({200, 206, 304}), CHECK: frozenset({305, 421})}


@contextmanager
def prepared_drill(folder: Path, count: int, seed: int) -> Iterator["UrlsDrill"]:
    """Run a service with two signing keys and some images, and yield a drill against its delivery."""
    keys = folder / "keys"
    keys.write_text(f"k2:{secrets.token_hex(32)}\nk1:{secrets.token_hex(32)}\n")  # as after a rotation
    keys.chmod(0o600)
    with running_service(folder, SIGNING_KEYS_FILE=str(keys)) as service:
        urls = issued_urls(service, KeyRing.parse(keys.read_text()))
        yield UrlsDrill(service.img_port, urls, count, seed)


def issued_urls(service: Service, ring: KeyRing) -> list[Url]:
    """Upload some images, and return their URLs, signed by each of the keys."""
    with service.client(service.new_token()) as client:
        replies = [
            upload(client, png(), content_type="image/png"),
            upload(client, png(), content_type="image/png"),
            upload(client, JPEG + b"0" * 99, content_type="image/jpeg"),
            upload(client, WEBP + b"0" * 99, content_type="image/webp"),
        ]
    places = [urlsplit(reply.raise_for_status().json()["view_url"]) for reply in replies]
    urls = [Url.parse(f"{place.path}?{place.query}") for place in places]
    older = [Url.parse(ring.sign(url.id, url.ext, int(url.exp) - 1, "k1")) for url in urls]
    return urls + older


@dataclass
class UrlsDrill:
    port: int
    urls: list[Url]
    count: int
    seed: int
    violations: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def run(self) -> Result:
        self._progress = Progress(self.count, "altered URLs")
        self._issued = frozenset(str(url).encode() for url in self.urls)
        self._sent = 0
        uvloop.run(self._send_all())
        figures = dict(sorted(self.statuses.items()))
        return result_of("urls", self._progress, self.seed, figures, self.violations)

    async def _send_all(self) -> None:
        await asyncio.gather(
            *(self._client(random.Random(f"{self.seed}/{number}")) for number in range(CONNECTIONS))
        )

    async def _client(self, rng: random.Random) -> None:
        connection = KeptConnection(self.port)
        while self._sent < self.count and len(self.violations) < MANY_VIOLATIONS:
            count = min(AT_ONCE, self.count - self._sent)
            self._sent += count
            sent = [(rng.choice((IMAGE, CHECK)), altered(rng, self.urls, self._issued)) for _ in range(count)]
            await self._send(connection, sent, rng)
            self._progress.note(self._progress.done + count, len(self.violations))
        await connection.close()

    async def _send(
        self, connection: KeptConnection, sent: list[tuple[str, bytes]], rng: random.Random
    ) -> None:
        """Send altered targets, and an issued one behind them: it shows that delivery accepts what it should."""
        control = (rng.choice((IMAGE, CHECK)), str(rng.choice(self.urls)).encode())
        targets = [*sent, control]
        try:
            replies = await connection.ask([(_request(place, target), False) for place, target in targets])
        except NoReplyError as error:
            self.violations.append(f"{error!r} for {targets[error.number]!r}")
            return
        for (place, target), reply in zip(targets, replies, strict=True):
            is_accepted = reply.status in ACCEPTED[place]
            is_issued = target is control[1]
            self.statuses[
                "issued URLs accepted between them" if is_issued else f"replies {reply.status}"
            ] += 1
            if is_accepted != is_issued or reply.status >= 500:
                self.violations.append(f"{reply.status} for {place}{target!r}")


def _request(place: str, target: bytes) -> bytes:
    return b"GET " + place.encode() + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
