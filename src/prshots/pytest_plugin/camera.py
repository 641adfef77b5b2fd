"""Take a screenshot of an object from a test, and detect its viewport and theme."""

import contextlib
import inspect
import io
import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from prshots.contract.limits import THEMES, VIEWPORT
from prshots.contract.statements import message
from prshots.pytest_plugin.shot_names import ShotNames


class Screenshot(NamedTuple):
    """A screenshot. Without a viewport, its size in pixels counts."""

    image: bytes
    name: str
    viewport: str
    theme: str


Develop = Callable[[str, Callable[[], Screenshot]], None]
"""Called with a name for errors, and a function that takes the screenshot."""

_TAKES = "bytes, a path, an image with .save(), or an object with .screenshot() or .get_screenshot_as_png()"
_PREFERS_DARK = "matchMedia('(prefers-color-scheme: dark)').matches"


class Camera:
    """The `shot` fixture of one test. `fixtures` are the test's, which may be set up later."""

    def __init__(self, names: ShotNames, fixtures: Mapping[str, object], develop: Develop) -> None:
        self._develop = develop
        self._names = names
        self._fixtures = fixtures
        self._unnamed: Counter[tuple[str, str]] = Counter()

    def __call__(
        self,
        image: Any,  # noqa: ANN401 - many kinds
        name: str | None = None,
        viewport: str | None = None,
        theme: str | None = None,
    ) -> None:
        """Take a screenshot. Without a name, it is named after the test; a second one gets the suffix -2.

        Raises TypeError or ValueError for invalid arguments. Other errors are reported at the end of the run.
        """
        take = screenshot_function(image)
        if viewport is not None and not VIEWPORT.fullmatch(viewport):
            raise ValueError(message("invalid_viewport", given=repr(viewport)))
        if theme is not None and theme not in THEMES:
            raise ValueError(message("invalid_theme", given=repr(theme)))
        if name is not None and not name.strip():
            raise ValueError("the name is empty: pass a name, or None to use the test's")
        page = _page_of(image, self._fixtures.get("page"))

        def taken() -> Screenshot:
            data = take()
            screen = viewport or viewport_of(page), theme or theme_of(page)
            return Screenshot(data, self._name(name, screen), *screen)

        self._develop(name or self._names.unnamed, taken)

    def _name(self, given: str | None, screen: tuple[str, str]) -> str:
        if given is not None:
            return self._names.with_label(given)
        self._unnamed[screen] += 1
        return self._names.nth(self._unnamed[screen])


def _page_of(image: object, page: object) -> object:
    """Return the Playwright page of an image: the image itself, a locator's page, or the test's."""
    if hasattr(image, "viewport_size"):
        return image
    return None if hasattr(image, "get_screenshot_as_png") else getattr(image, "page", page)


def viewport_of(page: object) -> str:
    """Return a Playwright page's viewport, or "" for another object or a page without a fixed viewport."""
    size = getattr(page, "viewport_size", None)
    return f"{size['width']}x{size['height']}" if isinstance(size, dict) else ""


def theme_of(page: object) -> str:
    """Return "dark" if a Playwright page prefers dark. Light is the default and doesn't count as a theme."""
    evaluate = getattr(page, "evaluate", None)
    if not viewport_of(page) or not callable(evaluate) or inspect.iscoroutinefunction(evaluate):
        return ""
    with contextlib.suppress(Exception):  # the page is closed or doesn't show a document
        return "dark" if evaluate(_PREFERS_DARK) is True else ""
    return ""


def screenshot_function(image: Any) -> Callable[[], Any]:  # noqa: ANN401 - many kinds
    """Return a function that returns the image's bytes. Raises TypeError for an unsupported object."""
    if isinstance(image, (bytes, bytearray, memoryview, str, os.PathLike)):
        return lambda: _bytes_of(image)
    for method in ("get_screenshot_as_png", "screenshot"):
        if callable(way := getattr(image, method, None)):
            if inspect.iscoroutinefunction(way):
                raise TypeError(f"{type(image).__name__} is asynchronous: use shot(await page.screenshot())")
            return lambda: _bytes_of(way())
    if callable(getattr(image, "save", None)):
        return lambda: _save_png(image)
    if inspect.iscoroutine(image):
        image.close()  # otherwise Python warns that it was never awaited
        raise TypeError("the screenshot was not awaited: use shot(await page.screenshot())")
    raise TypeError(f"shot takes {_TAKES}; got {type(image).__name__}")


def _bytes_of(taken: Any) -> bytes:  # noqa: ANN401 - any return value
    if isinstance(taken, (bytes, bytearray, memoryview)):
        return bytes(taken)
    if isinstance(taken, (str, os.PathLike)):  # Splinter saves the screenshot and returns its path
        return Path(taken).read_bytes()
    if inspect.iscoroutine(taken):
        taken.close()
        raise ValueError("its page is asynchronous: use shot(await page.screenshot())")
    raise ValueError(f"its .screenshot() returned {type(taken).__name__} instead of bytes")


def _save_png(picture: Any) -> bytes:  # noqa: ANN401 - from Pillow or a similar library
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return file.getvalue()
