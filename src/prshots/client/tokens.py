"""Where the upload token comes from: a setting, or an ID token of the CI's that is exchanged for one."""

from dataclasses import dataclass, field
from typing import Protocol


class TokenSource(Protocol):
    def token(self) -> str:
        """Return a token. Raises CallError, UnauthorizedError when none is to be had."""

    def renewed(self, refused: str) -> str | None:
        """Return another one, since the service has refused this one; None when there is no other."""


@dataclass(frozen=True, slots=True)
class FixedToken:
    secret: str = field(repr=False)

    def token(self) -> str:
        return self.secret

    def renewed(self, refused: str) -> str | None:
        del refused
        return None
