"""Every `prshots` command in the docs, the dashboard and messages has the arguments and options that it needs."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.deploy_checkers import ROOT, command_line, parse_command

PAGES = [
    *ROOT.glob("*.md"),
    *(page for folder in ("docs", "skills", "deploy") for page in sorted((ROOT / folder).rglob("*.md"))),
    *ROOT.glob("clients/*/README.md"),
    ROOT / "docs/llms.txt",
]
BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
IN_BLOCK = re.compile(r"(?:^|[\s'/])prshots(?:@[\d.]+)? ([a-z][^|&;'#\\\n]*)", re.MULTILINE)
NOT_OURS = re.compile(r"^.*\b(?:helm|usermod) .*$", re.MULTILINE)
"""Commands for which prshots is the name of a release or a group."""

IN_WORDS = re.compile(r"`(prshots [a-z][^`]*)`")


def in_page(text: str) -> Iterator[str]:
    for block in BLOCK.findall(text):
        yield from (f"prshots {words}" for words in IN_BLOCK.findall(NOT_OURS.sub("", block)))
    yield from IN_WORDS.findall(BLOCK.sub("", text))


def in_python(text: str) -> Iterator[str]:
    """Yield the commands in strings. The values in an f-string become an argument."""
    for node in ast.walk(ast.parse(text)):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        values = [part.value if isinstance(part, ast.Constant) else "7" for part in parts]
        if all(isinstance(value, str) for value in values):
            yield from IN_WORDS.findall("".join(map(str, values)))


def is_name(words: list[str], group: Any = None) -> bool:
    """Return whether this only names a command or a group of them."""
    group = group or command_line()
    found = getattr(group, "commands", {}).get(words[0])
    return found is not None and (not words[1:] or is_name(words[1:], found))


def invalid(commands: Iterator[str]) -> Iterator[str]:
    for command in commands:
        words = command.replace("…", "").split()[1:]
        if is_name(words) or "[" in command:  # a mention of the command, or its synopsis in commands.md
            continue
        try:
            parse_command(" ".join(["prshots", *("7" if word == "N" else word for word in words)]))
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the test lists it
            yield f"{command}: {error}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_the_docs_parse(page: Any) -> None:
    assert list(invalid(in_page(page.read_text()))) == []


def test_commands_in_messages_of_the_service_parse() -> None:
    texts = [file.read_text() for file in sorted((ROOT / "src").rglob("*.py"))]
    with_commands = [text for text in texts if IN_WORDS.search(text)]  # parsing all of them takes seconds
    assert len(with_commands) > 20
    assert [problem for text in with_commands for problem in invalid(in_python(text))] == []
