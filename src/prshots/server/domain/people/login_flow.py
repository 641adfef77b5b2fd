"""A sign-in on its way to the login provider and back. Only the browser keeps its state.

Anyone can start a sign-in, so the server stores nothing for it. The secrets of a sign-in are derived from the
secret in the browser's cookie and from the `state`, which carries the time and the page to return to. Only
the browser with that cookie can have produced a valid state, so a forged callback is refused.
"""

import base64
import hmac
import re
import secrets
from typing import NamedTuple, Self

MAX_RETURN_TO = 500

_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
_STATE = re.compile(r"([\w-]{43}\.([0-9]{1,12})\.([\w-]*))\.[\w-]{43}", re.ASCII)


class LoginFlow(NamedTuple):
    """The `state`, `verifier` and `nonce` of OAuth, and the page to return to."""

    state: str
    verifier: str
    nonce: str
    return_to: str
    began_at: int

    @classmethod
    def begin(cls, provider_id: str, browser_secret: str, return_to: str, now: int) -> Self:
        beginning = f"{new_secret()}.{now}.{_as_text(own_path(return_to).encode())}"
        return cls._derive(provider_id, browser_secret, beginning, now, return_to)

    @classmethod
    def resume(cls, provider_id: str, browser_secret: str, state: str) -> Self | None:
        """Return the flow for this state, or None if this browser didn't start it with this provider."""
        found = _STATE.fullmatch(state)
        if found is None or not is_secret(browser_secret):
            return None
        beginning, began_at, page = found.groups()
        flow = cls._derive(provider_id, browser_secret, beginning, int(began_at), _from_text(page))
        return flow if hmac.compare_digest(flow.state, state) else None

    @classmethod
    def _derive(
        cls, provider_id: str, browser_secret: str, beginning: str, began_at: int, return_to: str
    ) -> Self:
        def derive(purpose: str) -> str:
            message = f"{purpose}:{provider_id}:{beginning}".encode()
            return _as_text(hmac.digest(browser_secret.encode(), message, "sha256"))

        state = f"{beginning}.{derive('state')}"
        return cls(state, derive("verifier"), derive("nonce"), own_path(return_to), began_at)


def is_state(text: str) -> bool:
    """Return whether the text has the form of a state."""
    return _STATE.fullmatch(text) is not None


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def is_secret(text: str) -> bool:
    """Return whether the text has the form of a prshots secret."""
    return _SECRET.fullmatch(text) is not None


def own_path(text: str) -> str:
    """Return the text if it is a path on this site, or `/` if it could lead to another site."""
    ours = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if ours and len(text.encode()) <= MAX_RETURN_TO else "/"


def _as_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _from_text(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except ValueError:
        return ""
