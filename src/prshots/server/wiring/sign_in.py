"""Builds sign-in from settings: the allow list and the login providers."""

import contextlib
from collections.abc import AsyncIterator
from functools import partial

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
    """Return the configured providers by id. Raises SettingsError for an incomplete one."""
    settings.check_providers()
    return {name: _build_provider(settings, name) for name in settings.providers}


def _build_provider(settings: Settings, name: str) -> LoginProvider:
    # The providers' code takes 13 MB, so load it only if one is configured.
    from prshots.server.adapters.identity.login_providers import GitHubProvider, OidcProvider

    client_id = getattr(settings, f"{name}_client_id")
    client_secret = getattr(settings, f"{name}_client_secret")
    if name == "github":
        return GitHubProvider(
            client_id=client_id,
            client_secret=client_secret,
            url=settings.github_url,
            api_url=github_api(settings.github_url),
            asks_for_groups=settings.sign_in_groups or bool(settings.allowed_organizations),
        )
    openid = partial(OidcProvider, provider_id=name, client_id=client_id, client_secret=client_secret)
    match name:
        case "gitlab":  # both claims have the username, but older servers only send the second one
            claims = ("preferred_username", "nickname")
            return openid(label="GitLab", issuer=settings.gitlab_url, login_claims=claims)
        case "gitea":
            scope, claim = "openid profile email groups", "preferred_username"
            return openid(label="Gitea", issuer=settings.gitea_url, scope=scope, login_claims=[claim])
        case _:
            return openid(
                label=settings.oidc_name,
                issuer=settings.oidc_issuer,
                groups_claim=settings.oidc_groups_claim,
            )
