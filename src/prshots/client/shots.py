"""Which files are screenshots, what each is called, and what it shows: found out before anything is sent."""

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import NamedTuple

from prshots.contract.errors import InvalidInputError
from prshots.contract.formats import BY_EXT, LEADING_BYTES, ImageFormat, format_of, pixel_size
from prshots.contract.limits import MAX_IMAGE_BYTES, MAX_NAME_CHARACTERS, VIEWPORT

EXTENSIONS = {".png": BY_EXT["png"], ".jpg": BY_EXT["jpg"], ".jpeg": BY_EXT["jpg"], ".webp": BY_EXT["webp"]}
"""What a folder is searched for; and what a file is by its name. What it really is, its content says."""

_EVERYTHING = ("**", "*")
_HEAD_BYTES = 64 * 1024
_MOST_NOTES_BYTES = 64 * 1024 * 1024
_VIEWPORT_SUFFIX = re.compile(r"(.*)@([0-9]+x[0-9]+)(?:@[0-9.]+x)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shot:
    """A screenshot as it lies here, and as what it is uploaded. `note` is what people should know of it."""

    path: Path
    name: str
    viewport: str
    content_type: str
    size: int
    note: str = ""

    @property
    def is_too_large(self) -> bool:
        return self.size >= MAX_IMAGE_BYTES


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something is no screenshot. `is_missing`: there is nothing of that name at all."""

    path: str
    words: str
    is_missing: bool = False


class Found(NamedTuple):
    shots: list[Shot]
    problems: list[Problem]


def find_shots(
    paths: Sequence[str | Path], *, base: str = "", name: str = "", viewport: str = "", shrink: bool = False
) -> Found:
    """Return the screenshots among these files, in folders, or by globs (`**` too); ordered by their names.

    The name is the path without its extension: in a folder that is searched, relative to it; else as given,
    without what leads there from outside; relative to `base`, if there is one. `name` is for a single file.
    What stands after an `@` is the viewport, as in `cart@1280x800.png`; else it is the image's own size;
    unless `viewport` is given. With `shrink`, images that are too large count as good.

    Raises InvalidInputError when the other arguments are wrong; what is wrong with a file is its problem.
    """
    if viewport and not VIEWPORT.fullmatch(viewport):
        raise InvalidInputError(f"a viewport is like 1280x800; got {viewport!r}")
    problems: list[Problem] = []
    files = _without_repetitions(_all_files(paths, problems.append))
    if name and len(files) > 1:
        raise InvalidInputError(f"a name for one screenshot was given, but {len(files)} files were found")
    shots: dict[tuple[str, str], Shot] = {}
    for path, folder in files:
        try:
            named = name or _name_of(path, base or folder)
            shot = shot_from(path, name=named, viewport=viewport, with_suffix=not name, shrink=shrink)
        except InvalidInputError as error:
            problems.append(Problem(str(path), str(error)))
            continue
        if (other := shots.setdefault((shot.name, shot.viewport), shot)) is not shot:
            problems.append(Problem(str(path), f"has the name and viewport of {other.path}: rename one"))
    return Found(sorted(shots.values(), key=_order), problems)


def shot_from(
    path: Path, *, name: str, viewport: str = "", with_suffix: bool = True, shrink: bool = False
) -> Shot:
    """Return one file as a screenshot of this name, whose suffix may be the viewport.

    Raises InvalidInputError with what is wrong with it, in words that may follow its path.
    """
    if with_suffix and (found := _VIEWPORT_SUFFIX.fullmatch(name)):
        name, viewport = found[1].rstrip(" /"), viewport or found[2]
    _check_name(name)
    image_format, size, pixels = _looked_at(path)
    if size >= MAX_IMAGE_BYTES and not shrink:
        raise InvalidInputError(f"has {megabytes(size)}, and 5 MB is too much: --shrink makes it fit")
    if not viewport and pixels is None:
        raise InvalidInputError("does not say how many pixels it has: it may be broken")
    viewport = viewport or "{}x{}".format(*pixels or ())
    if not VIEWPORT.fullmatch(viewport):
        raise InvalidInputError(f"has the viewport {viewport}, but each side is 1 to 99999: give --viewport")
    named_as = EXTENSIONS.get(path.suffix.lower(), image_format)
    note = "" if named_as is image_format else f"is a {image_format.label}, whatever it is called"
    return Shot(path, name, viewport, image_format.content_type, size, note)


def megabytes(size: int) -> str:
    """Return a size for people: 7.1 MB, of 1024 times 1024 bytes as in the limit."""
    return f"{size / 1024**2:.1f} MB"


def _all_files(
    paths: Sequence[str | Path], on_problem: Callable[[Problem], None]
) -> Iterator[tuple[Path, str]]:
    """Return each file, and the folder that its name is relative to."""
    for given in paths:
        path = Path(given)
        if os.path.isdir(given):  # noqa: PTH112 - of a Path, nothing would be the working folder
            for found in _matching(path, _EVERYTHING, on_problem):
                if found.suffix.lower() in EXTENSIONS:
                    yield found, str(path)
        elif os.path.lexists(given):  # first, since a name may well look like a pattern: [id].png
            yield path, ""
        elif glob.has_magic(str(given)):
            yield from ((found, "") for found in _globbed(path, on_problem))
        else:
            on_problem(Problem(str(given), "there is no such file or folder", is_missing=True))


def _globbed(pattern: Path, on_problem: Callable[[Problem], None]) -> Iterator[Path]:
    plain = next(at for at, part in enumerate(pattern.parts) if glob.has_magic(part))
    folder = Path(*pattern.parts[:plain])
    if os.path.isdir(folder):  # noqa: PTH112 - never raises, however long the path is
        yield from _matching(folder, pattern.parts[plain:], on_problem)


def _matching(folder: Path, pattern: Sequence[str], on_problem: Callable[[Problem], None]) -> Iterator[Path]:
    """Return the files that match, none that is hidden unless the pattern says so.

    `**` goes into every folder, but through no link to one: links that lead in circles are common.
    """
    first, *rest = pattern
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError as error:
        on_problem(Problem(str(folder), f"cannot be searched: {error.strerror}"))
        return
    if first == "**":
        yield from _matching(folder, rest or ["*"], on_problem)
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith(".") and not first.startswith("."):
            continue
        if first == "**":
            if entry.is_dir(follow_symlinks=False):
                yield from _matching(path, pattern, on_problem)
        elif fnmatch.fnmatch(entry.name, first):
            if _is_folder(entry) and rest:
                yield from _matching(path, rest, on_problem)
            elif not (_is_folder(entry) or rest):
                yield path


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads nowhere; whoever opens it is told
        return False


def _without_repetitions(files: Iterator[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Return each file once, as it was found first: paths and patterns may overlap."""
    return list({os.path.abspath(path): (path, folder) for path, folder in reversed([*files])}.values())[::-1]  # noqa: PTH100 - resolves no links


def _name_of(path: Path, folder: str) -> str:
    if path.suffix.lower() in EXTENSIONS:
        path = path.with_suffix("")
    relative = PurePath(os.path.relpath(path, folder or "."))
    if folder and ".." in relative.parts:
        raise InvalidInputError(f"does not lie in {folder}, which --base takes away from the names")
    if ".." in relative.parts:  # outside of the working folder: as given
        relative = PurePath(os.path.normpath(path))
    return "/".join(part for part in relative.parts if part not in ("..", relative.anchor))


def _check_name(name: str) -> None:
    if not name:
        raise InvalidInputError("has no name beside its viewport: give --name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidInputError(
            f"has a name of {len(name)} characters, and {MAX_NAME_CHARACTERS} is the most: --base shortens it"
        )
    if "\0" in name or not _is_unicode(name):
        raise InvalidInputError("has a name that is not in UTF-8: rename it, or give --name")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _looked_at(path: Path) -> tuple[ImageFormat, int, tuple[int, int] | None]:
    """Return what a file is, how large, and how many pixels it has, if it says."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe, say, which to open would wait for ever
            raise InvalidInputError("is not a file")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(_HEAD_BYTES)
            image_format = format_of(data[:LEADING_BYTES])
            pixels = pixel_size(data)
            if pixels is None and image_format is BY_EXT["jpg"]:  # its notes may be long
                pixels = pixel_size(data + file.read(_MOST_NOTES_BYTES))
    except (OSError, ValueError) as error:  # a ValueError is a path with a NUL
        raise InvalidInputError(f"cannot be read: {getattr(error, 'strerror', '') or error}") from error
    if not data:
        raise InvalidInputError("is empty")
    if image_format is None:
        raise InvalidInputError("is neither PNG nor JPEG nor WebP")
    return image_format, size, pixels


def _order(shot: Shot) -> list[list[str | int]]:
    """Order as people do: step-2 before step-10, 390x844 before 1280x800."""
    return [
        [int(part) if part.isdigit() and part.isascii() else part for part in re.split("([0-9]+)", text)]
        for text in (shot.name, shot.viewport)
    ]
