"""Finding screenshots: the rules that both clients share."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from prshots.client.shots import find_shots
from prshots.contract.errors import InvalidInputError
from support.vectors import cases, vectors

IMAGES = {name: base64.b64decode(image) for name, image in vectors("cut_off_images")["images"].items()}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(name: str | bytes, content: bytes = IMAGES["png"]) -> None:
    path = Path(os.fsdecode(name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def lay_out(case: dict[str, Any]) -> None:
    for name in case.get("files", ()):
        made(name)
    for name, content in case.get("contents", {}).items():
        made(name, base64.b64decode(content))
    if "not_utf8" in case:
        made(case["not_utf8"].encode("latin-1"))
    for name in case.get("folders", ()):
        Path(name).mkdir()
    for name, target in case.get("links", {}).items():
        Path(name).symlink_to(target)
    for name in case.get("pipes", ()):
        os.mkfifo(name)


@pytest.mark.parametrize("case", cases("find_shots", "found"))
def test_screenshots_are_found_and_named(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(case)
    monkeypatch.chdir(case.get("in", "."))
    options = {name: case[name] for name in ("base", "name", "viewport", "theme") if name in case}
    if "refused" in case:
        with pytest.raises(InvalidInputError) as refused:
            find_shots(case["paths"], **options)
        assert str(refused.value) == case["refused"]
        return
    found = find_shots(case["paths"], **options)
    if "shots" in case:
        assert [list(shot.key) for shot in found.shots] == case["shots"]
    else:
        assert [shot.name for shot in found.shots] == case["names"]
    if "found_at" in case:
        assert [str(shot.path) for shot in found.shots] == case["found_at"]
    problems = {
        os.fsencode(problem.path).decode("ascii", "replace").replace("�", "?"): problem.words
        for problem in found.problems
    }
    assert problems.keys() == case.get("problems", {}).keys()
    assert all(problems[path].startswith(words) for path, words in case.get("problems", {}).items())
    assert sum(problem.is_missing for problem in found.problems) == case.get("missing", 0)


@pytest.mark.parametrize("case", cases("find_shots", "contents"))
def test_the_content_tells_what_a_file_is(case: dict[str, Any]) -> None:
    image = IMAGES[case["image"]]
    made(case["file"], image[: len(image) - case.get("drop", 0)])
    [shot] = find_shots([case["file"]], viewport="3x2").shots
    assert shot.content_type == case["content_type"]
    assert (shot.note, shot.warning) == (case.get("note", ""), case.get("warning", ""))
