"""Human-readable sizes and counts."""

import re

MAX_QUOTA_BYTES = 2**60
UNITS = ("B", "KB", "MB", "GB", "TB")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?) ?(B|KB|MB|GB|TB)?", re.IGNORECASE)


def pluralize(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def readable_size(size: int) -> str:
    """Return a size such as 5 MB, 1.2 KB or 340 B. As in the service's limit, 1 MB is 1024 * 1024 bytes.

    Halves round up. The Node client and the dashboard print the same sizes (`tests/vectors/sizes.json`).
    """
    unit, number = 1, 0
    while number < len(UNITS) - 1 and _round(size, unit) >= 1024:  # noqa: PLR2004 - 1023.5 of a unit rounds up
        unit, number = unit * 1024, number + 1
    tenths = _round(size * 10, unit)
    whole, tenth = divmod(tenths, 10)
    amount = f"{whole}.{tenth}" if tenth and tenths < 100 else str(_round(size, unit))  # noqa: PLR2004
    return f"{amount} {UNITS[number]}"


def parse_size(text: str) -> int | None:
    """Return the bytes of a size such as 20GB, 1.5 TB or 4096, or None for anything else."""
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return None
    return int(float(found[1]) * 1024 ** UNITS.index((found[2] or "B").upper()))


def _round(size: int, unit: int) -> int:
    return (2 * size + unit) // (2 * unit)
