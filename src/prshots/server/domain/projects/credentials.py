"""Helpers for upload tokens and sessions: hash their secrets, and record their last use."""

import hashlib
import secrets
from collections.abc import Awaitable, Callable

import structlog

from prshots.contract.errors import RecordsError
from prshots.server.bounded_cache import BoundedCache
from prshots.server.domain.projects.models import UploadToken

TOUCH_SECONDS = 60
"""The precision of the last use: at most one write per credential per minute, not one per request."""

CACHED_USES = 10_000

_log = structlog.get_logger()


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def new_upload_token(project_id: str, label: str, created_at: int) -> tuple[UploadToken, str]:
    """Return the record of a new token and its secret. The secret isn't stored anywhere."""
    secret = f"msr_{secrets.token_hex(32)}"
    hint = f"msr_…{secret[-4:]}"
    return UploadToken(secrets.token_hex(6), project_id, label, hint, hash_of(secret), created_at), secret


class LastUse:
    """Records when credentials of one kind were last used."""

    def __init__(self, kind: str, touch: Callable[[str, int], Awaitable[None]]) -> None:
        self._kind = kind
        self._touch = touch
        self._noted: BoundedCache[str, int] = BoundedCache(CACHED_USES)

    async def note(self, key: str, known: int, now: int, **named: str) -> None:
        """Record a use. `known` is the last use in the database. `named` holds extra fields for the log."""
        noted = self._noted.get(key)
        if now - (known if noted is None else noted) < TOUCH_SECONDS:
            return
        self._noted.put(key, now)
        try:
            await self._touch(key, now)
        except RecordsError as error:  # not worth failing the request
            if not error.count_request:
                _log.warning(f"last use of a {self._kind} not recorded", reason=str(error), **named)
