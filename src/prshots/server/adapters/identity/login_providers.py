"""Login providers: GitHub, and everything with OpenID Connect, including GitLab, Gitea and Forgejo.

A subject includes its issuer: if the settings change to another issuer, that issuer's user 1 is a different
person.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prshots.contract.errors import ProviderError
from prshots.server.adapters.identity.issuers import BAD_TOKEN, Issuer
from prshots.server.adapters.identity.oauth import OAuthClient, get_json, host_of
from prshots.server.domain.people.models import Identity

MAX_TEXT = 200
MAX_URL = 2000
PAGE = 100
MAX_PAGES = 20


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
        login_claims: Sequence[str] = (),
        groups_claim: str = "groups",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Create a provider. `login_claims` are the claims with a login that is unique at this issuer."""
        self.id = provider_id
        self.label = label
        self._issuer = Issuer(issuer, clock)
        self._scope = scope
        self._login_claims = login_claims
        self._groups_claim = groups_claim
        self._client = OAuthClient(client_id, client_secret)

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        endpoint = self._issuer.endpoint(await self._issuer.document(), "authorization_endpoint")
        return self._client.authorization_url(
            endpoint,
            redirect_uri=redirect_uri,
            scope=self._scope,
            state=state,
            verifier=verifier,
            nonce=nonce,
        )

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        document = await self._issuer.document()
        methods = document.get("token_endpoint_auth_methods_supported")
        tokens = await self._client.exchange(
            self._issuer.endpoint(document, "token_endpoint"),
            code=code,
            redirect_uri=redirect_uri,
            verifier=verifier,
            in_header=not isinstance(methods, list) or "client_secret_basic" in methods,
        )
        claims = await self._claims(document, tokens.get("id_token"), nonce)
        if "userinfo_endpoint" not in document:
            return self._identity_of(claims, claims)
        url = self._issuer.endpoint(document, "userinfo_endpoint")
        userinfo = await get_json(url, tokens["access_token"])
        if not isinstance(userinfo, dict) or userinfo.get("sub") != claims["sub"]:
            raise ProviderError(f"{host_of(url)} returned a different user than the ID token")
        return self._identity_of(claims, userinfo)

    def _identity_of(self, claims: Mapping[str, Any], userinfo: Mapping[str, Any]) -> Identity:
        """Combine ID token and userinfo. If both have a value, the userinfo's is newer and wins.

        A person without a unique login appears under their verified address or their `sub`, because others
        could choose the same `preferred_username`. A `sub` never looks like another person's address.
        """
        known = {**claims, **{name: value for name, value in userinfo.items() if value is not None}}
        verified = [source for source in (userinfo, claims) if source.get("email_verified") is True]
        emails = list(_texts(source.get("email") for source in verified))
        unique_login = next(_texts(known.get(claim) for claim in self._login_claims), "")
        sub = str(claims["sub"])
        login = unique_login or next(_texts([*emails, f"{sub} (sub)" if "@" in sub else sub]), "user")
        return Identity(
            subject=f"{claims['iss']}#{sub}",
            login=login,
            unique_login=unique_login,
            account="" if self._login_claims else sub,
            name=_text(known.get("name")) or login,
            avatar_url=_web_address(known.get("picture")),
            groups=_groups(known.get(self._groups_claim)),
            emails=frozenset(emails),
        )

    async def _claims(self, document: dict[str, Any], id_token: object, nonce: str) -> dict[str, Any]:
        """Return the claims of an ID token that the issuer signed for us and this sign-in."""
        try:
            return await self._issuer.verify(
                str(id_token),
                iss={"essential": True, "value": document["issuer"]},
                aud={"essential": True, "value": self._client.client_id},
                azp={"value": self._client.client_id},
                sub={"essential": True},
                nonce={"essential": True, "value": nonce},
            )
        except BAD_TOKEN as error:
            raise ProviderError(f"the ID token of {self._issuer.address} is invalid: {error}") from error


class GitHubProvider:
    """GitHub or GitHub Enterprise: OAuth 2.0, and GitHub's own API instead of OpenID Connect."""

    id = "github"
    label = "GitHub"

    def __init__(
        self,
        *,
        client_id: str,
        client_secret: str,
        url: str,
        api_url: str,
        asks_for_groups: bool = False,
    ) -> None:
        self._url = url
        self._api_url = api_url
        self._asks_for_groups = asks_for_groups
        self._client = OAuthClient(client_id, client_secret)

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        del nonce  # only OpenID Connect has it
        scope = "read:user user:email" + " read:org" * self._asks_for_groups
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
        user = await get_json(f"{self._api_url}/user", token)
        if not isinstance(user, dict) or not isinstance(user.get("id"), int):
            raise ProviderError(f"{host_of(self._api_url)} did not say who signed in")
        emails = await self._list("/user/emails", token)
        login = _text(user.get("login")) or str(user["id"])
        return Identity(
            subject=f"{self._url}#{user['id']}",
            login=login,
            unique_login=login,
            name=_text(user.get("name")) or login,
            avatar_url=_web_address(user.get("avatar_url")),
            groups=await self._groups(token) if self._asks_for_groups else None,
            emails=frozenset(_texts(entry.get("email") for entry in emails if entry.get("verified") is True)),
        )

    async def _groups(self, token: str) -> frozenset[str]:
        """Return organizations, and teams as `organization/team`."""
        found = set(_texts(entry.get("login") for entry in await self._list("/user/orgs", token)))
        for team in await self._list("/user/teams", token):
            owner = team.get("organization")
            login = _text(owner.get("login")) if isinstance(owner, dict) else ""
            if login and (slug := _text(team.get("slug"))):
                found.add(f"{login}/{slug}")
        return frozenset(found)

    async def _list(self, path: str, token: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for page in range(1, MAX_PAGES + 1):
            entries = await get_json(f"{self._api_url}{path}?per_page={PAGE}&page={page}", token)
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise ProviderError(f"{host_of(self._api_url)} did not answer {path} with a list")
            found += entries
            if len(entries) < PAGE:
                break
        return found


def _groups(claim: object) -> frozenset[str] | None:
    """Return the groups in a claim, or None if it is missing or malformed: an empty list says something."""
    given = [claim] if isinstance(claim, str) else claim
    if not isinstance(given, list) or (given and not any(isinstance(name, str) and name for name in given)):
        return None
    return frozenset(_texts(given))


def _texts(values: Iterable[object]) -> Iterator[str]:
    return (text for text in map(_text, values) if text)


def _text(value: object) -> str:
    """Return the value if it is short printable text without spaces around it, else "". Never trim it."""
    text = value if isinstance(value, str) else ""
    return text if text == text.strip() and text.isprintable() and len(text) <= MAX_TEXT else ""


def _web_address(value: object) -> str:
    url = value if isinstance(value, str) and value.isprintable() and len(value) <= MAX_URL else ""
    return url if url.startswith(("https://", "http://")) else ""
