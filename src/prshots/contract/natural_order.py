"""The order that people expect of names: `step-2` before `step-10`.

The dashboard sorts in the same order. tests/vectors/natural_order.json tests both.
"""

import re
from functools import lru_cache

_DIGITS = re.compile("([0-9]+)")

NaturalKey = tuple[tuple[str | int, ...], str]


@lru_cache(maxsize=2048)  # many shots share a name
def natural_key(text: str) -> NaturalKey:
    """Return a sort key. Numbers compare by value and letters without case. The raw text breaks a tie."""
    # Text and digits alternate, starting with text, so text is never compared with a number.
    parts: list[str | int] = list(_DIGITS.split(text.lower()))
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts), text


def shot_key(name: str, viewport: str, theme: str) -> tuple[NaturalKey, NaturalKey, str]:
    """Return the sort key of a shot: by name, then from narrow to wide viewports, then by theme."""
    return natural_key(name), natural_key(viewport), theme
