"""What upload tokens and sessions have in common: only a hash is kept, and their last use is noted."""

import hashlib
from collections.abc import Awaitable, Callable

import structlog

from prshots.errors import RecordsError

TOUCH_SECONDS = 60
"""How exact a last use is: a write per credential and minute, not per request."""

REMEMBERED = 10_000

_log = structlog.get_logger()


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class LastUse:
    """Notes when credentials of one kind were last used."""

    def __init__(self, kind: str, touch: Callable[[str, int], Awaitable[None]]) -> None:
        self._kind = kind
        self._touch = touch
        self._noted: dict[str, int] = {}

    async def note(self, key: str, known: int, now: int, **named: str) -> None:
        """Note a use; `known` is when the records say the last one was, `named` what the log says of it."""
        if now - self._noted.get(key, known) < TOUCH_SECONDS:
            return
        if len(self._noted) >= REMEMBERED:  # the records remember them too
            self._noted.clear()
        self._noted[key] = now
        try:
            await self._touch(key, now)
        except RecordsError as error:  # not worth refusing the request
            _log.warning(f"last use of a {self._kind} not noted", reason=str(error), **named)
