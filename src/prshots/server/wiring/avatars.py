"""The origins of users' avatars. Web allows these origins, and the API links to no others."""

from prshots.server.config.settings import Settings
from prshots.server.http.headers import origin_of


def avatar_origins(settings: Settings) -> list[str]:
    """Return the origins from which the configured login providers serve avatars."""
    github = origin_of(settings.github_url)
    origins = {
        "github": [
            "https://avatars.githubusercontent.com" if github == "https://github.com" else github,
        ],
        "gitlab": [origin_of(settings.gitlab_url), "https://secure.gravatar.com"],
        "gitea": [origin_of(settings.gitea_url)],
        "oidc": [origin_of(settings.oidc_issuer)],
    }
    return [origin for provider in settings.providers for origin in origins[provider]]
