"""OpenID issuers: their documents and keys, and what is signed with them.

For sign-in and for keyless upload alike. What is fetched is kept for ten minutes, so that a key that was
withdrawn stops working; while the issuer does not answer, known keys go on for up to an hour. A key that is
not known is looked for at once, but not more often than every ten seconds: anybody can send us such a token.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from typing import Any

import structlog
from joserfc import jws, jwt
from joserfc.errors import JoseError, UnsupportedHeaderError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from prshots.contract.errors import ExchangeRefusedError, ProviderError
from prshots.server.adapters.identity.oauth import get_json

FRESH_SECONDS = 600
"""How long a document and keys are taken for what the issuer has."""

STALE_SECONDS = 3600
"""How long keys are good while the issuer does not answer."""

PAUSE_SECONDS = 10
"""How long an issuer is left alone after it did not answer, or had no key of the name that was looked for."""

CLOCK_LEEWAY_SECONDS = 60

# Only signatures that nobody but the issuer can make: a client secret may be known to more.
_SIGNATURES = JWSRegistry(
    algorithms=[
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    ],
    strict_check_header=False,  # some issuers add headers of their own
)
BAD_TOKEN = (JoseError, ValueError, TypeError, KeyError, RecursionError)
"""What the library raises over a token that is none, or that does not hold."""

_log = structlog.get_logger()


class Issuer:
    """One issuer, found by discovery."""

    def __init__(self, address: str, clock: Callable[[], float] = time.time) -> None:
        self.address = address.rstrip("/")
        self._clock = clock
        self._fetching = asyncio.Lock()
        self._document: dict[str, Any] | None = None
        self._document_at = 0.0
        self._keys: KeySet | None = None
        self._keys_at = 0.0
        self._in_vain_at = float("-inf")
        self._problem = ""

    async def document(self) -> dict[str, Any]:
        """Return what the issuer says of itself. Raises ProviderError."""
        async with self._fetching:
            return await self._discovered()

    async def verified(self, token: str) -> jwt.Token:
        """Return a token whose signature is this issuer's. Raises ProviderError, or one of BAD_TOKEN."""
        kid = _kid_of(token)
        async with self._fetching:  # of those who need the same keys at once, one fetches them
            keys = await self._keys_for(kid)
        return jwt.decode(token, keys, registry=_SIGNATURES)

    def endpoint(self, document: dict[str, Any], name: str) -> str:
        url = document.get(name)
        schemes = ("https://",) if self.address.startswith("https://") else ("https://", "http://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise ProviderError(f"the issuer {self.address} has no {name} that can be used")
        return url

    async def _discovered(self) -> dict[str, Any]:
        now = self._clock()
        if self._document is None or now - self._document_at >= FRESH_SECONDS:
            url = f"{self.address}/.well-known/openid-configuration"
            document = await get_json(url)
            # Some issuers' names end in a slash, and settings never do.
            if not isinstance(document, dict) or str(document.get("issuer")).rstrip("/") != self.address:
                raise ProviderError(f"{url} is not the document of the issuer {self.address}")
            self._document, self._document_at = document, now
        return self._document

    async def _keys_for(self, kid: str | None) -> KeySet:
        """Return the keys: with the one of this name, or as of now. Raises ProviderError."""
        now, keys = self._clock(), self._keys
        if keys and _has(keys, kid) and now - self._keys_at < FRESH_SECONDS:
            return keys
        if now - self._in_vain_at >= PAUSE_SECONDS:
            await self._fetch_keys(kid, now)
        if self._keys and not self._problem:
            return self._keys
        if keys and _has(keys, kid) and now - self._keys_at < STALE_SECONDS:
            _log.warning("an issuer does not answer; its known keys go on", reason=self._problem)
            return keys
        raise ProviderError(self._problem)

    async def _fetch_keys(self, kid: str | None, now: float) -> None:
        try:
            key_set = await get_json(self.endpoint(await self._discovered(), "jwks_uri"))
            self._keys, self._keys_at, self._problem = _imported(key_set, self.address), now, ""
        except ProviderError as error:
            self._problem = str(error)
        if self._problem or not (self._keys and _has(self._keys, kid)):
            self._in_vain_at = now


class CiIssuers:
    """The issuers whose ID tokens are exchanged for upload tokens."""

    def __init__(self, addresses: Collection[str], clock: Callable[[], float] = time.time) -> None:
        self._issuers = {address: Issuer(address, clock) for address in addresses}
        self._clock = clock

    async def verified_claims(self, issuer: str, id_token: str) -> dict[str, Any]:
        registry = jwt.JWTClaimsRegistry(
            now=int(self._clock()),
            leeway=CLOCK_LEEWAY_SECONDS,
            iss={"essential": True, "value": issuer},
            exp={"essential": True},
        )
        try:
            token = await self._issuers[issuer].verified(id_token)
            registry.validate(token.claims)
        except BAD_TOKEN as error:
            raise ExchangeRefusedError(f"the token does not hold: {error}") from error
        return token.claims


def _imported(key_set: object, address: str) -> KeySet:
    try:
        return KeySet.import_key_set(key_set)  # type: ignore[arg-type]  # whatever the issuer says
    except BAD_TOKEN as error:
        raise ProviderError(f"the issuer {address} has keys that cannot be used: {error}") from error


def _kid_of(token: str) -> str | None:
    """Return the name of the key that a token is signed with. Raises one of BAD_TOKEN."""
    header = jws.extract_compact(token.encode()).headers()
    _SIGNATURES.get_alg(header["alg"])
    if "crit" in header:
        raise UnsupportedHeaderError("it has a critical header")
    kid = header.get("kid")
    return None if kid is None else str(kid)


def _has(keys: KeySet, kid: str | None) -> bool:
    return len(keys.keys) == 1 if kid is None else any(key.kid == kid for key in keys)
