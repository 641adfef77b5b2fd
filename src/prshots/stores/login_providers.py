"""Login providers: GitHub, and whatever speaks OpenID Connect, which GitLab, Gitea and Forgejo do.

A subject names its issuer too: where the settings move on to another one, its user 1 is somebody else.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from prshots.errors import ProviderError
from prshots.models import Identity
from prshots.stores.oauth import OAuthClient, host_of

DISCOVERY_SECONDS = 600
CLOCK_LEEWAY_SECONDS = 60
MAX_TEXT = 200
MAX_URL = 2000
PAGE = 100
MAX_PAGES = 20

# Only signatures that nobody but the issuer can make: a client secret may be known to more.
_SIGNATURES = JWSRegistry(
    algorithms=[
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
        *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
    ],
    strict_check_header=False,  # some issuers add headers of their own
)


class OidcProvider:
    """An OpenID issuer, found by discovery."""

    def __init__(
        self,
        *,
        provider_id: str,
        label: str,
        issuer: str,
        client_id: str,
        client_secret: str,
        scope: str = "openid profile email",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.id = provider_id
        self.label = label
        self._issuer = issuer.rstrip("/")
        self._scope = scope
        self._client = OAuthClient(client_id, client_secret)
        self._clock = clock
        self._discovered: tuple[float, dict[str, Any]] | None = None
        self._keys: KeySet | None = None

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        endpoint = self._endpoint(await self._discover(), "authorization_endpoint")
        return self._client.authorization_url(
            endpoint,
            redirect_uri=redirect_uri,
            scope=self._scope,
            state=state,
            verifier=verifier,
            nonce=nonce,
        )

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        document = await self._discover()
        methods = document.get("token_endpoint_auth_methods_supported")
        tokens = await self._client.exchange(
            self._endpoint(document, "token_endpoint"),
            code=code,
            redirect_uri=redirect_uri,
            verifier=verifier,
            in_header=not isinstance(methods, list) or "client_secret_basic" in methods,
        )
        claims = await self._claims(document, tokens.get("id_token"), nonce)
        if "userinfo_endpoint" not in document:
            return _identity_of(claims, claims)
        url = self._endpoint(document, "userinfo_endpoint")
        userinfo = await self._client.get(url, tokens["access_token"])
        if not isinstance(userinfo, dict) or userinfo.get("sub") != claims["sub"]:
            raise ProviderError(f"{host_of(url)} speaks of somebody else than the ID token does")
        return _identity_of(claims, userinfo)

    async def _discover(self) -> dict[str, Any]:
        now = self._clock()
        if self._discovered and now - self._discovered[0] < DISCOVERY_SECONDS:
            return self._discovered[1]
        url = f"{self._issuer}/.well-known/openid-configuration"
        document = await self._client.get(url)
        # Some issuers' names end in a slash, and settings never do.
        if not isinstance(document, dict) or str(document.get("issuer")).rstrip("/") != self._issuer:
            raise ProviderError(f"{url} is not the document of the issuer {self._issuer}")
        self._discovered, self._keys = (now, document), None
        return document

    def _endpoint(self, document: dict[str, Any], name: str) -> str:
        url = document.get(name)
        schemes = ("https://",) if self._issuer.startswith("https://") else ("https://", "http://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise ProviderError(f"the issuer {self._issuer} has no {name} that can be used")
        return url

    async def _claims(self, document: dict[str, Any], id_token: object, nonce: str) -> dict[str, Any]:
        """Return what the ID token says, if the issuer has signed it, for us, for this very sign-in."""
        registry = jwt.JWTClaimsRegistry(
            now=int(self._clock()),
            leeway=CLOCK_LEEWAY_SECONDS,
            iss={"essential": True, "value": document["issuer"]},
            aud={"essential": True, "value": self._client.client_id},
            azp={"value": self._client.client_id},
            exp={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            token = await self._verified(document, str(id_token))
            registry.validate(token.claims)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise ProviderError(f"the ID token of {self._issuer} does not hold: {error}") from error
        return token.claims

    async def _verified(self, document: dict[str, Any], id_token: str) -> jwt.Token:
        if self._keys is not None:
            try:
                return jwt.decode(id_token, self._keys, registry=_SIGNATURES)
            except InvalidKeyIdError:  # signed with a key that is newer than what we know
                pass
        key_set = await self._client.get(self._endpoint(document, "jwks_uri"))
        self._keys = KeySet.import_key_set(key_set)
        return jwt.decode(id_token, self._keys, registry=_SIGNATURES)


class GitHubProvider:
    """GitHub, or a GitHub Enterprise by its addresses. It speaks OAuth 2.0 and an API of its own."""

    def __init__(
        self,
        *,
        client_id: str,
        client_secret: str,
        url: str = "https://github.com",
        api_url: str = "https://api.github.com",
        asks_for_organizations: bool = False,
        provider_id: str = "github",
        label: str = "GitHub",
    ) -> None:
        self.id = provider_id
        self.label = label
        self._url = url
        self._api_url = api_url
        self._asks_for_organizations = asks_for_organizations
        self._client = OAuthClient(client_id, client_secret)

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        del nonce  # OpenID's alone
        scope = "read:user user:email" + " read:org" * self._asks_for_organizations
        return self._client.authorization_url(
            f"{self._url}/login/oauth/authorize",
            redirect_uri=redirect_uri,
            scope=scope,
            state=state,
            verifier=verifier,
        )

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        del nonce
        tokens = await self._client.exchange(
            f"{self._url}/login/oauth/access_token",
            code=code,
            redirect_uri=redirect_uri,
            verifier=verifier,
            in_header=False,
        )
        token = tokens["access_token"]
        user = await self._client.get(f"{self._api_url}/user", token)
        if not isinstance(user, dict) or not isinstance(user.get("id"), int):
            raise ProviderError(f"{host_of(self._api_url)} does not say who it is")
        emails = await self._list("/user/emails", token)
        organizations = await self._list("/user/orgs", token) if self._asks_for_organizations else []
        login = _text(user.get("login")) or str(user["id"])
        return Identity(
            subject=f"{self._url}#{user['id']}",
            login=login,
            name=_text(user.get("name")) or login,
            avatar_url=_picture(user.get("avatar_url")),
            organizations=frozenset(_texts(entry.get("login") for entry in organizations)),
            emails=frozenset(_texts(entry.get("email") for entry in emails if entry.get("verified") is True)),
        )

    async def _list(self, path: str, token: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in range(1, MAX_PAGES + 1):
            some = await self._client.get(f"{self._api_url}{path}?per_page={PAGE}&page={page}", token)
            if not isinstance(some, list) or not all(isinstance(entry, dict) for entry in some):
                raise ProviderError(
                    f"{host_of(self._api_url)} answers {path} with something else than a list"
                )
            found += some
            if len(some) < PAGE:
                break
        return found


def _identity_of(claims: Mapping[str, Any], userinfo: Mapping[str, Any]) -> Identity:
    """Put together what the ID token and the userinfo say; of the same thing, the userinfo is the newer."""
    known = {**claims, **userinfo}
    verified = [source for source in (userinfo, claims) if source.get("email_verified") in (True, "true")]
    emails = list(_texts(source.get("email") for source in verified))
    names = [
        known.get("preferred_username"),
        known.get("nickname"),
        *(mail.partition("@")[0] for mail in emails),
    ]
    login = next(_texts([*names, claims["sub"]]), "user")
    groups = known.get("groups")
    return Identity(
        subject=f"{claims['iss']}#{claims['sub']}",
        login=login,
        name=_text(known.get("name")) or login,
        avatar_url=_picture(known.get("picture")),
        organizations=frozenset(_texts(groups if isinstance(groups, list) else [groups])),
        emails=frozenset(emails),
    )


def _texts(values: Iterable[object]) -> Iterator[str]:
    return (text for text in map(_text, values) if text)


def _text(value: object) -> str:
    """Return a name that is fit to be shown and kept; "" for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    return text if text.isprintable() and len(text) <= MAX_TEXT else ""


def _picture(value: object) -> str:
    url = value if isinstance(value, str) and value.isprintable() and len(value) <= MAX_URL else ""
    return url if url.startswith(("https://", "http://")) else ""
