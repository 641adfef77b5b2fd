"""Where the users' avatars come from: web allows these origins, and the API links to no other."""

from prshots.server.config.settings import Settings
from prshots.server.http.headers import origin_of


def avatar_origins(settings: Settings) -> list[str]:
    """Return the origins where the configured login providers keep avatars."""
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
