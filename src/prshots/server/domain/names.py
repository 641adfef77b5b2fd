"""The rule for names of projects and organizations."""

from prshots.contract.errors import InvalidInputError

MAX_NAME = 100


def check_name(kind: str, name: str) -> None:
    """Raise InvalidInputError for a name that cannot be displayed, or that could look like another."""
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInputError(
            f"{kind}'s name takes 1 to {MAX_NAME} printable characters, without leading or trailing spaces; "
            f"got {name!r}"
        )
