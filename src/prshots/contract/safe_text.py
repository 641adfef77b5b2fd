"""Texts without anything that a terminal or a CI log takes as a command.

File names and services choose parts of our output. A log runs lines such as `::set-output` and `##vso[`.
"""

import re

_COMMANDS = re.compile(r"^\s*:(?=:)|#(?=#\w*\[)", re.MULTILINE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def printable(text: str) -> str:
    """Return the text on one line, with commands and unprintable characters escaped."""
    escaped = (
        character if character.isprintable() else character.encode("unicode_escape", "replace").decode()
        for character in text
    )
    return _break_commands("".join(escaped))


def safe_markdown(text: str) -> str:
    """Return markdown that renders the same, without control characters."""
    return _break_commands(_CONTROLS.sub("", text))


def safe_json(text: str) -> str:
    """Return JSON with the same values, without characters that some readers take as the end of a line."""
    return re.sub("#(?=#)|[\x7f-\x9f\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)


def _break_commands(text: str) -> str:
    return _COMMANDS.sub(r"\g<0>\\", text)
