"""Sign-in with a forge, an OpenID issuer or a one-time link, and the sessions it starts.

Every secret has 256 random bits. Only its hash is stored.
"""

import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import structlog

from prshots.contract.errors import (
    ConflictError,
    NotFoundError,
    ProviderError,
    Refusal,
    SignInRefusedError,
    UnauthorizedError,
)
from prshots.server.domain.allow_list import AllowList
from prshots.server.domain.credentials import LastUse, hash_of
from prshots.server.domain.models import (
    LOCAL_ORGANIZATION,
    SECONDS_PER_DAY,
    Identity,
    LoginState,
    Organization,
    Role,
    Session,
    User,
)
from prshots.server.domain.names import MAX_NAME
from prshots.server.domain.ports import LoginProvider, People

STATE_SECONDS = 600
SESSION_SECONDS = 30 * SECONDS_PER_DAY
IDLE_SECONDS = 7 * SECONDS_PER_DAY
MAX_RETURN_TO = 500

_LINK = "link"
_OPERATOR = Identity(subject="operator", login="operator", name="Operator")
_OPERATORS_PROVIDER = "local"
_SAME_NAMES, _SUFFIX_CHARACTERS = 1000, 20
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_log = structlog.get_logger()


class SignIn:
    def __init__(
        self,
        people: People,
        providers: Mapping[str, LoginProvider],
        allowed: AllowList,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.providers = providers
        self._people = people
        self._allowed = allowed
        self._clock = clock
        self._last_use = LastUse("session", people.touch_session)

    async def begin(self, provider_id: str, *, return_to: str, browser_secret: str, redirect_uri: str) -> str:
        """Return the URL to send the browser to. Raises NotFoundError, SignInRefusedError."""
        provider = self._provider(provider_id)
        state, verifier, nonce = new_secret(), new_secret(), new_secret()
        try:
            url = await provider.authorization_url(
                redirect_uri=redirect_uri, state=state, verifier=verifier, nonce=nonce
            )
        except ProviderError as error:
            raise _refused(Refusal.PROVIDER_FAILED, provider_id, str(error)) from error
        await self._people.add_login_state(
            LoginState(
                sha256=hash_of(state),
                provider=provider_id,
                verifier=verifier,
                nonce=nonce,
                browser_sha256=hash_of(browser_secret),
                return_to=own_path(return_to),
                created_at=self._now(),
            )
        )
        return url

    async def complete(
        self, provider_id: str, *, state: str, code: str, error: str, browser_secret: str, redirect_uri: str
    ) -> tuple[str, str]:
        """Return the secret of a new session, and the path to continue at.

        Raises NotFoundError, SignInRefusedError.
        """
        provider = self._provider(provider_id)
        begun = await self._take(state, provider_id)
        if begun is None:
            raise _refused(Refusal.EXPIRED, provider_id, "the state is unknown, used or expired")
        if not hmac.compare_digest(begun.browser_sha256, hash_of(browser_secret)):
            raise _refused(Refusal.OTHER_BROWSER, provider_id, "the sign-in was started in another browser")
        if error or not code:
            refusal = Refusal.DENIED if error == "access_denied" else Refusal.PROVIDER_FAILED
            raise _refused(refusal, provider_id, f"the provider returned error {error[:100]!r} and no code")
        identity = await self._identity(provider, code, redirect_uri, begun)
        if not self._allowed.admits(provider_id, identity):
            raise _refused(
                Refusal.NOT_ALLOWED,
                provider_id,
                f"{identity.unique_login or identity.account!r} is on none of the PRSHOTS_ALLOWED_* lists",
                emails=sorted(identity.emails),
            )
        user = await self._user_of_identity(provider_id, identity)
        return await self._start_session(user), begun.return_to

    async def make_link(self) -> str:
        """Return the code of a one-time link that signs in as the operator."""
        code = new_secret()
        await self._people.add_login_state(
            LoginState(
                sha256=hash_of(code),
                provider=_LINK,
                verifier="",
                nonce="",
                browser_sha256="",
                return_to="/",
                created_at=self._now(),
            )
        )
        return code

    async def redeem_link(self, code: str) -> str:
        """Return the secret of a new session. Raises SignInRefusedError."""
        if await self._take(code, _LINK) is None:
            raise SignInRefusedError(
                Refusal.LINK_USED,
                f"this sign-in link has been used, or is older than {STATE_SECONDS // 60} minutes: "
                "run `prshots login-link` to get a new one",
            )
        return await self._start_session(await self._operator())

    async def user_of(self, session_secret: str) -> User:
        """Return the user of a session. Raises UnauthorizedError."""
        found = await self._people.session(hash_of(session_secret)) if is_secret(session_secret) else None
        if found is None or self._is_over(found[0]):
            raise UnauthorizedError("unauthorized")
        session, user = found
        await self._last_use.note(session.sha256, session.last_seen_at, self._now(), user=session.user_id)
        return user

    async def sign_out(self, session_secret: str) -> None:
        """End a session. An unknown secret is ignored."""
        if is_secret(session_secret):
            await self._people.end_session(hash_of(session_secret))

    async def sign_out_everywhere(self, user: User) -> None:
        await self._people.end_sessions_of(user.id)

    def _now(self) -> int:
        return int(self._clock())

    def _provider(self, provider_id: str) -> LoginProvider:
        if provider_id not in self.providers:
            raise NotFoundError("not found")
        return self.providers[provider_id]

    async def _take(self, secret: str, provider_id: str) -> LoginState | None:
        """Remove the login state of this secret. Return it if it is valid for this provider."""
        if not is_secret(secret):
            return None
        begun = await self._people.take_login_state(hash_of(secret))
        if begun is None or begun.provider != provider_id or self._now() - begun.created_at > STATE_SECONDS:
            return None
        return begun

    async def _identity(
        self, provider: LoginProvider, code: str, redirect_uri: str, begun: LoginState
    ) -> Identity:
        try:
            return await provider.identity(
                code=code, redirect_uri=redirect_uri, verifier=begun.verifier, nonce=begun.nonce
            )
        except SignInRefusedError as error:
            raise _refused(error.refusal, provider.id, str(error)) from error
        except ProviderError as error:
            raise _refused(Refusal.PROVIDER_FAILED, provider.id, str(error)) from error

    async def _user_of_identity(self, provider_id: str, identity: Identity) -> User:
        known = await self._people.user_of_subject(provider_id, identity.subject)
        if known is None:
            return await self._add_user(provider_id, identity)
        current = replace(known, login=identity.login, name=identity.name, avatar_url=identity.avatar_url)
        if current != known:
            await self._people.update_user(current)
        return current

    async def _add_user(self, provider_id: str, identity: Identity) -> User:
        """Add a user with a personal organization, under the first name that is free."""
        user = self._new_user(provider_id, identity)
        for name in _organization_names(identity.login, provider_id):
            organization = Organization(secrets.token_hex(8), name, personal=True, created_at=user.created_at)
            try:
                await self._people.add_user(user, organization)
            except ConflictError:
                # Either the name is taken, or the same person has just signed in a second time.
                other = await self._people.user_of_subject(provider_id, identity.subject)
                if other is not None:
                    return other
            else:
                return user
        raise ConflictError(f"{_SAME_NAMES} organizations are already named after {identity.login!r}")

    async def _operator(self) -> User:
        """Return the operator, who always owns the organization of the CLI's projects."""
        user = await self._people.user_of_subject(_OPERATORS_PROVIDER, _OPERATOR.subject)
        if user is None:
            user = self._new_user(_OPERATORS_PROVIDER, _OPERATOR)
            try:
                await self._people.add_user(user, None)
            except ConflictError:  # another link was redeemed at the same time
                return await self._operator()
        await self._people.set_member(LOCAL_ORGANIZATION, user.id, Role.OWNER)
        return user

    def _new_user(self, provider_id: str, identity: Identity) -> User:
        return User(
            id=secrets.token_hex(8),
            provider=provider_id,
            subject=identity.subject,
            login=identity.login,
            name=identity.name,
            avatar_url=identity.avatar_url,
            created_at=self._now(),
        )

    async def _start_session(self, user: User) -> str:
        secret, now = new_secret(), self._now()
        await self._people.add_session(Session(hash_of(secret), user.id, now, now))
        return secret

    def _is_over(self, session: Session) -> bool:
        now = self._now()
        return now - session.created_at > SESSION_SECONDS or now - session.last_seen_at > IDLE_SECONDS


async def discard_old(people: People, now: int) -> int:
    """Remove expired login states and sessions. Return how many."""
    return await people.discard_old_logins(now - STATE_SECONDS, now - SESSION_SECONDS, now - IDLE_SECONDS)


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def is_secret(text: str) -> bool:
    """Return whether the text has the form of one of our secrets."""
    return _SECRET.fullmatch(text) is not None


def own_path(text: str) -> str:
    """Return a path on our own site unchanged, and `/` for anything that could lead to another site."""
    ours = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if ours and len(text) <= MAX_RETURN_TO else "/"


def _refused(refusal: Refusal, provider_id: str, reason: str, **more: object) -> SignInRefusedError:
    _log.warning("sign-in refused", provider=provider_id, refusal=refusal.value, reason=reason, **more)
    return SignInRefusedError(refusal, reason)


def _organization_names(login: str, provider_id: str) -> Iterator[str]:
    login = login[: MAX_NAME - _SUFFIX_CHARACTERS].strip().replace("/", "-")
    yield login
    yield f"{login}-{provider_id}"
    yield from (f"{login}-{provider_id}-{number}" for number in range(2, _SAME_NAMES))
