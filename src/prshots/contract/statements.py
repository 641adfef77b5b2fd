"""The texts that both clients share, from `client.json`: variables, commands, options, exit codes, messages.

The Node client bundles the same file.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_PLACEHOLDER = re.compile(r"\{((?:--|prshots )?[a-z][a-z _-]*)\}")

_names: dict[str, str] = {}
"""What this program has in place of options and commands, such as `--pr` and `prshots show`."""


@cache
def statements() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("client.json").read_bytes()))


def exit_code(name: str) -> int:
    return int(statements()["exit_codes"][name])


def error_code(error: Exception) -> str:
    """Return the code of an error in JSON output. Docs: docs/use/commands.md."""
    codes: dict[str, str] = statements()["error_codes"]
    return next((codes[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in codes), "failed")


def use_names(names: Mapping[str, str]) -> None:
    """Use these names in messages, for a program whose user can't give options or run commands."""
    _names.update(names)


def message(name: str, /, **values: object) -> str:
    """Return a message with these values. `{--url}` and `{prshots show}` become what `called` returns."""

    def fill(found: re.Match[str]) -> str:
        key = found[1]
        return called(key) if key.startswith(("--", "prshots ")) else str(values[key])

    return _PLACEHOLDER.sub(fill, statements()["messages"][name])


def called(name: str) -> str:
    """Return an option with its variable, such as `--url (PRSHOTS_URL)`, or a command, as users know it."""
    variable = str(statements()["options"].get(name[2:], {}).get("variable", ""))
    if _names:
        return _names.get(name) or variable or name
    return f"{name} ({variable})" if variable else name
