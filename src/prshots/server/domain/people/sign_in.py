"""Sign-in with a forge, an OpenID issuer or a one-time link, and the resulting sessions.

Every secret has 256 random bits. Only its hash is stored.
"""

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from prshots.contract import errors
from prshots.server.domain.audit.models import ActorKind, act_as
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.people.allow_list import AllowList, fold_case
from prshots.server.domain.people.bounded_log import BoundedLog
from prshots.server.domain.people.login_flow import LoginFlow, is_secret, is_state, new_secret
from prshots.server.domain.people.models import OPERATOR, Identity, LoginState, Session, User
from prshots.server.domain.people.organizations import MAX_ORGANIZATIONS
from prshots.server.domain.people.ports import LoginProvider, People
from prshots.server.domain.projects.credentials import LastUse, hash_of
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, MAX_NAME, Organization, Role

STATE_SECONDS = 600
SESSION_SECONDS = 30 * SECONDS_PER_DAY
IDLE_SECONDS = 7 * SECONDS_PER_DAY
MAX_GROUPS_OF_USER = 1000

_CLOCK_SKEW = 60  # between replicas
_LINK = "link"
_OPERATORS_PROVIDER, _OPERATORS_SUBJECT = OPERATOR
_OPERATOR = Identity(subject=_OPERATORS_SUBJECT, login="operator", name="Operator")
_SAME_NAMES, _SUFFIX_CHARACTERS = 1000, 20


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
        self._refusals = BoundedLog("sign-in refused")  # anyone can send forged callbacks

    async def begin(self, provider_id: str, *, return_to: str, browser_secret: str, redirect_uri: str) -> str:
        """Return the URL to send the browser to. Raises NotFoundError, SignInRefusedError."""
        provider = self._provider(provider_id)
        flow = LoginFlow.begin(provider_id, browser_secret, return_to, self._now())
        try:
            return await provider.authorization_url(
                redirect_uri=redirect_uri, state=flow.state, verifier=flow.verifier, nonce=flow.nonce
            )
        except errors.ProviderError as error:
            raise self._refuse(errors.Refusal.PROVIDER_FAILED, provider_id, str(error)) from error

    async def complete(
        self, provider_id: str, *, state: str, code: str, error: str, browser_secret: str, redirect_uri: str
    ) -> tuple[str, str]:
        """Finish a sign-in. Return the secret of a new session, and the path to redirect to.

        Raises NotFoundError, SignInRefusedError.
        """
        provider = self._provider(provider_id)
        if not is_state(state):
            raise self._refuse(errors.Refusal.EXPIRED, provider_id, "the state is unknown")
        flow = LoginFlow.resume(provider_id, browser_secret, state)
        if flow is None:
            raise self._refuse(
                errors.Refusal.OTHER_BROWSER, provider_id, "the sign-in was started in another browser"
            )
        if not -_CLOCK_SKEW <= self._now() - flow.began_at <= STATE_SECONDS:
            raise self._refuse(errors.Refusal.EXPIRED, provider_id, "the state is expired")
        if error or not code:
            refusal = errors.Refusal.DENIED if error == "access_denied" else errors.Refusal.PROVIDER_FAILED
            raise self._refuse(
                refusal, provider_id, f"the provider returned error {error[:100]!r} and no code"
            )
        identity = await self._identity(provider, code, redirect_uri, flow)
        if not self._allowed.admits(provider_id, identity):
            raise self._refuse(
                errors.Refusal.NOT_ALLOWED,
                provider_id,
                f"{identity.unique_login or identity.account!r} is on none of the PRSHOTS_ALLOWED_* lists",
                emails=sorted(identity.emails),
            )
        await self._use_up(provider_id, state)
        user = await self._user_of_identity(provider_id, identity)
        return await self._start_session(user, identity.groups), flow.return_to

    async def make_link(self) -> str:
        """Create a one-time link that signs in as the operator. Return its code."""
        code = new_secret()
        await self._people.add_login_state(LoginState(hash_of(code), _LINK, self._now()), _OPERATOR.login)
        return code

    async def redeem_link(self, code: str) -> str:
        """Use a one-time link. Return the secret of a new session. Raises SignInRefusedError."""
        link = await self._people.take_login_state(hash_of(code)) if is_secret(code) else None
        if link is None or link.provider != _LINK or self._now() - link.created_at > STATE_SECONDS:
            raise errors.SignInRefusedError(
                errors.Refusal.LINK_USED,
                f"this sign-in link has been used, or is older than {STATE_SECONDS // 60} minutes: "
                "run `prshots login-link` to get a new one",
            )
        return await self._start_session(await self._operator())

    async def user_of(self, session_secret: str) -> User:
        """Return the user of a session. Raises UnauthorizedError."""
        found = await self._people.session(hash_of(session_secret)) if is_secret(session_secret) else None
        if found is None or self._is_over(found[0]):
            raise errors.UnauthorizedError("unauthorized")
        session, user = found
        await self._last_use.note(session.sha256, session.last_seen_at, self._now(), user=session.user_id)
        return user

    async def sign_out(self, session_secret: str) -> None:
        """End a session. Ignores an unknown secret."""
        if is_secret(session_secret):
            await self._people.end_session(hash_of(session_secret))

    async def sign_out_everywhere(self, user: User) -> None:
        await self._people.end_sessions_of(user.id)

    def _refuse(
        self, refusal: errors.Refusal, provider_id: str, reason: str, **more: object
    ) -> errors.SignInRefusedError:
        about = {"provider": provider_id, "refusal": refusal.value, "reason": reason}
        self._refusals.note(provider_id, refusal.value, **about, **more)
        return errors.SignInRefusedError(refusal, reason)

    def _now(self) -> int:
        return int(self._clock())

    def _provider(self, provider_id: str) -> LoginProvider:
        if provider_id not in self.providers:
            raise errors.NotFoundError("not found")
        return self.providers[provider_id]

    async def _use_up(self, provider_id: str, state: str) -> None:
        """Store the state, so it works only once. Only people whom the provider identified get here."""
        try:
            await self._people.add_login_state(LoginState(hash_of(state), provider_id, self._now()))
        except errors.ConflictError as error:
            raise self._refuse(errors.Refusal.EXPIRED, provider_id, "the state is used") from error

    async def _identity(
        self, provider: LoginProvider, code: str, redirect_uri: str, flow: LoginFlow
    ) -> Identity:
        try:
            return await provider.identity(
                code=code, redirect_uri=redirect_uri, verifier=flow.verifier, nonce=flow.nonce
            )
        except errors.SignInRefusedError as error:
            raise self._refuse(error.refusal, provider.id, str(error)) from error
        except errors.ProviderError as error:
            raise self._refuse(errors.Refusal.PROVIDER_FAILED, provider.id, str(error)) from error

    async def _user_of_identity(self, provider_id: str, identity: Identity) -> User:
        known = await self._people.user_of_subject(provider_id, identity.subject)
        if known is None:
            return await self._add_user(provider_id, identity)
        current = replace(known, login=identity.login, name=identity.name, avatar_url=identity.avatar_url)
        if current != known:
            await self._people.update_user(current)
        return current

    async def _add_user(self, provider_id: str, identity: Identity) -> User:
        """Add a user with a personal organization, which gets the first available name."""
        user = self._new_user(provider_id, identity)
        for name in _organization_names(identity.login, provider_id):
            organization = Organization(secrets.token_hex(8), name, personal=True, created_at=user.created_at)
            try:
                await self._people.add_user(user, organization)
            except errors.ConflictError:
                # Either the name is taken, or the same person has just signed in again.
                other = await self._people.user_of_subject(provider_id, identity.subject)
                if other is not None:
                    return other
            else:
                return user
        raise errors.ConflictError(f"{_SAME_NAMES} organizations are already named after {identity.login!r}")

    async def _operator(self) -> User:
        """Return the operator, who always owns the organization of the CLI's projects."""
        user = await self._people.user_of_subject(_OPERATORS_PROVIDER, _OPERATOR.subject)
        if user is None:
            user = self._new_user(_OPERATORS_PROVIDER, _OPERATOR)
            try:
                await self._people.add_user(user, None)
            except errors.ConflictError:  # another link was redeemed at the same time
                return await self._operator()
        act_as(ActorKind.PERSON, user.id, user.login)
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

    async def _start_session(self, user: User, groups: Collection[str] | None = None) -> str:
        secret, now = new_secret(), self._now()
        act_as(ActorKind.PERSON, user.id, user.login)
        known = None if groups is None else sorted(set(map(fold_case, groups)))[:MAX_GROUPS_OF_USER]
        await self._people.add_session(Session(hash_of(secret), user.id, now, now), known, MAX_ORGANIZATIONS)
        return secret

    def _is_over(self, session: Session) -> bool:
        now = self._now()
        return now - session.created_at > SESSION_SECONDS or now - session.last_seen_at > IDLE_SECONDS


async def discard_old(people: People, now: int) -> int:
    """Remove expired login states and sessions. Return how many."""
    return await people.discard_old_logins(
        now - STATE_SECONDS, now - SESSION_SECONDS, now - IDLE_SECONDS, now
    )


def _organization_names(login: str, provider_id: str) -> Iterator[str]:
    login = login[: MAX_NAME - _SUFFIX_CHARACTERS].strip().replace("/", "-")
    yield login
    yield f"{login}-{provider_id}"
    yield from (f"{login}-{provider_id}-{number}" for number in range(2, _SAME_NAMES))
