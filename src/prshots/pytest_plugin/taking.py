"""Take a screenshot of what a test passes, and name it."""

import hashlib
import inspect
import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prshots.contract.limits import MAX_NAME_CHARACTERS, THEMES, VIEWPORT

Develop = Callable[[Callable[[], bytes], str, str, str], None]
"""Called with a function that takes the screenshot, its name, viewport ("" for its pixels) and theme."""

_TAKES = "bytes, a path, an image with .save(), or an object with .screenshot() or .get_screenshot_as_png()"


class Camera:
    """The `shot` fixture of one test."""

    def __init__(self, nodeid: str, develop: Develop) -> None:
        self._develop = develop
        self._test = name_of(nodeid)
        self._unnamed = 0

    def __call__(
        self,
        image: Any,  # noqa: ANN401 - many kinds
        name: str | None = None,
        viewport: str | None = None,
        theme: str | None = None,
    ) -> None:
        """Take a screenshot. Without a name it is named after the test; a second one gets the suffix -2.

        Raises TypeError or ValueError for invalid arguments. Other errors are reported at the end of the run.
        """
        take = way_to_take(image)
        if viewport is not None and not VIEWPORT.fullmatch(viewport):
            raise ValueError(f"invalid viewport {viewport!r}: use <width>x<height>, such as 1280x800")
        if theme is not None and theme not in THEMES:
            raise ValueError(f"invalid theme {theme!r}: use {' or '.join(THEMES)}")
        if name is None:
            self._unnamed += 1
            name = self._test if self._unnamed == 1 else shortened(f"{self._test}-{self._unnamed}")
        elif not name.strip():
            raise ValueError("the name is empty: pass a name, or None to use the test's")
        self._develop(take, shortened(name), viewport or "", theme or "")


def way_to_take(image: Any) -> Callable[[], Any]:  # noqa: ANN401 - many kinds
    """Return a function that returns the image's bytes. Raises TypeError for an unsupported object."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return lambda: bytes(image)
    if isinstance(image, (str, os.PathLike)):
        return lambda: Path(image).read_bytes()
    for method in ("get_screenshot_as_png", "screenshot"):
        if callable(way := getattr(image, method, None)):
            if inspect.iscoroutinefunction(way):
                raise TypeError(f"{type(image).__name__} is asynchronous: use shot(await page.screenshot())")
            return lambda: _bytes_of(way())
    if callable(getattr(image, "save", None)):
        return lambda: _saved(image)
    if inspect.iscoroutine(image):
        image.close()  # otherwise Python warns that it was never awaited
        raise TypeError("the screenshot was not awaited: use shot(await page.screenshot())")
    raise TypeError(f"shot takes {_TAKES}; got {type(image).__name__}")


def _bytes_of(taken: Any) -> bytes:  # noqa: ANN401 - any return value
    if isinstance(taken, (bytes, bytearray)):
        return bytes(taken)
    if isinstance(taken, (str, os.PathLike)):  # Splinter saves it and returns the path
        return Path(taken).read_bytes()
    if inspect.iscoroutine(taken):
        taken.close()
        raise ValueError("its page is asynchronous: use shot(await page.screenshot())")
    raise ValueError(f"its .screenshot() returned {type(taken).__name__} instead of bytes")


def _saved(picture: Any) -> bytes:  # noqa: ANN401 - Pillow's, or a similar one
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return file.getvalue()


_TESTS_FOLDER = re.compile(r"\Atests?/")


def name_of(nodeid: str) -> str:
    """Return a readable name for a test's id.

    tests/ui/test_shop.py::TestCart::test_empty[small] becomes ui/test_shop/TestCart/test_empty (small).
    """
    path, _, parameters = nodeid.partition("[")
    file, *parts = path.split("::")
    file = _TESTS_FOLDER.sub("", file.removesuffix(".py"))
    name = "/".join([file, *parts])
    return shortened(f"{name} ({parameters.removesuffix(']')})" if parameters else name)


def shortened(name: str) -> str:
    """Return a name that the service accepts. Long names that start the same stay different."""
    name = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", name).encode(errors="replace").decode()
    if len(name) <= MAX_NAME_CHARACTERS:
        return name
    mark = f"~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return name[: MAX_NAME_CHARACTERS - len(mark)] + mark
