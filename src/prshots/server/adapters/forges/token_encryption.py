"""Encrypts tokens of connections and secrets of webhooks: AES-256-GCM, a key derived from a signing key.

The ciphertext is bound to its purpose: a token to the project and the API's address. Someone who can write
to the database, but has no signing key, can't send a token elsewhere.
"""

import base64
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, TypeVar

from prshots.contract.errors import KeysError, SettingsError
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.webhooks.models import WebhookSecret
from prshots.server.links import Key, KeyRing

S = TypeVar("S", Connection, WebhookSecret)
"""A record with a secret. The name of its key is empty without one."""


class SecretRecords(Protocol[S]):
    async def secrets(self) -> Sequence[S]: ...

    async def replace_secret(self, before: S, after: S) -> bool: ...


_LABEL = b"prshots connection token"
_NONCE_BYTES = 12


def encrypt(holder: S, text: str, ring: KeyRing) -> S:
    """Return the record with this secret, encrypted with the first key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key, nonce = ring.keys[0], secrets.token_bytes(_NONCE_BYTES)
    encrypted = AESGCM(_derive(key)).encrypt(nonce, text.encode(), holder.bound_to.encode())
    return replace(holder, kid=key.kid, secret=base64.b64encode(nonce + encrypted).decode())


def decrypt(holder: S, ring: KeyRing) -> str:
    """Return the secret. Raises KeysError."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if problem := missing_key(holder, ring):
        raise KeysError(problem)
    (key,) = (key for key in ring.keys if key.kid == holder.kid)
    try:
        encrypted = base64.b64decode(holder.secret)
        nonce, rest = encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:]
        return AESGCM(_derive(key)).decrypt(nonce, rest, holder.bound_to.encode()).decode()
    except (ValueError, InvalidTag) as error:
        about, remedy = _words(holder)
        raise KeysError(f"{about} cannot be decrypted: {remedy}") from error


def missing_key(holder: S, ring: KeyRing) -> str:
    """Return why the secret can't be decrypted if its key is missing, or ""."""
    if not holder.secret or holder.kid in ring:
        return ""
    about, remedy = _words(holder)
    return f"{about} is encrypted with signing key {holder.kid}, which no longer exists: {remedy}"


def _words(holder: Connection | WebhookSecret) -> tuple[str, str]:
    if isinstance(holder, Connection):
        return "the connection's token", "enter the token again"
    return "the webhook's secret", "rotate the secret"


async def encrypt_again(records: SecretRecords[S], read_ring: Callable[[], KeyRing]) -> None:
    """Encrypt secrets that have an older key with the first one. Skips those that can't be decrypted."""
    for holder in await records.secrets():
        with suppress(SettingsError):  # the doctor reports missing keys, and the dashboard a lost one
            ring = read_ring()
            if holder.kid != ring.signing_kid:
                await records.replace_secret(holder, encrypt(holder, decrypt(holder, ring), ring))


def _derive(key: Key) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(key.secret)
