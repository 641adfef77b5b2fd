"""How shots are named: the rules that both clients share."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from prshots.client.shots import find_shots
from prshots.pytest_plugin.camera import Camera
from prshots.pytest_plugin.shot_names import ShotNames, shorten
from support.nasty_pictures import encoded
from support.vectors import cases


def text_of(given: str | dict[str, Any]) -> str:
    """Return a text, which a vector may write as `{"repeat": …, "times": …, "then": …}`."""
    if isinstance(given, str):
        return given
    return str(given["repeat"]) * given["times"] + str(given.get("then", ""))


@pytest.mark.parametrize("case", cases("shot_names", "suffixes"))
def test_the_file_name_sets_the_name_viewport_and_theme(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / case["given"]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encoded(Image.new("RGB", (20, 10))))
    shots, problems = find_shots([path], base=str(tmp_path))
    if "refused" in case:
        assert shots == []
        assert case["refused"] in problems[0].words
    else:
        expected = (case["name"], case["viewport"] or "20x10", case.get("theme", ""))
        assert [shot.key for shot in shots] == [expected]


@pytest.mark.parametrize("case", cases("shot_names", "fitted"))
def test_a_name_is_cleaned_and_shortened_to_200_characters(case: dict[str, Any]) -> None:
    assert shorten(text_of(case["given"])) == text_of(case["name"])


@pytest.mark.parametrize("case", cases("shot_names", "repeated"))
def test_a_repeated_name_gets_a_number(case: dict[str, Any]) -> None:
    names: list[str] = []
    camera = Camera(
        ShotNames(shorten(text_of(case["name"]))), {}, lambda _name, take: names.append(take().name)
    )
    for _ in case["names"]:
        camera(b"an image")
    assert names == [text_of(name) for name in case["names"]]
