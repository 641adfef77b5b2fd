"""How issuers' keys are fetched and cached, and which tokens signed with them are accepted."""

import asyncio
import base64
import hmac
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
import structlog
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from prshots.contract.errors import ExchangeRefusedError, ProviderError
from prshots.server.adapters.identity import issuers
from prshots.server.adapters.identity.issuers import (
    CLOCK_LEEWAY_SECONDS,
    FRESH_SECONDS,
    PAUSE_SECONDS,
    STALE_SECONDS,
    CiIssuers,
)
from prshots.server.adapters.identity.oauth import MOST_WAITING
from prshots.server.domain.projects.ports import Issuers
from support.http_server import Answer, answering, as_json
from support.port_watch import PortWatch
from support.waiting import eventually

NOW = 1_800_000_000


@cache
def key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid})


@dataclass
class Keys:
    """An issuer over HTTP. The test sets its keys, and it counts the requests for them."""

    url: str
    keys: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    is_down: bool = False
    may_answer: threading.Event = field(default_factory=threading.Event)
    now: float = NOW

    def __post_init__(self) -> None:
        self.may_answer.set()
        self.has("first")
        self.issuers = CiIssuers([self.url], lambda: self.now)

    def has(self, *kids: str) -> None:
        self.keys = [key(kid).as_dict(private=False) for kid in kids]

    def answer(self, path: str) -> Answer:
        self.asked.append(path)
        self.may_answer.wait(20)
        about = {"issuer": self.url, "jwks_uri": f"{self.url}/jwks"}
        return as_json(503 if self.is_down else 200, {"keys": self.keys} if path == "/jwks" else about)

    @property
    def fetches(self) -> int:
        return self.asked.count("/jwks")

    def token(self, kid: str = "first", *, header: dict[str, Any] | None = None, **changes: Any) -> str:
        said = {"iss": self.url, "sub": "job", "exp": NOW + 300} | changes
        claims = {name: value for name, value in said.items() if value is not None}
        return jws.serialize_compact(
            {"alg": "RS256", "kid": kid} | (header or {}), json.dumps(claims), key(kid)
        )

    async def claims(self, token: str) -> dict[str, Any]:
        return await self.issuers.verify(self.url, token)

    async def refuses(self, token: str, reason: str = "No key for kid") -> None:
        with pytest.raises(ExchangeRefusedError, match=reason):
            await self.claims(token)


@pytest.fixture
def issuer() -> Iterator[Keys]:
    with answering(lambda asked, _: made.answer(asked.path)) as address:
        made = Keys(address)
        yield made


class TestKeys:
    async def test_keys_are_fetched_once_for_concurrent_requests(self, issuer: Keys) -> None:
        watch = PortWatch()
        watch.over(issuer.issuers, Issuers)
        issuer.may_answer.clear()
        waiting = [asyncio.create_task(issuer.claims(issuer.token())) for _ in range(MOST_WAITING)]
        await eventually(lambda: len(issuer.asked) >= 1, "the issuer is asked")
        with pytest.raises(ProviderError, match=f"{MOST_WAITING} requests already wait"):
            await issuer.claims(issuer.token())
        waiting.pop(0).cancel()  # the client that started the fetch goes away
        issuer.may_answer.set()
        found = await asyncio.gather(*waiting)
        assert [claims["sub"] for claims in found] == ["job"] * (MOST_WAITING - 1)
        assert watch.unseen == []
        assert issuer.asked == ["/.well-known/openid-configuration", "/jwks"]

    async def test_known_keys_work_while_others_wait_for_a_slow_issuer(self, issuer: Keys) -> None:
        assert await issuer.claims(issuer.token())
        issuer.may_answer.clear()
        invented = asyncio.create_task(issuer.claims(issuer.token("second")))
        await eventually(lambda: len(issuer.asked) >= 3, "the issuer is asked")
        for _ in range(5):
            assert await issuer.claims(issuer.token())
        assert not invented.done()
        issuer.may_answer.set()
        with pytest.raises(ExchangeRefusedError, match="No key for kid"):
            await invented

    async def test_due_keys_are_used_if_the_issuer_is_slow(
        self, issuer: Keys, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(issuers, "PATIENCE_SECONDS", 0.01)
        token = issuer.token(exp=NOW + 2 * FRESH_SECONDS)
        assert await issuer.claims(token)
        issuer.may_answer.clear()
        issuer.has("second")
        issuer.now += FRESH_SECONDS
        assert await issuer.claims(token)
        issuer.may_answer.set()
        assert await issuer.claims(issuer.token("second", exp=NOW + 2 * FRESH_SECONDS))
        await issuer.refuses(token)

    async def test_an_unknown_key_is_not_fetched_again_until_the_pause_ends(self, issuer: Keys) -> None:
        unknown = issuer.token("second")
        for _ in range(5):
            await issuer.refuses(unknown)
        assert await issuer.claims(issuer.token())
        assert issuer.fetches == 1
        issuer.now += PAUSE_SECONDS
        issuer.has("first", "second")
        assert await issuer.claims(unknown)
        assert issuer.fetches == 2

    async def test_a_withdrawn_key_works_for_at_most_ten_more_minutes(self, issuer: Keys) -> None:
        old = issuer.token(exp=NOW + 3600)
        await issuer.claims(old)
        issuer.has("second")
        issuer.now = NOW + FRESH_SECONDS - 1
        assert await issuer.claims(old)
        issuer.now = NOW + FRESH_SECONDS
        await issuer.refuses(old)

    async def test_keys_work_for_an_hour_while_the_issuer_is_down(self, issuer: Keys) -> None:
        token = issuer.token(exp=NOW + 2 * STALE_SECONDS)
        await issuer.claims(token)
        issuer.is_down = True
        with structlog.testing.capture_logs() as logs:
            for later in (FRESH_SECONDS, FRESH_SECONDS + 1, STALE_SECONDS - 1):
                issuer.now = NOW + later
                assert await issuer.claims(token)
        assert [line["event"] for line in logs] == ["issuer does not answer; using its cached keys"]
        # An unknown key may be a new one. This cannot be decided while the issuer is down.
        with pytest.raises(ProviderError):
            await issuer.claims(issuer.token("second", exp=NOW + 2 * STALE_SECONDS))
        issuer.now = NOW + STALE_SECONDS + PAUSE_SECONDS
        with pytest.raises(ProviderError, match="returned 503"):
            await issuer.claims(token)
        issuer.is_down = False
        issuer.now += PAUSE_SECONDS
        assert await issuer.claims(token)

    async def test_an_issuer_that_is_down_is_asked_once_per_pause(self, issuer: Keys) -> None:
        issuer.is_down = True
        for _ in range(5):
            with pytest.raises(ProviderError, match="returned 503"):
                await issuer.claims(issuer.token())
        assert len(issuer.asked) == 1
        issuer.is_down = False
        with pytest.raises(ProviderError):
            await issuer.claims(issuer.token())
        issuer.now += PAUSE_SECONDS
        assert await issuer.claims(issuer.token())

    async def test_unusable_keys_raise_a_provider_error(self, issuer: Keys) -> None:
        for keys in ([], [{"kty": "RSA", "kid": "first"}], ["x"], [{"kty": "unheard of"}]):
            issuer.keys = keys  # type: ignore[assignment]
            with pytest.raises(ProviderError, match="unusable"):
                await issuer.claims(issuer.token())
            issuer.now += PAUSE_SECONDS
        # An unusable key next to usable ones does no harm.
        issuer.has("first")
        issuer.keys += [{"kty": "unheard of", "kid": "x"}]
        assert await issuer.claims(issuer.token())

    async def test_a_token_without_a_kid_is_accepted_only_if_there_is_one_key(self, issuer: Keys) -> None:
        claims = json.dumps({"iss": issuer.url, "exp": NOW + 2 * FRESH_SECONDS})
        nameless = jws.serialize_compact({"alg": "RS256"}, claims, key("first"))
        assert await issuer.claims(nameless)
        issuer.has("first", "second")
        issuer.now += FRESH_SECONDS
        await issuer.refuses(nameless)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed_with_hmac(secret: bytes, kid: str, claims: str) -> str:
    """Sign with a secret that anyone can know, such as the public key. A careless verifier accepts this."""
    signed = f"{encoded({'alg': 'HS256', 'kid': kid})}.{claims}"
    signature = hmac.digest(secret, signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


class TestTokens:
    async def test_tokens_signed_with_an_elliptic_curve_are_accepted(self, issuer: Keys) -> None:
        curve = ECKey.generate_key("P-256", {"kid": "curve"})
        issuer.keys.append(curve.as_dict(private=False))
        claims = json.dumps({"iss": issuer.url, "exp": NOW + 1})
        assert await issuer.claims(jws.serialize_compact({"alg": "ES256", "kid": "curve"}, claims, curve))

    @pytest.mark.parametrize(
        ("claims", "reason"),
        [
            ({"exp": NOW - CLOCK_LEEWAY_SECONDS}, "expired"),
            ({"exp": None}, "exp"),
            ({"exp": "tomorrow"}, "exp"),
            ({"exp": True}, "exp"),
            ({"nbf": NOW + CLOCK_LEEWAY_SECONDS + 1}, "not yet valid"),
            ({"iat": NOW + CLOCK_LEEWAY_SECONDS + 1}, "in the future"),
            ({"iss": "https://elsewhere.example"}, "iss"),
            ({"iss": None}, "iss"),
        ],
    )
    async def test_tokens_with_an_invalid_time_or_issuer_are_refused(
        self, issuer: Keys, claims: dict[str, Any], reason: str
    ) -> None:
        await issuer.refuses(issuer.token(**claims), f"is invalid.*{reason}")

    async def test_forged_tokens_are_refused(self, issuer: Keys) -> None:
        good = issuer.token()
        claims = good.split(".")[1]
        public = key("first").as_pem(private=False)
        shared = OctKey.generate_key(256, {"kid": "shared"})
        issuer.keys.append(shared.as_dict())  # not even a published secret may sign
        for forged, reason in (
            (good[:-8] + "AAAAAAAA", "bad_signature"),
            (jws.serialize_compact({"alg": "RS256", "kid": "first"}, claims, key("second")), "bad_signature"),
            (f"{encoded({'alg': 'none', 'kid': 'first'})}.{claims}.", "unsupported_algorithm"),
            (f"{encoded({'alg': 'none'})}.{claims}.", "unsupported_algorithm"),
            (signed_with_hmac(public, "first", claims), "unsupported_algorithm"),
            (signed_with_hmac(shared.raw_value, "shared", claims), "unsupported_algorithm"),
        ):
            await issuer.refuses(forged, reason)
        assert await issuer.claims(good)

    async def test_tokens_with_a_minute_of_clock_skew_are_accepted(self, issuer: Keys) -> None:
        just = CLOCK_LEEWAY_SECONDS - 1
        assert await issuer.claims(issuer.token(exp=NOW - just, nbf=NOW + just, iat=NOW + just))

    async def test_tokens_with_a_critical_header_are_refused_unfetched(self, issuer: Keys) -> None:
        await issuer.refuses(issuer.token(header={"crit": ["b64"], "b64": True}), "critical header")
        for nonsense in ("", "a.b.c", "e30.e30.x"):
            await issuer.refuses(nonsense, "is invalid")
        assert issuer.asked == []
