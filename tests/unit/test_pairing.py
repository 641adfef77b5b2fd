"""Which image is the before image of which."""

import re
from pathlib import Path

import pytest

from prshots.client.show import find_pairs
from prshots.contract.errors import InvalidInputError, NoScreenshotsError
from support.drawn_pages import drawn_page


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def draw(*names: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(drawn_page(name))


def test_one_image_and_one_before_image_are_a_pair_regardless_of_names(tmp_path: Path) -> None:
    draw("new.png", str(tmp_path / "old.png"))
    found = find_pairs(["new.png"], [str(tmp_path / "old.png")], name="checkout/cart")
    (shot,) = found.shots
    assert (shot.name, found.before_images[shot.key].path.name) == ("checkout/cart", "old.png")
    assert found.problems == []


def test_several_are_paired_by_name_viewport_and_theme() -> None:
    draw("a/cart@390x844.png", "a/cart@1280x800.png", "a/new.png", "b/cart@1280x800.png", "b/gone.png")
    found = find_pairs(["a"], ["b"])
    assert {shot.name for shot in found.shots} == {"cart", "new"}
    assert list(found.before_images) == [("cart", "1280x800", "")]
    (problem,) = found.problems
    assert "gone.png" in problem.path


def test_a_file_outside_the_working_folder_is_named_by_its_file_name(tmp_path: Path) -> None:
    draw("in/cart.png", str(tmp_path / "elsewhere" / "cart@1280x800.dark.png"))
    found = find_pairs(["in/cart.png", "../elsewhere/cart@1280x800.dark.png"], [])
    assert [shot.key for shot in found.shots] == [("cart", "1280x800", "dark"), ("in/cart", "320x240", "")]


def test_a_before_image_alone_is_refused_and_a_missing_one_is_a_problem() -> None:
    draw("new.png")
    with pytest.raises(InvalidInputError, match="needs the screenshot after it"):
        find_pairs([], ["new.png"])
    found = find_pairs(["new.png"], ["old.png"])
    assert [problem.words for problem in found.problems] == ["no such file or folder"]
    assert found.before_images == {}


@pytest.mark.parametrize("path", ["empty", "empty/*.png"])
def test_a_path_without_screenshots_is_an_error_and_as_a_before_image_a_problem(path: str) -> None:
    Path("empty").mkdir()
    draw("new.png")
    with pytest.raises(NoScreenshotsError, match=re.escape(f"no screenshots at {path}")):
        find_pairs([path], [])
    assert [problem.words for problem in find_pairs(["new.png"], [path]).problems] == ["has no screenshots"]
