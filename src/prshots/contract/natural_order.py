"""Natural order: `step-2` comes before `step-10`."""

import re

_PARTS = re.compile(r"([0-9]+)")


def natural_key(text: str) -> tuple[object, ...]:
    parts = _PARTS.split(text.casefold())
    return (
        *((part, int(number or 0)) for part, number in zip(parts[::2], [*parts[1::2], ""], strict=True)),
        text,
    )
