"""130 uploads to a real service with a limit of 40 per minute: the client waits, and is never refused.

The client's clock and the counter's are moved instead of waiting: a pause makes the counted uploads older.
"""

import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from prshots.client import Client, ShotFile, sender, upload_all
from prshots.client.sender import Sender
from support.engine_servers import running_valkey
from support.raw_requests import running_service
from support.service import SHA, png
from support.service_processes import metric
from support.waiting import wait_until

pytestmark = pytest.mark.nightly

UPLOADS = 130
LIMIT = 40
WORDS = re.compile(rf"limit of {LIMIT} uploads per minute \(the project's own limit\); waiting \d+ s")
STORED = 'prshots_uploads_total{result="stored"}'
REFUSED = 'prshots_uploads_total{result="rate_limited"}'
NOT_LIMITED = "prshots_uploads_not_limited_total"

AGE = """
for _, key in ipairs(redis.call('KEYS', '*:uploads:*')) do
    for index, counted in ipairs(redis.call('LRANGE', key, 0, -1)) do
        redis.call('LSET', key, index - 1, string.format('%.0f', counted - ARGV[1]))
    end
end
"""


def test_the_client_waits_and_is_never_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "shot.png"
    path.write_bytes(png())
    shots = [ShotFile(path, f"shot {number}", "1x1", "image/png", 1000) for number in range(UPLOADS)]
    later, lock, said = 0.0, threading.Lock(), list[str]()

    def let_pass(_: Sender, seconds: float) -> None:
        nonlocal later
        if seconds:
            with lock, valkey.client() as counter:
                counter.eval(AGE, 0, round(seconds * 1_000_000))
                later += seconds

    clock = SimpleNamespace(time=time.time, monotonic=lambda: time.monotonic() + later)
    monkeypatch.setattr(sender, "time", clock)
    monkeypatch.setattr(Sender, "_sleep", let_pass)
    with running_valkey() as valkey, running_service(tmp_path, COUNTER_URL=valkey.url) as service:
        token = service.new_token(uploads_per_minute=LIMIT)
        with Client(service.base_url, token, on_wait=said.append) as client:
            outcomes = upload_all(client, shots, pr_number=7, commit_sha=SHA, concurrency=4)
        wait_until(lambda: metric(service.base_url, STORED) == UPLOADS, "the metrics of all uploads")
        not_limited, refused = (metric(service.base_url, series) for series in (NOT_LIMITED, REFUSED))
    assert [outcome.error for outcome in outcomes if outcome.error] == []
    assert all(WORDS.fullmatch(words) for words in said), said
    if not not_limited:  # a busy machine may not count an upload in time, and then there is no limit
        assert refused == 0
        assert len(said) >= UPLOADS // LIMIT
