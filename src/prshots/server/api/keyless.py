"""Keyless upload: exchanges a CI job's ID token for a short-lived upload token."""

import base64
import json
import re

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract import errors
from prshots.contract.replies import GrantedToken
from prshots.server.api.fields import text_of
from prshots.server.api.request_body import STRANGER_SECONDS, BodySlots, json_object
from prshots.server.domain.people.bounded_log import BoundedLog
from prshots.server.domain.projects.keyless import IdToken, TokenExchange
from prshots.server.http.json_response import JSONResponse
from prshots.server.observability import metrics

MAX_ID_TOKEN = 16 * 1024

_ID_TOKEN = re.compile(r"[\w-]+\.([\w-]+)\.[\w-]*", re.ASCII)
# Refusals of the same kind differ only after the first match.
_DETAILS = re.compile(r":| '| [0-9a-f]{12} ")


def keyless_routes(exchange: TokenExchange, slots: BodySlots) -> list[Route]:
    refusals = BoundedLog("keyless upload refused")

    async def token(request: Request) -> JSONResponse:
        try:
            granted = await grant(request)
        except errors.ExchangeRefusedError as refused:
            metrics.EXCHANGES.labels("refused").inc()
            refusals.note(
                refused.issuer if exchange.allows(refused.issuer) else "",
                _DETAILS.split(str(refused))[0],
                reason=str(refused),
                issuer=refused.issuer,
                subject=refused.subject,
            )
            if isinstance(refused, errors.ProjectUnclearError):
                raise errors.InvalidInputError(str(refused)) from refused
            # All other refusals look the same, so an attacker learns nothing from them.
            raise errors.UnauthorizedError("unauthorized") from refused
        except (errors.BusyError, errors.ProviderError, errors.RecordsError):
            metrics.EXCHANGES.labels("unavailable").inc()
            raise
        metrics.EXCHANGES.labels("granted").inc()
        return JSONResponse(granted, headers={"Cache-Control": "no-store"})

    async def grant(request: Request) -> GrantedToken:
        async with slots.json.reserve(None, request):
            try:
                body = await json_object(request, seconds=STRANGER_SECONDS)
            except errors.InvalidInputError as error:
                raise errors.ExchangeRefusedError(str(error)) from error
            return await exchange.grant(read_id_token(body.get("id_token")), text_of(body, "project"))

    return [Route("/v1/oidc/token", token, methods=["POST"])]


def read_id_token(id_token: object) -> IdToken:
    """Read a CI job's ID token without verifying it. Raises ExchangeRefusedError if it has no claims."""
    if not isinstance(id_token, str) or len(id_token) > MAX_ID_TOKEN:
        raise errors.ExchangeRefusedError(f"id_token is missing, or longer than {MAX_ID_TOKEN} characters")
    found = _ID_TOKEN.fullmatch(id_token)
    if found is None:
        raise errors.ExchangeRefusedError("id_token is not a JSON Web Token")
    try:
        claims = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
    except (ValueError, RecursionError) as error:
        raise errors.ExchangeRefusedError("id_token does not contain JSON") from error
    if not isinstance(claims, dict):
        raise errors.ExchangeRefusedError("id_token does not contain claims")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    return IdToken(
        id_token,
        text_of(claims, "iss"),
        [audience for audience in audiences if isinstance(audience, str)],
        text_of(claims, "sub"),
    )
