"""The mutations of `make drill DRILL=requests`, without a service."""

import random
from collections import Counter

from drills.drafts import PORTS, State, drafts, pick
from drills.requests import Case, case_from, is_violation

STATE = State(
    dict.fromkeys(
        ("session", "leaving_session", "user", "organization", "project", "token_id", "trust"), "0" * 16
    )
    | {"web": "http://127.0.0.1:8080", "token": "msr_" + "1" * 64, "image": "2" * 32, "image2": "3" * 32}
    | {"view": f"/i/{'2' * 32}.png?exp=1&token=k1.{'4' * 64}"}
)
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\n\r\n"


def cases(seed: int, count: int) -> list[Case]:
    rng, made = random.Random(seed), drafts(STATE)
    return [case_from(pick(rng, made), rng) for _ in range(count)]


def test_a_seed_makes_the_same_requests_again() -> None:
    assert cases(1, 300) == cases(1, 300)
    assert cases(1, 300) != cases(2, 300)


def test_mutations_reach_every_port_and_keep_the_framing_of_most_requests() -> None:
    made = cases(3, 5_000)
    by_port = Counter(case.port for case in made)
    assert set(by_port) == set(PORTS)
    framed = [case for case in made if case.is_framed]
    assert 0.8 < len(framed) / len(made) < 0.95
    for case in framed:
        head, _, body = case.raw.partition(b"\r\n\r\n")
        lengths = [
            line.partition(b": ")[2] for line in head.split(b"\r\n") if line.startswith(b"Content-Length: ")
        ]
        assert [int(length) for length in lengths] == ([len(body)] if lengths else [])
        assert b"\n" not in head.replace(b"\r\n", b"")


def test_a_saved_request_can_be_sent_to_another_service() -> None:
    state = State({"token": "msr_" + "1" * 64})
    raw = state.generic(b"Authorization: Bearer msr_" + b"1" * 64)
    assert raw == b"Authorization: Bearer {{token}}"
    assert State({"token": "msr_2"}).specific(raw) == b"Authorization: Bearer msr_2"


def test_only_a_documented_503_is_no_violation() -> None:
    assert not is_violation(404, b"")
    assert not is_violation(503, BUSY + b'{"error":"issuer unavailable, retry later"}')
    assert is_violation(503, BUSY + b'{"error":"database unavailable, retry later"}')
    assert is_violation(503, b'HTTP/1.1 503\r\n\r\n{"error":"issuer unavailable, retry later"}')
    assert is_violation(500, BUSY)
