"""Find the screenshots among files, with their names, viewports and themes, before uploading anything."""

import fnmatch
import glob
import io
import math
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from prshots.contract.errors import InvalidInputError
from prshots.contract.formats import BY_EXT, LEADING_BYTES, ImageFormat, format_of, pixel_size
from prshots.contract.image_structure import is_cut_off
from prshots.contract.limits import MAX_NAME_CHARACTERS, THEMES, VIEWPORT
from prshots.contract.statements import message
from prshots.contract.validate import is_unicode

EXTENSIONS = {".png": BY_EXT["png"], ".jpg": BY_EXT["jpg"], ".jpeg": BY_EXT["jpg"], ".webp": BY_EXT["webp"]}
"""The extensions to look for in a folder. The content decides a file's actual format."""

_MAX_READ_BYTES = 64 * 1024 * 1024
"""Only the beginning of a larger file is inspected. No service accepts such a file unchanged."""

MAX_ENTRIES = 200_000
"""A search of a whole disk would take minutes."""

# A theme needs a viewport before it: `report.light.png` may be a report about light.
_SUFFIXES = re.compile(rf"(.*)@([0-9]+x[0-9]+)(?:@[0-9.]+x)?(?:\.({'|'.join(THEMES)}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ShotFile:
    """A screenshot's file, and the name, viewport and theme to upload it under.

    `note` and `warning` are for the user. A file with a warning is uploaded anyway.
    """

    path: Path
    name: str
    viewport: str
    content_type: str
    size: int
    note: str = ""
    warning: str = ""
    theme: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The identity of its shot."""
        return self.name, self.viewport, self.theme


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a path isn't a usable screenshot. `is_missing` means that the path doesn't exist."""

    path: str
    words: str
    is_missing: bool = False


class Found(NamedTuple):
    shots: list[ShotFile]
    problems: list[Problem]


def find_shots(
    paths: Sequence[str | Path],
    *,
    base: str = "",
    name: str = "",
    viewport: str = "",
    theme: str = "",
    short_names_outside: bool = False,
) -> Found:
    """Find screenshots in files, folders and globs (including `**`), and sort them by name.

    The name is the path without its extension: relative to `base` if given, else relative to the searched
    folder, else as given, without leading `..`. `name` is for a single file. The viewport is the suffix after
    an `@`, as in `cart@1280x800.png`, else the image's size in pixels. A theme may follow it:
    `cart@1280x800.dark.png`. `viewport` and `theme` override the file's. With `short_names_outside`, a file
    outside the working folder, such as a temporary file, gets its name from its file name alone, and the
    search visits at most MAX_ENTRIES files and folders.

    Raises InvalidInputError if another argument is invalid. An invalid file becomes a problem instead.
    """
    if viewport and not VIEWPORT.fullmatch(viewport):
        raise InvalidInputError(message("invalid_viewport", given=repr(viewport)))
    if theme and theme not in THEMES:
        raise InvalidInputError(message("invalid_theme", given=repr(theme)))
    problems: list[Problem] = []
    search = _Search(problems, MAX_ENTRIES if short_names_outside else math.inf)
    files = _drop_repetitions(_all_files(paths, search))
    if name and len(files) > 1:
        raise InvalidInputError(message("name_for_one", count=len(files)))
    shots: dict[tuple[str, str, str], ShotFile] = {}
    for path, folder in files:
        try:
            named = name or _name_of(
                path, base or folder or (_folder_if_outside(path) if short_names_outside else "")
            )
            shot = shot_from(path, name=named, viewport=viewport, theme=theme, with_suffix=not name)
        except InvalidInputError as error:
            problems.append(Problem(str(path), str(error)))
            continue
        if (other := shots.setdefault(shot.key, shot)) is not shot:
            words = message("same_themed_shot" if shot.theme else "same_shot", other=other.path)
            problems.append(Problem(str(path), words))
    return Found(sorted(shots.values(), key=_order), problems)


def shot_from(
    path: Path, *, name: str, viewport: str = "", theme: str = "", with_suffix: bool = True
) -> ShotFile:
    """Return a file as a screenshot with this name.

    With `with_suffix`, the name may end with the viewport and the theme.

    Raises InvalidInputError with a message that reads well after the file's path.
    """
    if with_suffix and (found := _SUFFIXES.fullmatch(name)):
        name, viewport, theme = found[1].rstrip(" /"), viewport or found[2], theme or found[3] or ""
    _check_name(name)
    image_format, size, pixels, warning = _inspect(path)
    if not viewport and pixels is None:
        raise InvalidInputError(message("no_pixel_size"))
    viewport = viewport or "{}x{}".format(*pixels or ())
    if not VIEWPORT.fullmatch(viewport):
        raise InvalidInputError(message("viewport_out_of_range", viewport=viewport))
    named_as = EXTENSIONS.get(path.suffix.lower(), image_format)
    note = "" if named_as is image_format else message("other_format", format=image_format.label)
    return ShotFile(path, name, viewport, image_format.content_type, size, note, warning, theme)


@dataclass(slots=True)
class _Search:
    """The unusable paths so far, and how many files and folders are left to visit."""

    problems: list[Problem]
    left: float

    def visit(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            words = f"more than {MAX_ENTRIES:,} files and folders to search: name a smaller folder"
            raise InvalidInputError(words)


def _all_files(paths: Sequence[str | Path], search: _Search) -> Iterator[tuple[Path, str]]:
    """Yield each file, and the folder that its name is relative to."""
    for given in paths:
        path = Path(given)
        if os.path.isdir(given):  # noqa: PTH112 - Path("") would be the working folder
            for found in _find_matches(path, ("**", "*"), search):
                if found.suffix.lower() in EXTENSIONS:
                    yield found, str(path)
        elif os.path.lexists(given):  # before globs: a file name may look like a pattern, such as [id].png
            yield path, ""
        elif glob.has_magic(str(given)):
            yield from ((found, "") for found in _expand_glob(path, search))
        else:
            search.problems.append(Problem(str(given), message("no_such_path"), is_missing=True))


def _expand_glob(pattern: Path, search: _Search) -> Iterator[Path]:
    plain = next(at for at, part in enumerate(pattern.parts) if glob.has_magic(part))
    folder = Path(*pattern.parts[:plain])
    if os.path.isdir(folder):  # noqa: PTH112 - does not raise for a path that is too long
        yield from _find_matches(folder, pattern.parts[plain:], search)


def _find_matches(folder: Path, pattern: Sequence[str], search: _Search) -> Iterator[Path]:
    """Yield the matching files. Hidden files only match a pattern that starts with a dot.

    `**` searches every folder, but doesn't follow links to folders, because they may form a cycle.
    """
    first, *rest = pattern
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        search.problems.append(Problem(str(folder), message("cannot_search", why=error.strerror)))
        return
    search.visit(len(entries))
    if first == "**":
        yield from _find_matches(folder, rest or ["*"], search)
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith(".") and not first.startswith("."):
            continue
        if first == "**":
            if entry.is_dir(follow_symlinks=False):
                yield from _find_matches(path, pattern, search)
        elif fnmatch.fnmatch(entry.name, first):
            if _is_folder(entry) and rest:
                yield from _find_matches(path, rest, search)
            elif not (_is_folder(entry) or rest):
                yield path


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a broken link: opening it reports the error
        return False


def _drop_repetitions(files: Iterator[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return each file once, as first found. Paths and patterns may overlap."""
    return list({os.path.abspath(path): (path, folder) for path, folder in reversed([*files])}.values())[::-1]  # noqa: PTH100 - does not resolve links


def _folder_if_outside(path: Path) -> str:
    """Return the folder of a file outside the working folder, or "" if the file is inside."""
    return "" if path.resolve().is_relative_to(Path.cwd().resolve()) else str(path.parent)


def _name_of(path: Path, folder: str) -> str:
    if path.suffix.lower() in EXTENSIONS:
        path = path.with_suffix("")
    relative = PurePath(os.path.relpath(path, folder or "."))
    if folder and ".." in relative.parts:
        raise InvalidInputError(message("not_in_base", folder=folder))
    if ".." in relative.parts:  # outside the working folder: keep the path as given
        relative = PurePath(os.path.normpath(path))
    return "/".join(part for part in relative.parts if part not in ("..", relative.anchor))


def _check_name(name: str) -> None:
    if not name:
        raise InvalidInputError(message("no_name"))
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidInputError(message("name_too_long", count=len(name), limit=MAX_NAME_CHARACTERS))
    if "\0" in name or not is_unicode(name):
        raise InvalidInputError(message("name_not_text"))


def open_image(path: Path) -> io.BufferedReader:
    """Open a regular file. Raises InvalidInputError for any other, because opening a pipe would block."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InvalidInputError(message("not_a_file"))
    return path.open("rb")


def _inspect(path: Path) -> tuple[ImageFormat, int, tuple[int, int] | None, str]:
    """Return the file's format, size in bytes, size in pixels if known, and a warning if it is damaged."""
    try:
        with open_image(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(_MAX_READ_BYTES)
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        raise InvalidInputError(
            message("cannot_read", why=getattr(error, "strerror", "") or error)
        ) from error
    if not data:
        raise InvalidInputError(message("empty_file"))
    image_format = format_of(data[:LEADING_BYTES])
    if image_format is None:
        raise InvalidInputError(message("not_an_image"))
    is_damaged = size <= len(data) and is_cut_off(data)
    warning = message("cut_off", format=image_format.label) if is_damaged else ""
    return image_format, size, pixel_size(data), warning


def _order(shot: ShotFile) -> list[list[str | int]]:
    """Return a key for natural order: step-2 before step-10, 390x844 before 1280x800."""
    return [
        [int(part) if part.isdigit() and part.isascii() else part for part in re.split("([0-9]+)", text)]
        for text in shot.key
    ]
