"""Opens the forges of connections. Loads their code, about 10 MB, with the first one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prshots.contract.addresses import is_loopback
from prshots.contract.errors import (
    CallError,
    ForgeError,
    InvalidInputError,
    NotFoundError,
    RateLimitedError,
)
from prshots.server.adapters.deadlines import OverdueError, in_thread
from prshots.server.adapters.forges.token_encryption import decrypt, encrypt, missing_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from prshots.forges import Forge
    from prshots.server.adapters.forges.github_app import GitHubApp
    from prshots.server.domain.outbox.models import Connection
    from prshots.server.links import KeySource

CHECKS, CHECK_SECONDS = 4, 10.0
"""How many checks run at once, and how long each may take. An address may be slow on purpose."""

_NO_APP = (
    "the connection uses the operator's GitHub App, which is not set up: set PRSHOTS_GITHUB_APP_ID and "
    "PRSHOTS_GITHUB_APP_KEY_FILE"
)


class ForgeOpener:
    """Opens forges with the project's token, or as the operator's GitHub App.

    Servers on a private network must be among `allowed_hosts`.
    """

    def __init__(
        self, keys: KeySource, app: GitHubApp | None = None, allowed_hosts: Collection[str] = ()
    ) -> None:
        self._keys, self._app, self._allowed_hosts = keys, app, allowed_hosts
        self._threads = ThreadPoolExecutor(CHECKS, thread_name_prefix="forge-check")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def open(self, connection: Connection, seconds: float) -> Iterator[Forge]:
        """Open the connection's repository for this long. Blocks, so call this in a thread.

        Raises KeysError, ForgeError, UnreachableError, RateLimitedError.
        """
        from prshots.forges import FORGES
        from prshots.forges.deadline import closing_at_deadline, deadline_after
        from prshots.server.adapters.forges.public_addresses import transport_to

        with deadline_after(seconds):
            if connection.uses_app:
                token = self._app_token(connection)
            else:
                token = decrypt(connection, self._keys.ring())
            forge = FORGES[connection.forge](
                api_url=connection.api_url,
                repository=connection.repository,
                token=token,
                transport=transport_to(connection.api_url, self._allowed_hosts),
            )
            with closing_at_deadline(forge):
                yield forge

    def problem(self, connection: Connection) -> str:
        if connection.uses_app:
            return "" if self._app else _NO_APP
        return missing_key(connection, self._keys.ring())

    async def connect(self, connection: Connection, url: str, token: str) -> Connection:
        from prshots.forges.forge_addresses import api_root

        api_url = api_root(connection.forge, url)
        if not api_url:
            raise InvalidInputError("url is required: enter the web address of the forge")
        parts = urlsplit(api_url)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise InvalidInputError(f"url uses http, which exposes the token: use https://{parts.netloc}")
        connection = replace(connection, api_url=api_url)
        if token:
            connection = encrypt(connection, token, self._keys.ring())
        try:
            await self.check(connection)
        except (CallError, NotFoundError, RateLimitedError) as error:
            raise InvalidInputError(str(error)) from error
        return connection

    async def check(self, connection: Connection) -> None:
        """Raise the errors of `open`, or NotFoundError, if the token can't read the repository."""
        try:
            await in_thread(self._threads, lambda: self._ask(connection), CHECK_SECONDS + 1)
        except OverdueError as error:
            why = "does not answer" if error.has_begun else "was not checked, because other checks are slow"
            raise ForgeError(f"{connection.api_url} {why}: try again later") from error

    def _ask(self, connection: Connection) -> None:
        with self.open(connection, CHECK_SECONDS) as forge:
            forge.check()

    def _app_token(self, connection: Connection) -> str:
        if self._app is None:
            raise ForgeError(_NO_APP)
        if self._app.api_url != connection.api_url:
            raise ForgeError(
                f"the connection uses the GitHub App at {connection.api_url}, but the operator's is at "
                f"{self._app.api_url}: connect the project again"
            )
        return self._app.token(connection.repository)
