"""130 uploads to a real service with a limit of 40 per minute: the client waits, and is never refused.

The client's clock and the counter's are moved instead of waiting: a pause makes the counted uploads older.
"""

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from prshots.client import Client, ShotFile, sender, upload_all
from prshots.client.sender import Sender
from support.engine_servers import Valkey, running_valkey
from support.raw_requests import running_service
from support.service import SHA, Service, png
from support.waiting import wait_until

pytestmark = pytest.mark.nightly

UPLOADS = 130
LIMIT = 40
WORDS = re.compile(rf"limit of {LIMIT} uploads per minute \(the project's own limit\); waiting \d+ s")
STORED = 'prshots_uploads_total{result="stored"}'
REFUSED = 'prshots_uploads_total{result="rate_limited"}'
NOT_LIMITED = "prshots_uploads_not_limited_total"
NODE_CLIENT = Path(__file__).parents[2] / "clients" / "node"

AGE = """
for _, key in ipairs(redis.call('KEYS', '*:uploads:*')) do
    for index, counted in ipairs(redis.call('LRANGE', key, 0, -1)) do
        redis.call('LSET', key, index - 1, string.format('%.0f', counted - ARGV[1]))
    end
end
"""

UPLOAD_IN_NODE = """
import { createInterface } from "node:readline";
import { Sender } from "./dist/sender.js";
import { Service } from "./dist/service.js";

const [url, token, sha, count] = process.argv.slice(1);
const print = (told) => process.stdout.write(`${JSON.stringify(told)}\\n`);
const passed = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let later = 0;
const clock = {
  now: () => Date.now() / 1000 + later,
  async pause(seconds) {
    print({ pause: seconds });
    await passed.next();
    later += seconds;
  },
};
const sender = new Sender(new AbortController().signal, undefined, (words) => print({ says: words }), clock);
const tokens = { token: async () => token, renewed: async () => undefined };
const service = new Service(url, tokens, sender);
const image = Buffer.from("89504e470d0a1a0a00", "hex");
const left = Array.from({ length: Number(count) }, (_, number) => ({
  name: `shot ${number}`, viewport: "1x1", theme: "", contentType: "image/png", image,
}));
const work = async () => {
  while (left.length) await service.upload(left.pop(), 7, sha);
};
await Promise.all(Array.from({ length: 4 }, work));
process.exit(0);
"""


class LimitedService:
    """A service with its own counter, and a project with a limit."""

    def __init__(self, service: Service, valkey: Valkey) -> None:
        self.service = service
        self.token = service.new_token(uploads_per_minute=LIMIT)
        self._valkey = valkey

    def let_pass(self, seconds: float) -> None:
        with self._valkey.client() as client:
            client.eval(AGE, 0, round(seconds * 1_000_000))

    def metrics(self) -> dict[str, float]:
        shown = httpx.get(f"{self.service.base_url}/metrics", trust_env=False).text
        return {
            name: float(value)
            for name, value in re.findall(r"^(prshots_uploads\S*) (\S+)$", shown, re.MULTILINE)
        }

    def assert_none_refused(self, before: dict[str, float]) -> None:
        wait_until(lambda: self.metrics()[STORED] == before[STORED] + UPLOADS, "the metrics of all uploads")
        after = self.metrics()
        grown = {name: after[name] - before[name] for name in after}
        # An upload that a busy machine could not count in time tells the client that there is no limit now.
        assert not grown[REFUSED] or grown[NOT_LIMITED]


@pytest.fixture(scope="module")
def valkey_and_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Valkey, Service]]:
    with (
        running_valkey() as valkey,
        running_service(tmp_path_factory.mktemp("pacing"), COUNTER_URL=valkey.url) as service,
    ):
        yield valkey, service


@pytest.fixture
def limited(valkey_and_service: tuple[Valkey, Service]) -> LimitedService:
    valkey, service = valkey_and_service
    return LimitedService(service, valkey)


def test_the_python_client_waits_and_is_never_refused(
    limited: LimitedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(png())
    shots = [ShotFile(path, f"shot {number}", "1x1", "image/png", 1000) for number in range(UPLOADS)]
    later, lock, said = 0.0, threading.Lock(), list[str]()

    def let_pass(_: Sender, seconds: float) -> None:
        nonlocal later
        if seconds:
            with lock:
                limited.let_pass(seconds)
                later += seconds

    clock = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + later)
    monkeypatch.setattr(sender, "time", clock)
    monkeypatch.setattr(Sender, "_sleep", let_pass)
    before = limited.metrics()
    with Client(limited.service.base_url, limited.token, on_wait=said.append) as client:
        outcomes = upload_all(client, shots, pr_number=7, commit_sha=SHA, concurrency=4)
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    limited.assert_none_refused(before)
    assert len(said) >= UPLOADS // LIMIT
    assert all(WORDS.fullmatch(words) for words in said), said


def test_the_node_client_waits_and_is_never_refused(limited: LimitedService) -> None:
    before, said = limited.metrics(), list[str]()
    url, arguments = limited.service.base_url, ["node", "--input-type=module", "-e", UPLOAD_IN_NODE]
    with subprocess.Popen(
        [*arguments, url, limited.token, SHA, str(UPLOADS)],
        cwd=NODE_CLIENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        assert node.stdin
        assert node.stdout
        for line in node.stdout:
            told = json.loads(line)
            if "says" in told:
                said.append(told["says"])
            else:
                limited.let_pass(told["pause"])
                print(file=node.stdin, flush=True)
    assert node.returncode == 0
    limited.assert_none_refused(before)
    assert len(said) >= UPLOADS // LIMIT
    assert all(WORDS.fullmatch(words) for words in said), said
