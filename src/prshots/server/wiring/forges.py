"""Builds the access to the forges of connections from settings."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prshots.contract.addresses import github_api
from prshots.contract.errors import SettingsError
from prshots.server.adapters.forges.forge_opener import ForgeOpener
from prshots.server.config.values import split_by_commas

if TYPE_CHECKING:
    from prshots.server.adapters.forges.github_app import GitHubApp
    from prshots.server.config.settings import Settings
    from prshots.server.links import KeySource


def github_app(settings: Settings) -> GitHubApp | None:
    """Return the operator's GitHub App, or None without one. Raises SettingsError."""
    app_id, key = settings.github_app_id, settings.github_app_key
    if not app_id and not key:
        return None
    if not app_id or not key:
        missing = "KEY_FILE" if app_id else "ID"
        raise SettingsError(f"PRSHOTS_GITHUB_APP_{missing}: got nothing; a GitHub App needs an id and a key")
    from prshots.server.adapters.forges.github_app import GitHubApp  # loads 12 MB

    return GitHubApp(app_id, key, github_api(settings.github_url))


def open_forges(settings: Settings, keys: KeySource) -> ForgeOpener:
    """Return the access to forges. Those where people sign in may be on a private network."""
    of_providers = (github_api(settings.github_url), settings.gitlab_url, settings.gitea_url)
    hosts = {urlsplit(url.lower()).netloc for url in of_providers if url}
    return ForgeOpener(keys, github_app(settings), hosts | set(split_by_commas(settings.forge_hosts)))
