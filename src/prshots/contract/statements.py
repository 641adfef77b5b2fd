"""The texts that both clients share, from `client.json`: variables, commands, options, exit codes, messages.

The Node client bundles the same file.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

_PLACEHOLDER = re.compile(r"\{(--)?([a-z][a-z_-]*)\}")


@cache
def statements() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("client.json").read_bytes()))


def exit_code(name: str) -> int:
    return int(statements()["exit_codes"][name])


def message(name: str, /, **values: object) -> str:
    """Return a message with these values. `{--url}` becomes the option and its variable."""

    def fill(found: re.Match[str]) -> str:
        return setting(found[2]) if found[1] else str(values[found[2]])

    return _PLACEHOLDER.sub(fill, statements()["messages"][name])


def setting(option: str) -> str:
    """Return an option and its variable, such as `--url (PRSHOTS_URL)`."""
    return f"--{option} ({statements()['options'][option]['variable']})"
