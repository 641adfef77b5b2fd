"""The source of the upload token: a setting, or an exchange for the CI job's ID token."""

from dataclasses import dataclass, field
from typing import Protocol

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import UPLOAD_TOKEN
from prshots.contract.statements import message


class TokenSource(Protocol):
    def token(self) -> str:
        """Return a token. Raises CallError, UnauthorizedError if there is none."""

    def renew(self, refused: str) -> str | None:
        """Return a new token in place of a refused one; None if there is no other.

        Raises CallError, UnauthorizedError.
        """


@dataclass(frozen=True, slots=True)
class FixedToken:
    """A token from a setting. Raises InvalidInputError, without showing the token, if it is malformed."""

    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        # Secrets are often stored with a trailing newline.
        stripped = self.secret.strip()
        if not UPLOAD_TOKEN.fullmatch(stripped):
            raise InvalidInputError(message("invalid_token", count=len(stripped)))
        object.__setattr__(self, "secret", stripped)

    def token(self) -> str:
        return self.secret

    def renew(self, refused: str) -> str | None:
        del refused
        return None
