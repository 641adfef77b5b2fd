"""The API without its services, for tests of its routes. No request may reach a service."""

from dataclasses import fields
from typing import Any, cast

from prshots.server.api.app import create_api
from prshots.server.api.services import PublicServices
from prshots.server.http.error_boundary import ErrorBoundary
from prshots.server.http.readiness import Readiness

NOTHING: Any = cast("Any", None)


def bare_api() -> ErrorBoundary:
    return create_api(
        services=PublicServices(*[NOTHING] * len(fields(PublicServices))),
        max_image_bytes=1,
        uploads_per_minute=1,
        base_url="",
        web_url="",
        for_people=[],
        readiness=Readiness({}),
        start=NOTHING,
        close=NOTHING,
        trusted_proxies=[],
    )
