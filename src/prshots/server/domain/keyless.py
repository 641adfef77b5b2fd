"""Keyless upload: which issuers a project trusts, and the exchange of their ID tokens for upload tokens."""

import base64
import json
import re
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from prshots.contract.errors import ExchangeRefusedError, InvalidInputError, NotFoundError
from prshots.server.domain.claims import anchor_of, anchors_of, check_claims, unmet
from prshots.server.domain.credentials import LastUse, new_upload_token
from prshots.server.domain.models import Project, Trust
from prshots.server.domain.ports import Issuers, TrustRecords

TOKEN_SECONDS = 900
MAX_TRUSTS = 50
MAX_ID_TOKEN = 16 * 1024
MAX_TEXT = 300
"""How much is taken of what a stranger says: of a project's name, of a subject, of either in the log."""

_ID_TOKEN = re.compile(r"[\w-]+\.([\w-]+)\.[\w-]*", re.ASCII)


class Trusts:
    """The trusts of projects. The operator decides which issuers may be trusted at all."""

    def __init__(
        self, records: TrustRecords, allowed: Collection[str], clock: Callable[[], float] = time.time
    ) -> None:
        self._records = records
        self._allowed = allowed
        self._clock = clock

    async def add(
        self, project: Project, issuer: str, claims: Mapping[str, str], created_by: str = ""
    ) -> Trust:
        """Raise InvalidInputError, ConflictError."""
        if issuer not in self._allowed:
            raise InvalidInputError(
                f"{issuer[:MAX_TEXT]!r} is not an issuer that projects may trust here, which are "
                f"{', '.join(self._allowed) or 'none'}: the operator adds others in PRSHOTS_TRUSTED_ISSUERS"
            )
        check_claims(claims)
        trust = Trust(secrets.token_hex(6), project.id, issuer, dict(claims), int(self._clock()), created_by)
        await self._records.add_trust(trust, anchor_of(claims), MAX_TRUSTS)
        return trust

    async def of(self, project: Project) -> list[Trust]:
        return await self._records.trusts(project.id)

    async def remove(self, trust_id: str, project: Project | None = None) -> None:
        """Remove a trust, of any project or of this one; its tokens work no more. Raises NotFoundError."""
        if not await self._records.remove_trust(trust_id, project.id if project else None):
            raise NotFoundError(f"no trust {trust_id!r}; `prshots project trusts NAME` shows them")


@dataclass(frozen=True, slots=True)
class Granted:
    project: Project
    expires_at: int
    secret: str = field(repr=False)


class Exchange:
    """Gives a job an upload token that lives for a quarter of an hour, for the ID token that its CI gave it.

    The same ID token may be exchanged again while it lives: jobs are tried again, and have several steps.
    """

    def __init__(
        self,
        records: TrustRecords,
        issuers: Issuers,
        *,
        allowed: Collection[str],
        audiences: Collection[str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._issuers = issuers
        self._allowed = frozenset(allowed)
        self._audiences = [audience.rstrip("/") for audience in audiences]
        self._clock = clock
        self._last_use = LastUse("trust", records.touch_trust)

    async def grant(self, id_token: object, project: object = None) -> Granted:
        """Exchange an ID token; `project` is a name or an id, needed where several trust the job.

        Raises ExchangeRefusedError, ProviderError, RecordsError. What need not be asked of the database or of
        the issuer is refused before: everybody can call this.
        """
        said = _said(id_token)
        try:
            return await self._grant(str(id_token), said, _project(project))
        except ExchangeRefusedError as error:
            about = (_shown(text) for text in (str(error), said.get("iss"), said.get("sub")))
            raise ExchangeRefusedError(*about) from error

    async def _grant(self, id_token: str, said: Mapping[str, Any], wanted: str | None) -> Granted:
        issuer = said.get("iss")
        if not isinstance(issuer, str) or issuer not in self._allowed:
            raise ExchangeRefusedError("the issuer is not among PRSHOTS_TRUSTED_ISSUERS")
        self._require_audience(said.get("aud"))
        if not await self._records.is_trusted(issuer):
            raise ExchangeRefusedError("no project trusts the issuer")
        claims = await self._issuers.verified_claims(issuer, id_token)
        trust, project = await self._trust_met(issuer, claims, wanted)
        now = int(self._clock())
        token, secret = new_upload_token(
            project.id,
            label=_shown(claims.get("sub")),
            created_at=now,
            expires_at=now + TOKEN_SECONDS,
            trust_id=trust.id,
        )
        if not await self._records.add_token_of_trust(token):
            raise ExchangeRefusedError("the trust has just been removed")
        await self._last_use.note(trust.id, trust.last_used_at or 0, now, trust=trust.id)
        return Granted(project, now + TOKEN_SECONDS, secret)

    def _require_audience(self, audience: object) -> None:
        given = audience if isinstance(audience, list) else [audience]
        if not any(isinstance(one, str) and one.rstrip("/") in self._audiences for one in given):
            raise ExchangeRefusedError(
                f"the token is for another audience than {' or '.join(self._audiences)}"
            )

    async def _trust_met(
        self, issuer: str, claims: Mapping[str, Any], wanted: str | None
    ) -> tuple[Trust, Project]:
        """Return the trust that lets these claims in, of the one project that is meant."""
        near = await self._records.trusts_by_anchor(issuer, anchors_of(claims), wanted)
        met = [(trust, project) for trust, project in near if unmet(trust.claims, claims) is None]
        if not near:
            where = f" in a project {wanted!r}" if wanted else ""
            raise ExchangeRefusedError(f"no trust{where} names this repository")
        if not met:
            missed = ", ".join(sorted({str(unmet(trust.claims, claims)) for trust, _ in near}))
            raise ExchangeRefusedError(f"the claims are others than the trust asks for: {missed}")
        if len({project.id for _, project in met}) > 1:
            raise ExchangeRefusedError("several projects trust this job, and it does not say which it means")
        return met[0]


def _said(id_token: object) -> dict[str, Any]:
    """Return what a token says that nobody has verified yet. Raises ExchangeRefusedError for no token."""
    if not isinstance(id_token, str) or len(id_token) > MAX_ID_TOKEN:
        raise ExchangeRefusedError(f"id_token is missing: it is a text of up to {MAX_ID_TOKEN} characters")
    found = _ID_TOKEN.fullmatch(id_token)
    if found is None:
        raise ExchangeRefusedError("id_token is no JSON Web Token")
    try:
        claims = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
    except (ValueError, RecursionError) as error:
        raise ExchangeRefusedError("id_token holds no JSON") from error
    if not isinstance(claims, dict):
        raise ExchangeRefusedError("id_token holds no claims")
    return claims


def _project(project: object) -> str | None:
    if project is None or project == "":
        return None
    if not isinstance(project, str) or len(project) > MAX_TEXT or not project.isprintable():
        raise ExchangeRefusedError("the project is not a name or an id")
    return project


def _shown(value: object) -> str:
    """Return what a token says of itself, fit for a line of the log."""
    return "".join(filter(str.isprintable, value))[:MAX_TEXT] if isinstance(value, str) else ""
