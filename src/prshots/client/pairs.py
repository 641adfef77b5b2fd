"""Pair screenshots with their before images, from the files that a person or an agent names."""

from collections.abc import Sequence
from dataclasses import dataclass

from prshots.client.shots import Problem, ShotFile, find_shots
from prshots.contract.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Pairs:
    """The shots to show, their before images, and the paths that can't be used."""

    shots: list[ShotFile]
    before_images: dict[tuple[str, str, str], ShotFile]
    problems: list[Problem]


def find_pairs(
    paths: Sequence[str], before_images: Sequence[str], *, name: str = "", viewport: str = "", theme: str = ""
) -> Pairs:
    """Find the screenshots and their before images: the only one, or the one of the same shot.

    A before image without a matching screenshot becomes a problem. Raises InvalidInputError if an argument is
    invalid, or if there are before images but no paths.
    """
    after = find_shots(paths, name=name, viewport=viewport, theme=theme, short_names_outside=True)
    if not before_images:
        return Pairs(after.shots, {}, after.problems)
    if not paths:
        raise InvalidInputError("--before needs the screenshot after it: name it as PATH or with --after")
    before = find_shots(before_images, viewport=viewport, theme=theme, short_names_outside=True)
    problems = [*after.problems, *before.problems]
    if len(after.shots) == len(before.shots) == 1:
        return Pairs(after.shots, {after.shots[0].key: before.shots[0]}, problems)
    known = {shot.key for shot in after.shots}
    unpaired = (
        "has no screenshot after it with the same name and viewport: give both files the same name, in two "
        "folders"
    )
    problems += [Problem(str(shot.path), unpaired) for shot in before.shots if shot.key not in known]
    return Pairs(after.shots, {shot.key: shot for shot in before.shots if shot.key in known}, problems)
