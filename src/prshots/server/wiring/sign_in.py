"""Builds sign-in from settings: who may sign in, and with which provider."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from prshots.contract.addresses import github_api
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.config.settings import Settings
from prshots.server.domain.people.allow_list import AllowList
from prshots.server.domain.people.ports import LoginProvider
from prshots.server.domain.people.sign_in import SignIn
from prshots.server.wiring import use_database


@contextlib.asynccontextmanager
async def open_sign_in(settings: Settings) -> AsyncIterator[SignIn]:
    async with use_database(settings) as database:
        yield build_sign_in(settings, database)


def build_sign_in(settings: Settings, database: Database) -> SignIn:
    return SignIn(SqlPeople(database), login_providers(settings), allow_list(settings))


def allow_list(settings: Settings) -> AllowList:
    return AllowList.parse(
        settings.allowed_users, settings.allowed_organizations, settings.allowed_email_domains
    )


def login_providers(settings: Settings) -> dict[str, LoginProvider]:
    """Return the configured providers by id. Raises SettingsError for a half-configured one."""
    settings.check_providers()
    return {name: _PROVIDERS[name](settings) for name in settings.providers}


# The providers' code takes 13 MB, so it is loaded only if one is configured.


def _github(settings: Settings) -> LoginProvider:
    from prshots.server.adapters.identity.login_providers import GitHubProvider

    return GitHubProvider(
        client_id=settings.github_client_id,
        client_secret=settings.github_client_secret,
        url=settings.github_url,
        api_url=github_api(settings.github_url),
        asks_for_organizations=bool(settings.allowed_organizations),
    )


def _gitlab(settings: Settings) -> LoginProvider:
    # The username, in both claims; older servers have the second one only.
    claims = ("preferred_username", "nickname")
    return _openid_connect(settings, "gitlab", "GitLab", settings.gitlab_url, login_claims=claims)


def _gitea(settings: Settings) -> LoginProvider:
    scope, claims = "openid profile email groups", ("preferred_username",)
    return _openid_connect(settings, "gitea", "Gitea", settings.gitea_url, scope=scope, login_claims=claims)


def _oidc(settings: Settings) -> LoginProvider:
    return _openid_connect(settings, "oidc", settings.oidc_name, settings.oidc_issuer)


def _openid_connect(
    settings: Settings,
    provider_id: str,
    label: str,
    issuer: str,
    *,
    scope: str = "openid profile email",
    login_claims: Sequence[str] = (),
) -> LoginProvider:
    from prshots.server.adapters.identity.login_providers import OidcProvider

    return OidcProvider(
        provider_id=provider_id,
        label=label,
        issuer=issuer,
        client_id=getattr(settings, f"{provider_id}_client_id"),
        client_secret=getattr(settings, f"{provider_id}_client_secret"),
        scope=scope,
        login_claims=login_claims,
    )


_PROVIDERS: Mapping[str, Callable[[Settings], LoginProvider]] = {
    "github": _github,
    "gitlab": _gitlab,
    "gitea": _gitea,
    "oidc": _oidc,
}
