"""Builds the web component from settings."""

from pathlib import Path

from prshots.server.config.settings import Settings
from prshots.server.web import app
from prshots.server.wiring import avatar_origins


def build_web(settings: Settings) -> app.Web:
    return app.Web(
        files=Path(app.__file__).with_name("dashboard"),
        api_url=settings.api_url,
        base_url=settings.base_url,
        web_url=settings.web_url,
        img_url=settings.img_url,
        avatar_origins=avatar_origins(settings),
        log_requests=settings.log_requests,
    )
