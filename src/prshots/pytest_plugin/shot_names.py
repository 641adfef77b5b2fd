"""The names of a test's screenshots."""

import hashlib
import re
from dataclasses import dataclass
from typing import Self

import pytest

from prshots.contract.limits import MAX_NAME_CHARACTERS

DEFAULT_TEMPLATE = "{file}/{class}/{test} ({parameters})"
PLACEHOLDERS = ("file", "class", "test", "parameters", "browser")

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_TESTS_FOLDER = re.compile(r"\Atests?/")
_EMPTY = re.compile(r" *\([ ,-]*\)")
_DEFAULT_BROWSER = "chromium"


@dataclass(frozen=True, slots=True)
class ShotNames:
    """The names of a test's screenshots.

    `unnamed` is for a screenshot without a name. `label` is the browser, if names need it.
    """

    unnamed: str
    label: str = ""

    @classmethod
    def of(cls, item: pytest.Item, template: str = DEFAULT_TEMPLATE) -> Self:
        """Return the names of a test's screenshots.

        tests/ui/test_shop.py::TestCart::test_empty[small] becomes ui/test_shop/TestCart/test_empty (small).
        """
        parts, later_browser = _parts_of(item)
        filled = _PLACEHOLDER.sub(lambda found: parts[found[1]], template)
        segments = [" ".join(segment.split()) for segment in _EMPTY.sub("", filled).split("/")]
        unnamed = "/".join(filter(None, segments)) or parts["test"]
        return cls(shorten(unnamed), "" if "{browser}" in template else later_browser)

    def nth(self, number: int) -> str:
        """Return the name of the nth screenshot without a name."""
        return self.with_label(self.unnamed if number == 1 else f"{self.unnamed}-{number}")

    def with_label(self, name: str) -> str:
        return shorten(f"{name.strip()} ({self.label})" if self.label else name.strip())


def check_template(template: str) -> None:
    """Raise UsageError if a placeholder is unknown."""
    for found in _PLACEHOLDER.finditer(template):
        if found[1] not in PLACEHOLDERS:
            takes = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise pytest.UsageError(f"prshots_name takes a template with {takes}; got {found[0]!r}")


def shorten(name: str) -> str:
    """Return a name that the service accepts. Long names with the same beginning stay different."""
    name = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", name).encode(errors="replace").decode()
    if len(name) <= MAX_NAME_CHARACTERS:
        return name
    mark = f"~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name[: MAX_NAME_CHARACTERS - len(mark)] + mark


def _parts_of(item: pytest.Item) -> tuple[dict[str, str], str]:
    """Return the parts of a name, and the browser if it isn't the run's first one."""
    call = getattr(item, "callspec", None)
    parameters = str(call.id) if call else ""
    file, *names = item.nodeid.removesuffix(f"[{parameters}]").split("::")
    browser = str(call.params.get("browser_name", "")) if call else ""
    later = ""
    if browser and browser in (browsers := _browsers(item.config)):
        parameters = _without(parameters, browser)
        later = browser if browser != browsers[0] else ""
    parts = {
        "file": _TESTS_FOLDER.sub("", file.removesuffix(".py")),
        "class": "/".join(names[:-1]),
        "test": names[-1] if names else "",
        # A lookalike, because a slash separates folders.
        "parameters": _unescape(parameters).replace("/", "\N{DIVISION SLASH}"),
        "browser": browser,
    }
    return parts, later


def _browsers(config: pytest.Config) -> list[str]:
    """Return the browsers that pytest-playwright runs each test in. They are among the test's parameters."""
    given = config.getoption("browser", None)
    return list(given) if isinstance(given, list) and given else [_DEFAULT_BROWSER]


def _without(parameters: str, browser: str) -> str:
    """Return the hyphen-separated ids of the parameters, without the browser's."""
    return re.sub(rf"\A{re.escape(browser)}(-|\Z)|-{re.escape(browser)}(?=-|\Z)", "", parameters, count=1)


def _unescape(parameters: str) -> str:
    r"""Return an id's text. In an id, pytest writes a line break as `\n` and an umlaut as `\xfc`."""
    try:
        return parameters.encode("ascii").decode("unicode_escape") if "\\" in parameters else parameters
    except UnicodeError:
        return parameters  # pytest is configured not to escape ids
