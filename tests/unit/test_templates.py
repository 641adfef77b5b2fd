"""What stands around the screenshots, and what a comment that is too long leaves out."""

from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.client.ci import Job
from prshots.client.comment_text import CommentText, count_in, count_of, gone, shortened, size
from prshots.client.forges.bitbucket import Bitbucket
from prshots.client.posting import Composer
from prshots.client.templates import MAX_BYTES, Template
from prshots.contract.errors import InvalidInputError
from prshots.server.domain.comment import MAX_LISTED, Entry, comment

URL = f"https://img.example.com/i/{'0a' * 16}.png?exp=1812345678&token=k1.{'5e' * 32}"
DASHBOARD = "https://shots.example.com/projects/web/prs/7"
OF_THE_JOB = {"pr_number": "7", "commit": "abc1234", "run_url": "https://ci.example/1"}

NASTY = [
    "{{count}}",
    "![a](b)",
    "- x",
    "### 9 screenshots",
    "The oldest 3 screenshots are only in the",
    "\\",
    "`",
]
NAMES = st.sampled_from(NASTY) | st.text(min_size=1, max_size=40)


def written(names: list[str], url: str = URL) -> str:
    """Return the comment on these screenshots, as the service itself writes it."""
    entries = [Entry(name, "1280x800", f"{number:040x}", url) for number, name in enumerate(names)]
    return comment(7, len(entries), entries[-MAX_LISTED:], DASHBOARD)


MANY = written([f"checkout/step {number}" for number in range(2000)])
"""With pictures, with lines, and with more that is in neither."""


class TestTakenApart:
    @given(st.lists(NAMES, max_size=6))
    def test_it_is_put_together_as_the_service_writes_it(self, names: list[str]) -> None:
        text = written(names)
        assert str(CommentText.of(text)) == text
        assert CommentText.of(text).count == len(names)

    @pytest.mark.parametrize("count", [1, 2, 250, 400, 1000, 2000, 5000])
    def test_also_when_not_all_are_shown(self, count: int) -> None:
        text = written([f"checkout/step {number}" for number in range(count)])
        assert str(CommentText.of(text)) == text
        assert count_of(text) == count

    def test_something_else_than_a_comment_of_the_service(self) -> None:
        for text in ("", "x", "<!-- svc:pr-7 -->", "<!-- svc:pr-7 -->\nno heading\n"):
            assert count_of(text) == 0


class TestShortened:
    @given(st.lists(NAMES, min_size=1, max_size=30), st.integers(200, 9000))
    def test_whole_entries_go_and_the_oldest_first(self, names: list[str], limit: int) -> None:
        text = written(names)
        short = shortened(text, limit)
        before, after = CommentText.of(text), CommentText.of(short)
        assert size(short) <= limit
        assert (after.marker, after.heading) == (before.marker, before.heading)
        assert after.pictures == before.pictures[len(before.pictures) - len(after.pictures) :]
        assert (short == text) == (size(text) <= limit)
        if left_out := len(before.pictures) - len(after.pictures):
            assert size(str(before.without(left_out - 1))) > limit  # no more went than had to
            assert short.endswith("not shown: the comment would be too long.\n")

    def test_what_is_only_listed_goes_before_what_is_shown(self) -> None:
        before = CommentText.of(MANY)
        after = CommentText.of(shortened(MANY, size(MANY) - 5000))
        assert after.pictures == before.pictures
        assert 0 < len(after.listed) < len(before.listed)
        assert after.listed == before.listed[-len(after.listed) :]
        tiny = shortened(MANY, 1000)
        assert CommentText.of(tiny).listed == ()
        left = len(CommentText.of(tiny).pictures)
        assert f"The oldest {2000 - left} screenshots are only in the [dashboard]({DASHBOARD})." in tiny

    def test_nothing_is_left_to_leave_out(self) -> None:
        assert shortened(MANY, 10) == (
            "<!-- svc:pr-7 -->\n### 2000 screenshots\n\n"
            f"The oldest 2000 screenshots are only in the [dashboard]({DASHBOARD}).\n"
        )

    def test_as_the_forge_writes_it(self) -> None:
        """Bitbucket takes half of what the service may write, and needs more for it."""
        forge = Bitbucket(api_url="http://127.0.0.1:1", repository="acme/shop", token="t")
        with closing(forge):
            composer = Composer(cast("Any", None), 7, Job())
            text = composer.fitted(MANY, forge)
            pictures = text.count("![")
            assert 32_000 < size(text) <= 32_768
            assert text.startswith("[//]: # (svc:pr-7)\n")
            assert f"The oldest {2000 - pictures} screenshots are only in the" in text
            assert composer.notes == [
                "the oldest screenshots are left out: Bitbucket takes no longer comment"
            ]


class TestGone:
    def test_it_has_no_picture_and_says_how_many_there_were(self) -> None:
        marker = "<!-- svc:pr-7 -->"
        text = gone(marker, 3, because_closed=True)
        assert text == (
            f"{marker}\n### 3 screenshots, deleted\n\nThey were deleted when the pull request was closed.\n"
        )
        assert count_in(text) == 3
        assert "It was deleted after" in gone(marker, 1, because_closed=False)

    def test_how_many_a_posted_comment_shows(self) -> None:
        text = written(["a", "b"])
        assert count_in(text) == 2
        assert count_in(Template.of("# Shots\n{{entries}}", "t").filled(text, OF_THE_JOB)) == 2
        assert count_in("<!-- svc:pr-7 -->\nnone") == 0


class TestTemplates:
    def test_the_places_are_filled_and_the_marker_stays_first(self) -> None:
        template = Template.of(
            "## {{count}} for #{{ pr_number }} at {{commit}}\n\n{{screenshots}}\n\n[Run]({{run_url}})\n", "t"
        )
        text = written(["cart"])
        marker, heading, rest = text.split("\n", 2)
        assert template.filled(text, OF_THE_JOB) == (
            f"{marker}\n## 1 for #7 at abc1234\n\n{heading}\n{rest.rstrip()}\n\n[Run](https://ci.example/1)\n"
        )
        parts = Template.of("{{entries}}\n{{heading}}", "t").filled(text, OF_THE_JOB)
        assert parts == f"{marker}\n{rest.strip()}\n{heading}"

    def test_a_name_that_looks_like_a_place_is_a_name(self) -> None:
        text = written(["{{count}} {{run_url}}"])
        filled = Template.of("{{screenshots}}", "t").filled(text, OF_THE_JOB)
        assert filled == text.rstrip()
        assert "{{run_url}}" in filled

    def test_what_the_ci_does_not_say_is_empty(self) -> None:
        composer = Composer(cast("Any", None), 7, Job(), Template.of("[{{commit}}] {{entries}}", "t"))
        assert composer._with_template(written([])) == "<!-- svc:pr-7 -->\n[] "

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "no {{screenshots}}"),
            (b"{{count}} screenshots", "no {{screenshots}}"),
            (
                b"{{screenshots}} {{branch}}",
                "asks for {{branch}}, which is not known; it may have {{screenshots}}",
            ),
            (b"{{screenshots}} ${{ github.sha }}", "{{github.sha}}"),
            (b"{{screenshots}} {{}}", "asks for {{}}"),
            (b"{{screenshots}} caf\xe9", "not a text in UTF-8"),
            ("{{screenshots}}".encode("utf-16"), "not a text in UTF-8"),
            (b"{{screenshots}}" + b"x" * MAX_BYTES, "more than 65,536 bytes"),
        ],
        ids=["empty", "no place", "unknown", "workflow's", "nothing", "latin-1", "utf-16", "huge"],
    )
    def test_a_file_that_is_none(self, content: bytes, said: str, tmp_path: Path) -> None:
        file = tmp_path / "template.md"
        file.write_bytes(content)
        with pytest.raises(InvalidInputError) as raised:
            Template.read(file)
        assert said in str(raised.value)
        assert str(file) in str(raised.value)

    def test_no_file(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "missing.md"):
            with pytest.raises(InvalidInputError, match="cannot be read") as raised:
                Template.read(path)
            assert str(path) in str(raised.value)

    def test_a_file_as_windows_writes_it(self, tmp_path: Path) -> None:
        file = tmp_path / "template.md"
        file.write_bytes(b"\xef\xbb\xbfShots\r\n{{entries}}\r\n")
        assert Template.read(file).text == "Shots\n{{entries}}\n"

    def test_with_which_the_comment_is_too_long(self) -> None:
        with closing(Bitbucket(api_url="http://127.0.0.1:1", repository="acme/shop", token="t")) as forge:
            template = Template.of("x" * 32_500 + "{{entries}}", "t")
            composer = Composer(cast("Any", None), 7, Job(), template)
            few = written(["a", "b", "c"])
            assert composer.fitted(few, forge) == forge.written(few)
            assert composer.notes == [
                "the template is left out: with it the comment is too long for Bitbucket"
            ]
            assert composer.fitted(written([]), forge).count("x") == 32_500
            assert composer.notes == []
