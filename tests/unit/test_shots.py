"""Finding screenshots: the rules that both clients share, files that are hard to read, and shrinking large ones."""

import base64
import io
import os
import secrets
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from prshots.client.shots import ShotFile, find_shots
from prshots.client.shrink import MAX_PIXELS, shrink
from prshots.client.upload import send_all
from prshots.contract.errors import InvalidInputError
from support.nasty_pictures import encoded, jpeg_of_kind, jpeg_with_scans
from support.service import MAX_BYTES
from support.vectors import cases, vectors

IMAGES = {name: base64.b64decode(image) for name, image in vectors("cut_off_images")["images"].items()}
SMALL = encoded(Image.new("RGB", (20, 10)))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(*names: str, content: bytes = SMALL) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content)


def lay_out(case: dict[str, Any]) -> None:
    for name in case.get("files", ()):
        made(name, content=IMAGES["png"])
    for name, content in case.get("contents", {}).items():
        made(name, content=base64.b64decode(content))
    if "not_utf8" in case:
        made(os.fsdecode(case["not_utf8"].encode("latin-1")), content=IMAGES["png"])
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
    made(case["file"], content=image[: len(image) - case.get("drop", 0)])
    [shot] = find_shots([case["file"]], viewport="3x2").shots
    assert shot.content_type == case["content_type"]
    assert (shot.note, shot.warning) == (case.get("note", ""), case.get("warning", ""))


def test_an_absolute_path_in_the_working_folder_gets_a_short_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made("app/x.png")
    for base, name in ((folder, "app/x"), (folder / "app", "x")):
        monkeypatch.chdir(base)
        assert [shot.name for shot in find_shots([f"{folder}/app/x.png"]).shots] == [name]


def test_an_unreadable_folder_is_reported_and_does_not_stop_the_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made("out/cart.png")
    monkeypatch.chdir("out")
    for _ in range(20):  # until the path exceeds the maximum length
        Path("d" * 250).mkdir()
        monkeypatch.chdir("d" * 250)
    monkeypatch.chdir(folder)
    found = find_shots(["out"])
    assert [shot.name for shot in found.shots] == ["cart"]
    assert [problem.words for problem in found.problems] == ["cannot search the folder: File name too long"]


def test_a_search_of_too_many_files_and_folders_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    made(*(f"out/{number}/a.png" for number in range(3)))
    monkeypatch.setattr("prshots.client.shots.MAX_ENTRIES", 8)
    with pytest.raises(
        InvalidInputError, match="more than 8 files and folders to search: name a smaller folder"
    ):
        find_shots(["out/**/*.png"], short_names_outside=True)
    assert len(find_shots(["out/**/*.png"]).shots) == 3
    assert len(find_shots(["out/1"], short_names_outside=True).shots) == 1


def test_a_file_that_becomes_a_pipe_is_not_opened() -> None:
    made("a.png")
    [shot] = find_shots(["a.png"]).shots
    Path("a.png").unlink()
    os.mkfifo("a.png")

    def send(_shot: ShotFile, image: Any, _content_type: str) -> Any:
        return image()

    [outcome] = send_all(send, [shot], None, concurrency=1, shrink=False, on_done=print)
    assert outcome.error == "is not a file"


def test_a_long_jpeg_header_is_read_to_its_end() -> None:
    made("notes.jpg", content=encoded(Image.new("RGB", (30, 40)), "JPEG", icc_profile=bytes(300_000)))
    [shot] = find_shots(["notes.jpg"]).shots
    assert shot.viewport == "30x40"


class TestShrinking:
    def test_is_lossless_if_the_result_is_small_enough(self) -> None:
        smooth = Image.linear_gradient("L").resize((640, 400)).convert("RGB")
        smooth.save("smooth.png", compress_level=0)
        assert Path("smooth.png").stat().st_size > 700_000
        content, content_type, label = shrink(Path("smooth.png"), limit=700_000)
        assert (content_type, label) == ("image/webp", "WebP")
        assert len(content) < 700_000
        with Image.open(io.BytesIO(content)) as shown:
            assert shown.convert("RGB").tobytes() == smooth.tobytes()

    def test_keeps_png_if_the_image_is_too_long_for_webp(self) -> None:
        Image.new("RGB", (10, 20_000)).save("long.png", compress_level=0)
        content, content_type, _ = shrink(Path("long.png"), limit=500_000)
        assert content_type == "image/png"
        with Image.open(io.BytesIO(content)) as shown:
            assert shown.size == (10, 20_000)

    def test_scales_noise_down_until_it_fits(self) -> None:
        Image.frombytes("RGBA", (300, 200), secrets.token_bytes(300 * 200 * 4)).save("noise.png")
        content, content_type, _ = shrink(Path("noise.png"), limit=5_000)
        assert content_type == "image/webp"
        assert len(content) < 5_000
        with Image.open(io.BytesIO(content)) as shown:
            assert shown.width < 300
            assert shown.mode == "RGBA"

    def test_applies_the_exif_orientation(self) -> None:
        notes = Image.Exif()
        notes[0x0112] = 6
        Image.new("RGB", (40, 20)).save("turned.jpg", exif=notes)
        with Image.open(io.BytesIO(shrink(Path("turned.jpg"), MAX_BYTES).content)) as shown:
            assert shown.size == (20, 40)

    @pytest.mark.parametrize(
        "content", [SMALL[:40], b"\x89PNG\r\n\x1a\n", b"GIF89a"], ids=["truncated", "signature only", "GIF"]
    )
    def test_an_image_that_cannot_be_decoded_is_refused(self, content: bytes) -> None:
        made("broken.png", content=content)
        with pytest.raises(InvalidInputError, match="cannot be shrunk"):
            shrink(Path("broken.png"), MAX_BYTES)

    def test_a_decompression_bomb_is_refused(self) -> None:
        header = b"IHDR" + (int(MAX_PIXELS**0.5) + 1).to_bytes(4) * 2 + SMALL[24:29]
        made("bomb.png", content=SMALL[:12] + header + zlib.crc32(header).to_bytes(4) + SMALL[33:])
        with pytest.raises(InvalidInputError, match="too many to shrink"):
            shrink(Path("bomb.png"), MAX_BYTES)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (jpeg_with_scans(350), "50 scans: too much work to shrink"),
            (jpeg_of_kind(0xC9), "arithmetic coding.*: cannot be shrunk"),
        ],
        ids=["scans", "arithmetic coding"],
    )
    def test_an_image_that_would_take_minutes_or_is_unsupported_is_refused(
        self, content: bytes, words: str
    ) -> None:
        made("slow.jpg", content=content)
        with pytest.raises(InvalidInputError, match=words):
            shrink(Path("slow.jpg"), MAX_BYTES)
