"""Read a CI job's ID token as far as that is possible without verifying it."""

import base64
import json
import re

from prshots.contract.errors import ExchangeRefusedError
from prshots.server.api.fields import text_of
from prshots.server.domain.projects.keyless import IdToken

MAX_ID_TOKEN = 16 * 1024

_ID_TOKEN = re.compile(r"[\w-]+\.([\w-]+)\.[\w-]*", re.ASCII)


def read_id_token(id_token: object) -> IdToken:
    """Raise ExchangeRefusedError if it has no claims."""
    if not isinstance(id_token, str) or len(id_token) > MAX_ID_TOKEN:
        raise ExchangeRefusedError(f"id_token is missing, or longer than {MAX_ID_TOKEN} characters")
    found = _ID_TOKEN.fullmatch(id_token)
    if found is None:
        raise ExchangeRefusedError("id_token is not a JSON Web Token")
    try:
        claims = json.loads(base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)))
    except (ValueError, RecursionError) as error:
        raise ExchangeRefusedError("id_token does not contain JSON") from error
    if not isinstance(claims, dict):
        raise ExchangeRefusedError("id_token does not contain claims")
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    return IdToken(
        id_token,
        text_of(claims, "iss"),
        [audience for audience in audiences if isinstance(audience, str)],
        text_of(claims, "sub"),
    )
