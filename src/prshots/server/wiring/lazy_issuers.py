"""The issuers of CI jobs' ID tokens, loaded when the first job asks."""

import asyncio
from collections.abc import Collection
from typing import Any

from prshots.contract.errors import ProviderError
from prshots.server.domain.projects.ports import Issuers
from prshots.server.observability.outages import Outage


class LazyIssuers:
    """The issuers of CI jobs' ID tokens. Their code takes 13 MB, so it is loaded with the first token."""

    def __init__(self, addresses: Collection[str]) -> None:
        self._addresses = addresses
        self._issuers: Issuers | None = None
        self._outages: dict[str, Outage] = {}

    async def verify(self, issuer: str, id_token: str) -> dict[str, Any]:
        if self._issuers is None:
            loaded = await asyncio.to_thread(self._load)  # in a thread, so that other requests continue
            self._issuers = self._issuers or loaded
        outage = self._outages.setdefault(
            issuer, Outage(f"issuer {issuer} unavailable", f"issuer {issuer} is back")
        )
        try:
            claims = await self._issuers.verify(issuer, id_token)
        except ProviderError as error:
            outage.note("verify", error)
            raise
        outage.note_success("verify")
        return claims

    def _load(self) -> Issuers:
        from prshots.server.adapters.identity.issuers import CiIssuers

        return CiIssuers(self._addresses)
