"""Clients that load a running service and remember what it acknowledged."""

import hashlib
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

from support.service import PNG, upload

SIZES = (100, 5_000, 60_000, 70_000, 400_000)  # below and above the block size that delivery reads
PAIRED = 0.3
"""How many of the uploads have a before image."""

PULL_REQUESTS = range(1, 6)
PATIENCE_SECONDS = 300
"""How long the last requests of a client may take: up to four, of a minute each."""

ONCE = "once/"
"""The prefix of screenshots that are uploaded several times with one key."""

EXPIRE_FAILED = "expire failed, retry later"


def self_checking_png(rng: random.Random, sizes: Sequence[int] = SIZES) -> bytes:
    """Return an image that contains its own checksum."""
    rest = rng.randbytes(rng.choice(sizes))
    return PNG + hashlib.sha256(rest).digest() + rest


def is_whole(image: bytes) -> bool:
    digest, rest = image[len(PNG) : len(PNG) + 32], image[len(PNG) + 32 :]
    return image.startswith(PNG) and hashlib.sha256(rest).digest() == digest


@dataclass
class Shot:
    """An acknowledged upload and its known state."""

    id: str
    view_url: str
    sha256: str
    deletes: int = 0  # how many were sent; their replies may be lost
    is_gone: bool = False  # a delete was acknowledged
    is_promised: bool = False  # a delete failed, with the promise that the sweep finishes it
    before: tuple[str, str] | None = None  # the URL and the SHA-256 of its before image

    @property
    def may_be_gone(self) -> bool:
        return self.deletes > 0

    @property
    def urls(self) -> list[str]:
        return [self.view_url, *([self.before[0]] if self.before else [])]


@dataclass
class UploadLoad:
    """Concurrent clients. They tolerate a broken connection, but not a wrong reply.

    Each request goes to one of the addresses, as behind a load balancer.
    """

    token: str
    seed: int
    addresses: Sequence[str]
    image_addresses: Sequence[str]
    sizes: Sequence[int] = SIZES
    expires_on_close: bool = True
    """Whether the project's policy is `pr_close`. Otherwise a closed pull request keeps its images."""
    sends_less: bool = False
    """Whether clients also refer to known images and repeat uploads, which older services don't understand."""
    engines_die: bool = False
    """Whether the engines may be down, so that a 503 is a correct reply."""
    pause_seconds: float = 0.3
    """How long a client pauses between two requests, at most."""
    shots: list[Shot] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    replies: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def kept(self) -> list[Shot]:
        """The acknowledged uploads that no client tried to delete."""
        return [shot for shot in self.shots if not shot.may_be_gone]

    @property
    def gone(self) -> list[Shot]:
        return [shot for shot in self.shots if shot.is_gone]

    def run_during(
        self, work: Callable[[], None], watch: Callable[[threading.Event], None] = threading.Event.wait
    ) -> None:
        """Run the clients while `work` runs. `watch` runs alongside until its event is set."""
        clients = [self._uploads] * 3 + [self._reads] * 2 + [self._deletes, self._closes, self._comments]
        clients += [self._pushes, self._repeats] if self.sends_less else []
        with ThreadPoolExecutor(len(clients) + 1) as threads:
            running = [threads.submit(self._client, client, number) for number, client in enumerate(clients)]
            running.append(threads.submit(watch, self._stop))
            try:
                work()
            finally:
                self._stop.set()
            for client in running:
                client.result(timeout=PATIENCE_SECONDS)

    def _client(self, act: Callable[[httpx.Client, random.Random], None], number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        headers = {"Authorization": f"Bearer {self.token}"}
        with httpx.Client(headers=headers, timeout=60, trust_env=False, verify=False) as client:
            while not self._stop.wait(rng.random() * self.pause_seconds):
                client.base_url = rng.choice(self.addresses)
                try:
                    act(client, rng)
                except httpx.TransportError:
                    self._stop.wait(0.02)

    def _upload(self, client: httpx.Client, rng: random.Random, pr_number: int) -> Shot | None:
        image = self_checking_png(rng, self.sizes)
        before = self_checking_png(rng, self.sizes) if rng.random() < PAIRED else None
        response = upload(client, image, pr_number=pr_number, before=before)
        if not self._expect(response, 200):
            return None
        reply = response.json()
        shot = Shot(reply["id"], reply["view_url"], hashlib.sha256(image).hexdigest())
        if before:
            shot.before = reply["before_url"], hashlib.sha256(before).hexdigest()
        return shot

    def _pushes(self, client: httpx.Client, rng: random.Random) -> None:
        """Push a known baseline and a known upload to a new pull request, and close it, often as merged.

        While it is open, and if closed ones are kept, no sweep may remove the baseline.
        """
        number, commits = rng.randrange(10**9, 2 * 10**9), [f"{rng.getrandbits(160):040x}" for _ in range(3)]
        name, image = f"own/{number}", self_checking_png(rng, self.sizes)
        page = self._stored(client, image, path="/v1/baseline", branch="main", commit_sha=commits[0])
        own = self._stored(client, image, name=name, pr_number=number, commit_sha=commits[0])
        if not (page and own):
            return
        self.shots.append(own)
        missing = self._missing(client, number, commits[1], {"checkout/cart": page, name: own})
        if missing is None:
            return
        if "checkout/cart" not in missing:  # else a newer baseline and a sweep came first
            self.shots.append(page)
        if name in missing and not own.may_be_gone:
            self.wrong.append(f"{own.id} was acknowledged, but is unknown")
        self._stop.wait(rng.random() * 2)
        body: dict[str, object] = {"pr_number": number, "commit_sha": commits[1], "branch": "main"}
        is_merged = rng.random() < 0.7
        if is_merged:
            self._expect(client.post("/v1/compare", json=body), 200, 202)
            body["merged_as"] = commits[2]
        for shot in (page, own):
            shot.deletes += self.expires_on_close
        response = client.post("/v1/expire", json=body)
        if not self._expect(response, 200):
            return
        reply = response.json()
        if not missing and reply["marked"] == reply["expired"] == 3:  # the upload and the two references
            own.is_gone = True
        if reply.get("baselines"):
            missing = self._missing(client, number + 10**6, commits[2], {name: own})
            self.wrong += [f"{own.id} was merged, but is unknown"] if missing else []

    def _missing(
        self, client: httpx.Client, pr_number: int, commit_sha: str, shots: dict[str, Shot]
    ) -> set[str] | None:
        """Give a commit the images that the service knows. Return the names of the others."""
        listed = [
            {"name": name, "viewport": "1280x800", "sha256": shot.sha256} for name, shot in shots.items()
        ]
        body = {"pr_number": pr_number, "commit_sha": commit_sha, "shots": listed}
        response = client.post("/v1/upload/known", json=body)
        if not self._expect(response, 200):
            return None
        return {shot["name"] for shot in response.json()["missing"]}

    def _stored(self, client: httpx.Client, image: bytes, **fields: object) -> Shot | None:
        response = upload(client, image, **fields)
        if not self._expect(response, 200):
            return None
        reply = response.json()
        return Shot(reply["id"], reply["view_url"], hashlib.sha256(image).hexdigest())

    def _repeats(self, client: httpx.Client, rng: random.Random) -> None:
        """Upload an image several times with one key, as after lost replies."""
        key, image, replies = f"{rng.getrandbits(128):032x}", self_checking_png(rng, self.sizes), set[str]()
        about = {"name": ONCE + key, "pr_number": rng.choice(PULL_REQUESTS)}
        for _ in range(4):
            client.base_url = rng.choice(self.addresses)
            try:
                shot = self._stored(client, image, headers={"Idempotency-Key": key}, **about)
            except httpx.TransportError:
                self._stop.wait(0.1)
                continue
            if shot and shot.id not in replies:
                replies.add(shot.id)
                self.shots.append(shot)
        if len(replies) > 1:
            self.wrong.append(f"one key got the replies {replies}")

    def _uploads(self, client: httpx.Client, rng: random.Random) -> None:
        shot = self._upload(client, rng, rng.choice(PULL_REQUESTS))
        if shot:
            self.shots.append(shot)

    def _deletes(self, client: httpx.Client, rng: random.Random) -> None:
        """Delete an image, or retry a delete that was interrupted."""
        left = [shot for shot in self.shots[-40:] if not shot.is_gone]
        if left:
            shot = rng.choice(left)
            shot.deletes += 1
            response = client.delete(f"/v1/images/{shot.id}")
            shot.is_promised = shot.is_promised or EXPIRE_FAILED in response.text
            # Look only now: another client may have closed the pull request meanwhile.
            is_only_try = shot.deletes == 1
            shot.is_gone = self._expect(response, 200) if is_only_try else self._expect(response, 200, 404)

    def _closes(self, client: httpx.Client, rng: random.Random) -> None:
        """Upload to a new pull request, and close it."""
        pr_number = rng.randrange(1000, 10**9)
        shots = [shot for _ in range(3) if (shot := self._upload(client, rng, pr_number))]
        for shot in shots:
            shot.deletes += self.expires_on_close
        self.shots += shots
        reply = client.post("/v1/expire", json={"pr_number": pr_number})
        if self._expect(reply, 200) and reply.json()["expired"] == len(shots) == 3:
            for shot in shots:
                shot.is_gone = True
                if not shot.may_be_gone:
                    self.wrong.append(f"{shot.id} was deleted, but its project keeps closed pull requests")

    def _comments(self, client: httpx.Client, rng: random.Random) -> None:
        gone = [shot.id for shot in self.shots if shot.is_gone]
        response = client.get("/v1/comment", params={"pr_number": rng.choice(PULL_REQUESTS)})
        if self._expect(response, 200):
            comment = response.json()["markdown"]
            self.wrong += [
                f"{image_id} is deleted, but in the comment" for image_id in gone if image_id in comment
            ]

    def _reads(self, client: httpx.Client, rng: random.Random) -> None:
        if self.shots:
            newest_most_often = max(rng.randrange(len(self.shots)) for _ in range(3))
            self.read(client, self.shots[newest_most_often])

    def read(self, client: httpx.Client, shot: Shot) -> None:
        self._read(client, shot, shot.view_url, shot.sha256)
        if shot.before:
            self._read(client, shot, *shot.before)

    def _read(self, client: httpx.Client, shot: Shot, url: str, sha256: str) -> None:
        was_gone = shot.is_gone
        place = urlsplit(url)
        response = client.get(f"{random.choice(self.image_addresses)}{place.path}?{place.query}")
        if response.status_code == 200:
            if was_gone:
                self.wrong.append(f"{shot.id} was served after its delete was acknowledged")
            if hashlib.sha256(response.content).hexdigest() != sha256:
                self.wrong.append(f"{shot.id} was served with {len(response.content)} wrong bytes")
        elif self._expect(response, 410) and not shot.may_be_gone:
            self.wrong.append(f"{shot.id} was acknowledged, but is lost")

    def _expect(self, response: httpx.Response, *statuses: int) -> bool:
        self.replies += 1
        if response.status_code == 502:  # the web component lost its connection to the API
            raise httpx.RemoteProtocolError("the API was killed behind the web component")
        if response.status_code == 503 and self.engines_die and "retry-after" in response.headers:
            raise httpx.RemoteProtocolError("an engine was killed behind the service")
        if response.status_code not in statuses:
            request = f"{response.request.method} {response.request.url.path}"
            self.wrong.append(f"{request}: {response.status_code} {response.text[:200]}")
        return response.status_code in statuses
