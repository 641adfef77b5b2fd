"""Finding and naming screenshot files, reporting invalid ones, and shrinking those that are too large."""

import io
import os
import secrets
import zlib
from pathlib import Path

import pytest
from PIL import Image

from prshots.client.shots import Found, ShotFile, find_shots
from prshots.client.shrinking import MAX_PIXELS, shrunk
from prshots.contract.errors import InvalidInputError
from support.nasty_pictures import jpeg_of_kind, jpeg_with_scans, jpeg_with_segments, png_with_chunks
from support.service import MAX_BYTES


def picture(size: tuple[int, int] = (20, 10), kind: str = "PNG", **how: object) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size).save(file, kind, **how)
    return file.getvalue()


SMALL = picture()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run each test in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(*names: str, content: bytes = SMALL) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content)


def names(found: Found) -> list[str]:
    assert found.problems == []
    return [shot.name for shot in found.shots]


def problems(*paths: str, **options: object) -> dict[str, str]:
    """Return each file's problem. Fail if any file is a valid screenshot."""
    found = find_shots(paths, **options)  # type: ignore[arg-type]
    assert found.shots == []
    return {problem.path: problem.words for problem in found.problems}


def only(found: Found) -> ShotFile:
    [shot] = found.shots
    assert found.problems == []
    return shot


class TestFinding:
    def test_a_folder_is_searched_recursively_and_names_are_relative_to_it(self) -> None:
        made(
            "out/cart.png",
            "out/checkout/pay.JPG",
            "out/checkout/pay.webp.txt",
            "out/a/b/c.jpeg",
            "out/d.webp",
        )
        made("out/.hidden.png", "out/.git/x.png", "out/notes.md", "elsewhere.png")
        assert names(find_shots(["out"])) == ["a/b/c", "cart", "checkout/pay", "d"]
        assert names(find_shots(["./out/"])) == ["a/b/c", "cart", "checkout/pay", "d"]
        assert names(find_shots([Path("out").absolute()])) == ["a/b/c", "cart", "checkout/pay", "d"]

    @pytest.mark.parametrize(
        ("pattern", "found"),
        {
            "out/*.png": ["out/cart"],
            "out/**/*.png": ["out/cart", "out/checkout/pay", "out/deep/er/end"],
            "**/pay.*": ["out/checkout/pay"],
            "out/*/*.png": ["out/checkout/pay"],
            "o?t/ch*/pay.png": ["out/checkout/pay"],
            "out/[bc]art.png": ["out/cart"],
            "out/**": ["out/cart", "out/checkout/pay", "out/deep/er/end"],
            "./out/../out/*.png": ["out/cart"],
            "nowhere/*.png": [],
        }.items(),
    )
    def test_a_glob_finds_the_matching_files(self, pattern: str, found: list[str]) -> None:
        made("out/cart.png", "out/checkout/pay.png", "out/deep/er/end.png", "out/.cache/old.png")
        assert names(find_shots([pattern])) == found

    def test_a_file_name_that_looks_like_a_glob_is_taken_literally(self) -> None:
        made("pages/[id].png", "pages/i.png")
        assert names(find_shots(["pages/[id].png"])) == ["pages/[id]"]

    def test_a_file_that_several_paths_match_is_found_once(self) -> None:
        made("out/cart.png")
        assert names(find_shots(["out", "out/cart.png", "out/*.png", "./out"])) == ["cart"]

    def test_files_outside_the_current_folder_are_named_by_their_path(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made("shots/cart.png", "app/x.png")
        monkeypatch.chdir(folder / "app")
        assert names(find_shots(["../shots/cart.png"])) == ["shots/cart"]
        assert names(find_shots([f"{folder}/app/x.png"])) == ["x"]
        assert names(find_shots([f"{folder}/shots/cart.png"])) == [f"{folder}/shots/cart".removeprefix("/")]

    def test_names_are_relative_to_the_base(self) -> None:
        made("a/shots/cart.png", "b/pay.png")
        assert names(find_shots(["a/shots/*.png"], base="a/shots")) == ["cart"]
        assert names(find_shots(["a/shots"], base="a")) == ["shots/cart"]
        assert "is not in a:" in problems("b/pay.png", base="a")["b/pay.png"]

    def test_shots_are_sorted_with_numbers_in_numeric_order(self) -> None:
        made("step-10.png", "step-9.png", "step-9@1280x800.png", "step-9@390x844.png", "b.png")
        shots = find_shots(["*.png"]).shots
        assert [(shot.name, shot.viewport) for shot in shots] == [
            ("b", "20x10"),
            ("step-9", "20x10"),
            ("step-9", "390x844"),
            ("step-9", "1280x800"),
            ("step-10", "20x10"),
        ]

    def test_a_search_finds_symlinked_files_but_skips_symlinked_folders(self) -> None:
        made("out/a/cart.png", "real/big.png")
        Path("out/a/up").symlink_to("..")
        Path("out/b").symlink_to("a", target_is_directory=True)
        Path("out/linked.png").symlink_to("../real/big.png")
        Path("in").symlink_to("out")
        assert names(find_shots(["out"])) == ["a/cart", "linked"]
        assert names(find_shots(["in"])) == ["a/cart", "linked"]  # a link named explicitly is followed
        assert names(find_shots(["out/**/*.png"])) == ["out/a/cart", "out/linked"]
        assert names(find_shots(["out/b/*.png"])) == ["out/b/cart"]

    def test_a_missing_path_is_a_problem_but_an_empty_match_is_not(self) -> None:
        Path("empty").mkdir()
        assert find_shots(["empty", "*.png"]) == ([], [])
        found = find_shots(["nowhere", "", "no\0where"])
        assert [(problem.path, problem.is_missing) for problem in found.problems] == [
            ("nowhere", True),
            ("", True),
            ("no\0where", True),
        ]

    def test_an_unreadable_path_is_reported_and_does_not_stop_the_search(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made("out/cart.png")
        Path("out/loop.png").symlink_to("loop.png")
        monkeypatch.chdir("out")
        for _ in range(20):  # until the path exceeds the maximum length
            Path("d" * 250).mkdir()
            monkeypatch.chdir("d" * 250)
        monkeypatch.chdir(folder)
        found = find_shots(["out"])
        assert [shot.name for shot in found.shots] == ["cart"]
        assert [problem.words for problem in found.problems] == [
            "cannot search the folder: File name too long",
            "cannot read: Too many levels of symbolic links",
        ]


class TestNamesAndViewports:
    @pytest.mark.parametrize(
        ("path", "name", "viewport"),
        [
            ("cart.png", "cart", "20x10"),
            ("cart@1280x800.png", "cart", "1280x800"),
            ("cart@1280x800@2x.png", "cart", "1280x800"),
            ("cart @390x844.png", "cart", "390x844"),
            ("cart/@390x844.png", "cart", "390x844"),
            ("cart@2x.png", "cart@2x", "20x10"),
            ("me@example.org.png", "me@example.org", "20x10"),
            ("v1.2.png", "v1.2", "20x10"),
            ("größe 家.png", "größe 家", "20x10"),
            ("no-extension", "no-extension", "20x10"),
            ("shot.bin", "shot.bin", "20x10"),
        ],
    )
    def test_come_from_the_path(self, path: str, name: str, viewport: str) -> None:
        made(path)
        shot = only(find_shots([path]))
        assert (shot.name, shot.viewport) == (name, viewport)

    def test_given_as_options_override_the_path(self) -> None:
        made("cart@1280x800.png")
        assert only(find_shots(["cart@1280x800.png"], viewport="1x2")).viewport == "1x2"
        shot = only(find_shots(["*.png"], name="The cart @5x5"))
        assert (shot.name, shot.viewport) == ("The cart @5x5", "20x10")

    def test_one_name_for_two_files_or_an_invalid_viewport_is_refused(self) -> None:
        made("a.png", "b.png")
        with pytest.raises(InvalidInputError, match="2 files were found"):
            find_shots(["*.png"], name="x")
        with pytest.raises(InvalidInputError, match="invalid viewport '12': use"):
            find_shots(["a.png"], viewport="12")

    def test_a_long_jpeg_header_is_read_to_its_end(self) -> None:
        made("notes.jpg", content=picture((30, 40), "JPEG", icc_profile=bytes(300_000)))
        assert only(find_shots(["notes.jpg"])).viewport == "30x40"

    def test_the_content_type_comes_from_the_content_not_the_extension(self) -> None:
        made("photo.png", content=picture(kind="JPEG"))
        made("same.jpg", content=picture(kind="JPEG"))
        shots = {shot.name: shot for shot in find_shots(["."]).shots}
        assert shots["photo"].content_type == shots["same"].content_type == "image/jpeg"
        assert shots["photo"].note == "is a JPEG, despite its extension"
        assert shots["same"].note == ""


class TestWarnings:
    @pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
    def test_a_file_that_is_cut_off_is_used_with_a_warning(self, kind: str) -> None:
        whole = picture(kind=kind)
        made("whole.png", content=whole)
        made("damaged.png", content=whole[:-3])
        shots = {shot.name: shot for shot in find_shots(["."], viewport="20x10").shots}
        assert shots["whole"].warning == ""
        assert f"the file is cut off (damaged {kind}); uploading it anyway" in shots["damaged"].warning


class TestProblems:
    def test_each_invalid_file_is_reported_and_valid_ones_are_found(self) -> None:
        made("good.png")
        made("empty.png", content=b"")
        made("text.png", content=b"hello")
        made("cut.png", content=SMALL[:14])
        made("wide@100000x5.png", "zero@0x5.png", "@5x5.png")
        made(f"{'x' * 150}/{'y' * 150}.png")
        os.mkfifo("pipe.png")
        Path("gone.png").symlink_to("nowhere")
        Path(os.fsdecode(b"caf\xe9.png")).write_bytes(SMALL)
        found = find_shots(["."])
        assert [shot.name for shot in found.shots] == ["good"]
        assert {problem.path: problem.words for problem in found.problems} == {
            "empty.png": "is empty",
            "text.png": "is not a PNG, JPEG or WebP image",
            "cut.png": "has no size in pixels: the file may be damaged",
            "wide@100000x5.png": "has the viewport 100000x5: use --viewport, with sides of 1 to 99999",
            "zero@0x5.png": "has the viewport 0x5: use --viewport, with sides of 1 to 99999",
            "@5x5.png": "has no name, only a viewport: use --name",
            f"{'x' * 150}/{'y' * 150}.png": "has a name of 301 characters, more than 200: shorten it with --base",
            "pipe.png": "is not a file",
            "gone.png": "cannot read: No such file or directory",
            "caf\udce9.png": "has a name that is not UTF-8: rename it, or use --name",
        }

    def test_a_large_file_is_no_problem_because_the_service_sets_the_limit(self) -> None:
        made("large.png", content=SMALL.ljust(MAX_BYTES, b"\0"))
        assert only(find_shots(["large.png"])).size == MAX_BYTES

    def test_a_second_file_with_the_same_name_and_viewport_is_reported(self) -> None:
        made("a/cart.png", "b/cart.png", "b/cart@5x5.png")
        found = find_shots(["a", "b"])
        assert [(shot.path, shot.viewport) for shot in found.shots] == [
            (Path("b/cart@5x5.png"), "5x5"),
            (Path("a/cart.png"), "20x10"),
        ]
        [problem] = found.problems
        assert (problem.path, problem.words) == (
            "b/cart.png",
            "has the same name and viewport as a/cart.png: rename one",
        )


def noise(size: tuple[int, int], mode: str = "RGB") -> Image.Image:
    return Image.frombytes(mode, size, secrets.token_bytes(size[0] * size[1] * len(mode)))


class TestShrinking:
    def test_is_lossless_if_the_result_is_small_enough(self) -> None:
        smooth = Image.linear_gradient("L").resize((640, 400)).convert("RGB")
        smooth.save("smooth.png", compress_level=0)
        assert Path("smooth.png").stat().st_size > 700_000
        content, content_type, label = shrunk(Path("smooth.png"), limit=700_000)
        assert (content_type, label) == ("image/webp", "WebP")
        assert len(content) < 700_000
        with Image.open(io.BytesIO(content)) as shown:
            assert shown.convert("RGB").tobytes() == smooth.tobytes()

    def test_keeps_png_if_the_image_is_too_long_for_webp(self) -> None:
        Image.new("RGB", (10, 20_000)).save("long.png", compress_level=0)
        content, content_type, _ = shrunk(Path("long.png"), limit=500_000)
        assert content_type == "image/png"
        with Image.open(io.BytesIO(content)) as shown:
            assert shown.size == (10, 20_000)

    def test_scales_noise_down_until_it_fits(self) -> None:
        noise((300, 200), "RGBA").save("noise.png")
        content, content_type, _ = shrunk(Path("noise.png"), limit=5_000)
        assert content_type == "image/webp"
        assert len(content) < 5_000
        with Image.open(io.BytesIO(content)) as shown:
            assert shown.width < 300
            assert shown.mode == "RGBA"

    def test_applies_the_exif_orientation(self) -> None:
        notes = Image.Exif()
        notes[0x0112] = 6
        Image.new("RGB", (40, 20)).save("turned.jpg", exif=notes)
        with Image.open(io.BytesIO(shrunk(Path("turned.jpg"), MAX_BYTES).content)) as shown:
            assert shown.size == (20, 40)

    @pytest.mark.parametrize(
        "content", [SMALL[:40], b"\x89PNG\r\n\x1a\n", b"GIF89a"], ids=["truncated", "signature only", "GIF"]
    )
    def test_an_image_that_cannot_be_decoded_is_refused(self, content: bytes) -> None:
        made("broken.png", content=content)
        with pytest.raises(InvalidInputError, match="cannot be shrunk"):
            shrunk(Path("broken.png"), MAX_BYTES)

    def test_a_decompression_bomb_is_refused(self) -> None:
        header = b"IHDR" + (int(MAX_PIXELS**0.5) + 1).to_bytes(4) * 2 + SMALL[24:29]
        made("bomb.png", content=SMALL[:12] + header + zlib.crc32(header).to_bytes(4) + SMALL[33:])
        with pytest.raises(InvalidInputError, match="too many to shrink"):
            shrunk(Path("bomb.png"), MAX_BYTES)

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (jpeg_with_scans(350), "50 scans: too much work to shrink"),
            (jpeg_with_segments(260_000), "1,000 segments: too much work to shrink"),
            (png_with_chunks(20_000), "10,000 chunks: too much work to shrink"),
            (jpeg_of_kind(0xC9), "arithmetic coding.*: cannot be shrunk"),
        ],
        ids=["scans", "segments", "chunks", "arithmetic coding"],
    )
    def test_an_image_that_would_take_minutes_is_refused(self, content: bytes, words: str) -> None:
        made("slow.jpg", content=content)
        with pytest.raises(InvalidInputError, match=words):
            shrunk(Path("slow.jpg"), MAX_BYTES)
