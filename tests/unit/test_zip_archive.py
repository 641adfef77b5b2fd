"""The zip of a pull request's images, read with Python's own zipfile and with unzip's rules for paths."""

import gc
import io
import sys
import zipfile
from itertools import product
from pathlib import Path

import pytest

from prshots.server.api.dashboard import zip_download
from prshots.server.api.dashboard.zip_download import ZipWriter, file_paths, safe_file_name
from prshots.server.domain.images.models import Image

NOON = 1_800_000_000
GIBIBYTE = 1024**3


def image(name: str, viewport: str = "1280x800", ext: str = "png") -> Image:
    return Image("0" * 32, "p", 7, name, "a" * 40, viewport, ext, 3, NOON, "k1")


def paths(*names: str) -> list[str]:
    return [path for path, _ in file_paths(map(image, names))]


def test_an_archive_has_every_file_as_it_was() -> None:
    files = {"a/b@1x1.png": b"\x89PNG" * 1000, "Übersicht 😀@1x1.png": b"", "z@1x1.webp": b"x"}
    writer = ZipWriter()
    written = b"".join([*(writer.file(path, data, NOON) for path, data in files.items()), writer.end()])
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == files
        (first, *_) = archive.infolist()
    assert (first.compress_type, first.date_time) == (zipfile.ZIP_STORED, (2027, 1, 15, 8, 0, 0))


def test_an_abandoned_archive_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    writer = ZipWriter()
    writer.file("a@1x1.png", b"x", NOON)
    writer._end.close()  # the garbage collector may close it first
    del writer
    gc.collect()
    assert raised == []


@pytest.mark.nightly
def test_files_after_four_gibibytes_and_more_than_65535_of_them_are_found(tmp_path: Path) -> None:
    writer = ZipWriter(begins_at=5 * GIBIBYTE)
    with (tmp_path / "large.zip").open("wb") as file:
        file.seek(5 * GIBIBYTE)  # a hole: it takes no room on the disk
        for number in range(65_600):
            file.write(writer.file(f"{number}.png", b"%d" % number, NOON))
        file.write(writer.end())
    with zipfile.ZipFile(tmp_path / "large.zip") as archive:
        assert len(archive.namelist()) == 65_600
        assert archive.read("65599.png") == b"65599"


def test_paths_are_in_natural_order_with_the_viewport() -> None:
    found = file_paths([image("step-10"), image("step-2", "375x812"), image("step-2", "1280x800", "webp")])
    assert [path for path, _ in found] == [
        "step-2@375x812.png",
        "step-2@1280x800.webp",
        "step-10@1280x800.png",
    ]


@pytest.mark.parametrize(
    ("name", "path"),
    {
        "checkout/cart": "checkout/cart",
        "../../etc/passwd": "etc/passwd",
        "/absolute": "absolute",
        "a/./../b": "a/b",
        "a\\..\\b": "a_.._b",
        "C:\\windows": "C__windows",
        "line\nbreak\x1b\u202e": "line_break__",
        "con": "_con",
        "nul/aux.txt": "_nul/_aux.txt",
        "trailing. . /x": "trailing/x",
        "...": "_",
        "x@1x1.png/y": "x@1x1_/y",
        "what?*": "what__",
        "é" * 200: "é" * 90,
    }.items(),
)
def test_a_path_is_safe_on_every_system(name: str, path: str) -> None:
    assert paths(name) == [f"{path}@1280x800.png"]


def test_paths_are_unique_where_case_does_not_count() -> None:
    assert paths("Cart", "cart", "cart?", "cart*", "e\u0301", "\u00e9") == [
        "Cart@1280x800.png",
        "cart (2)@1280x800.png",
        "cart_@1280x800.png",
        "cart_ (2)@1280x800.png",
        "e\u0301@1280x800.png",
        "\u00e9 (2)@1280x800.png",
    ]


def test_each_of_4000_equal_paths_takes_a_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = []

    def fold_case(path: str) -> str:
        steps.append(path)
        return path.casefold()

    monkeypatch.setattr(zip_download, "_fold_case", fold_case)
    names = ["".join(name) for name in product("?*<>", repeat=6)]
    found = paths(*names, "______ (2)")
    assert len(set(found)) == len(found) == 4097
    assert len(steps) < 4 * len(found)


def test_a_project_s_name_makes_a_file_name() -> None:
    assert safe_file_name('web/"shop"') == "web__shop_"
