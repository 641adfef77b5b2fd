"""What people may call the things they make."""

from prshots.contract.errors import InvalidInputError

MAX_NAME = 100


def check_name(kind: str, name: str) -> None:
    """Raise InvalidInputError for a name that could not be told from another, or not be shown."""
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInputError(
            f"{kind}'s name is 1 to {MAX_NAME} printable characters, not beginning or ending with a space; "
            f"got {name!r}"
        )
