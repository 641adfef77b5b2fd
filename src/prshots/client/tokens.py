"""Where the upload token comes from: a setting, or an ID token of the CI's that is exchanged for one."""

from dataclasses import dataclass, field
from typing import Protocol

from prshots.contract.errors import InvalidInputError
from prshots.contract.limits import UPLOAD_TOKEN


class TokenSource(Protocol):
    def token(self) -> str:
        """Return a token. Raises CallError, UnauthorizedError when none is to be had."""

    def renewed(self, refused: str) -> str | None:
        """Return another one, since the service has refused this one; None when there is no other.

        Raises CallError, UnauthorizedError as `token` does.
        """


@dataclass(frozen=True, slots=True)
class FixedToken:
    """A token that was given. Raises InvalidInputError, without showing it, when it is none."""

    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        # A secret is often stored with the line break of the file it came from.
        stripped = self.secret.strip()
        if not UPLOAD_TOKEN.fullmatch(stripped):
            raise InvalidInputError(
                "what was given as token (--token, PRSHOTS_TOKEN) is no upload token: those are msr_ and 64 "
                f"hexadecimal characters, this has {len(stripped)} characters in all"
            )
        object.__setattr__(self, "secret", stripped)

    def token(self) -> str:
        return self.secret

    def renewed(self, refused: str) -> str | None:
        del refused
        return None
