"""Encrypts the tokens of connections: AES-256-GCM, with a key derived from a signing key.

The ciphertext is bound to the project and to the API's address. Someone who can write to the database, but
has no signing key, can't send a token elsewhere.
"""

import base64
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from prshots.contract.errors import KeysError, SettingsError
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.outbox.ports import ConnectionRecords
from prshots.server.links import Key, KeyRing

_LABEL = b"prshots connection token"
_NONCE_BYTES = 12


def encrypt(connection: Connection, token: str, ring: KeyRing) -> Connection:
    """Return the connection with this token, encrypted with the first key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key, nonce = ring.keys[0], secrets.token_bytes(_NONCE_BYTES)
    encrypted = AESGCM(_derive(key)).encrypt(nonce, token.encode(), _bound_to(connection))
    return replace(connection, kid=key.kid, secret=base64.b64encode(nonce + encrypted).decode())


def decrypt(connection: Connection, ring: KeyRing) -> str:
    """Return the token. Raises KeysError."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    if problem := missing_key(connection, ring):
        raise KeysError(problem)
    (key,) = (key for key in ring.keys if key.kid == connection.kid)
    try:
        encrypted = base64.b64decode(connection.secret)
        nonce, rest = encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:]
        return AESGCM(_derive(key)).decrypt(nonce, rest, _bound_to(connection)).decode()
    except (ValueError, InvalidTag) as error:
        raise KeysError("the connection's token cannot be decrypted: enter the token again") from error


def missing_key(connection: Connection, ring: KeyRing) -> str:
    """Return why the token can't be decrypted if its key is missing, or ""."""
    if connection.uses_app or connection.kid in ring:
        return ""
    return (
        f"the connection's token is encrypted with signing key {connection.kid}, which no longer exists: "
        "enter the token again"
    )


async def encrypt_again(records: ConnectionRecords, read_ring: Callable[[], KeyRing]) -> None:
    """Encrypt tokens that have an older key with the first one. Skips those that can't be decrypted."""
    for connection in await records.connections():
        if not connection.uses_app:
            with suppress(SettingsError):  # the doctor reports missing keys, and the dashboard a lost one
                ring = read_ring()
                if connection.kid != ring.signing_kid:
                    again = encrypt(connection, decrypt(connection, ring), ring)
                    await records.replace_secret(connection, again)


def _derive(key: Key) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), 32, salt=None, info=_LABEL).derive(key.secret)


def _bound_to(connection: Connection) -> bytes:
    return f"{connection.project_id}\0{connection.api_url}".encode()
