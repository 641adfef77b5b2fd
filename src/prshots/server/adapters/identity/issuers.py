"""OpenID issuers: their discovery documents and keys, and the tokens they sign.

Sign-in and keyless upload use them. Documents and keys are cached for ten minutes, after which a withdrawn
key stops working. If the issuer doesn't answer, known keys stay usable for up to an hour. An unknown key
triggers an immediate fetch, but at most every ten seconds, because anyone can send us a token with an
invented key id.
"""

import time
from collections.abc import Callable, Collection
from typing import Any

import structlog
from joserfc import jws, jwt
from joserfc.errors import JoseError, UnsupportedHeaderError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from prshots.contract.errors import ExchangeRefusedError, ProviderError
from prshots.server.adapters.identity.oauth import SharedFetch, WaitLimit, get_json

FRESH_SECONDS = 600
"""How long to cache a document and keys."""

STALE_SECONDS = 3600
"""How long to use cached keys while the issuer doesn't answer."""

PAUSE_SECONDS = 10
"""How long to wait before asking again if an issuer didn't answer or didn't have the key."""

PATIENCE_SECONDS = 2.0
"""How long to wait for a refresh if cached keys can be used instead."""

CLOCK_LEEWAY_SECONDS = 60

# Only signatures that nobody but the issuer can make. Excludes HMAC, because others may know a client secret.
_SIGNATURES = JWSRegistry(
    algorithms=[
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    ],
    strict_check_header=False,  # some issuers add their own headers
)
BAD_TOKEN = (JoseError, ValueError, TypeError, KeyError, RecursionError)
"""The exceptions that the library raises for an invalid token."""

_log = structlog.get_logger()


class Issuer:
    """One issuer, found by discovery.

    Only calls that need a new document or key wait, all for the same fetch.
    """

    def __init__(self, address: str, clock: Callable[[], float] = time.time) -> None:
        self.address = address.rstrip("/")
        self._clock = clock
        self._discovery = SharedFetch(self._discover, WaitLimit(self.address))
        self._refresh = SharedFetch(self._fetch_keys, WaitLimit(self.address))
        self._document: dict[str, Any] | None = None
        self._document_at = 0.0
        self._keys: KeySet | None = None
        self._keys_at = 0.0
        self._fetch_failed_at = float("-inf")
        self._problem = ""

    async def document(self) -> dict[str, Any]:
        """Return the issuer's discovery document. Raises ProviderError."""
        if self._document is None or self._clock() - self._document_at >= FRESH_SECONDS:
            await self._discovery.run()
        if self._document is None:
            raise ProviderError(f"the issuer {self.address} has no discovery document")
        return self._document

    async def verify(self, token: str, **expected: jwt.ClaimsOption) -> dict[str, Any]:
        """Return the claims of a token if this issuer signed it and they are as expected.

        Raises ProviderError, or one of BAD_TOKEN.
        """
        claims = jwt.decode(token, await self._keys_for(_kid_of(token)), registry=_SIGNATURES).claims
        jwt.JWTClaimsRegistry(
            now=int(self._clock()), leeway=CLOCK_LEEWAY_SECONDS, exp={"essential": True}, **expected
        ).validate(claims)
        return claims

    def endpoint(self, document: dict[str, Any], name: str) -> str:
        url = document.get(name)
        schemes = ("https://",) if self.address.startswith("https://") else ("https://", "http://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise ProviderError(f"the issuer {self.address} has no usable {name}")
        return url

    async def _discover(self) -> None:
        now = self._clock()
        url = f"{self.address}/.well-known/openid-configuration"
        document = await get_json(url)
        # Some issuers' names end with a slash; the settings never do.
        if not isinstance(document, dict) or str(document.get("issuer")).rstrip("/") != self.address:
            raise ProviderError(f"{url} is not the discovery document of the issuer {self.address}")
        self._document, self._document_at = document, now

    async def _keys_for(self, kid: str | None) -> KeySet:
        """Return the cached keys if they have this kid, else the current keys. Raises ProviderError."""
        now, keys = self._clock(), self._keys
        age = now - self._keys_at
        is_known = keys is not None and _has(keys, kid)
        if keys and is_known and age < FRESH_SECONDS:
            return keys
        if now - self._fetch_failed_at >= PAUSE_SECONDS:
            await self._refresh.run(PATIENCE_SECONDS if is_known and age < STALE_SECONDS else None)
            if self._problem or not (self._keys and _has(self._keys, kid)):
                self._fetch_failed_at = now
        if self._keys and not self._problem:
            return self._keys
        if keys and is_known and age < STALE_SECONDS:
            return keys
        raise ProviderError(self._problem)

    async def _fetch_keys(self) -> None:
        now = self._clock()
        try:
            key_set = await get_json(self.endpoint(await self.document(), "jwks_uri"))
            self._keys, self._keys_at, self._problem = _import_keys(key_set, self.address), now, ""
        except ProviderError as error:
            is_new, self._problem = not self._problem, str(error)
            if self._keys and is_new:  # once per outage
                _log.warning("issuer does not answer; using its cached keys", reason=self._problem)


class CiIssuers:
    """The issuers whose ID tokens can be exchanged for upload tokens."""

    def __init__(self, addresses: Collection[str], clock: Callable[[], float] = time.time) -> None:
        self._issuers = {address: Issuer(address, clock) for address in addresses}

    async def verify(self, issuer: str, id_token: str) -> dict[str, Any]:
        try:
            return await self._issuers[issuer].verify(id_token, iss={"essential": True, "value": issuer})
        except BAD_TOKEN as error:
            raise ExchangeRefusedError(f"the token is invalid: {error}") from error


def _import_keys(key_set: object, address: str) -> KeySet:
    try:
        return KeySet.import_key_set(key_set)  # type: ignore[arg-type]  # it validates the issuer's reply
    except BAD_TOKEN as error:
        raise ProviderError(f"the keys of the issuer {address} are unusable: {error}") from error


def _kid_of(token: str) -> str | None:
    """Return the id of the key that signed a token. Raises one of BAD_TOKEN."""
    header = jws.extract_compact(token.encode()).headers()
    _SIGNATURES.get_alg(header["alg"])
    if "crit" in header:
        raise UnsupportedHeaderError("it has a critical header")
    kid = header.get("kid")
    return None if kid is None else str(kid)


def _has(keys: KeySet, kid: str | None) -> bool:
    return len(keys.keys) == 1 if kid is None else any(key.kid == kid for key in keys)
