"""Templates around the screenshots: the rules that both clients share, and comments within the forge's size limit."""

import base64
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.client.ci import Job
from prshots.client.post_comment import Composer
from prshots.client.service import Client
from prshots.client.templates import Template
from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker, View
from prshots.contract.errors import InvalidInputError
from prshots.contract.replies import SizedComment
from prshots.forges import Forge
from prshots.forges.bitbucket import Bitbucket
from prshots.forges.github import GitHub
from prshots.forges.gitlab import GitLab
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.service import MAX_LISTED, all_view
from support.comment_entries import listed_image, url_of
from support.vectors import cases

URL = f"https://img.example.com/i/{'0a' * 16}.png?exp=1812345678&token=k1.{'5e' * 32}"
DASHBOARD = "https://shots.example.com/projects/web/prs/7"
JOB = Job(pr_number=7, commit_sha="abc1234", run_url="https://ci.example/1")
VALUES = {"pr_number": "7", "commit": "abc1234", "run_url": "https://ci.example/1", "dashboard_url": ""}

NAMES = st.sampled_from(["{{count}}", "![a](b)", "- x", "### 9 screenshots", "\\", "`"]) | st.text(
    min_size=1, max_size=40
)


@dataclass
class CommentsOnly:
    """The service's comments, written by the service's own code, without HTTP."""

    names: Sequence[str]

    def comment(
        self,
        pr_number: int,
        *,
        limit: int = MAX_COMMENT_BYTES,
        marker: Marker = Marker.HTML,
        view: View = View.ALL,
    ) -> SizedComment:
        assert view is View.ALL
        assert MIN_COMMENT_BYTES <= limit <= MAX_COMMENT_BYTES  # the service refuses any other limit
        entries = [
            listed_image(name, "1280x800", f"{number:040x}", URL) for number, name in enumerate(self.names)
        ]
        frame = Frame(pr_number, DASHBOARD, limit, marker)
        return all_view(frame, len(entries), entries[-MAX_LISTED:], url_of)


def composer(names: Sequence[str], template: str = "") -> Composer:
    service = cast("Client", CommentsOnly(names))
    return Composer(service, 7, JOB, Template.of(template, "t") if template else None)


def written(names: Sequence[str], marker: Marker = Marker.HTML) -> SizedComment:
    return CommentsOnly(names).comment(7, marker=marker)


@pytest.fixture(params=[GitHub, GitLab, Bitbucket], ids=lambda kind: kind.label)
def forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    with closing(request.param(api_url="http://127.0.0.1:1", repository="acme/shop", token="t")) as made:
        yield made


class TestSizeLimit:
    def test_a_comment_that_fits_is_unchanged(self, forge: Forge) -> None:
        made = composer(["a", "b"])
        assert made.text_for(forge) == written(["a", "b"], forge.marker_style).markdown
        assert made.text_for(forge).startswith(f"{forge.marker(7)}\n")
        assert made.notes == []

    def test_a_note_counts_the_screenshots_without_an_image(self, forge: Forge) -> None:
        made = composer([f"checkout/step {number}" for number in range(2000)])
        text = made.text_for(forge)
        limit = min(forge.max_characters, MAX_COMMENT_BYTES)
        assert limit - 200 < len(text.encode()) <= limit
        without = 2000 - text.count("![")
        assert made.notes == [
            f"the comment has no image of {without} of 2000 screenshots, because it can have at most {limit:,} bytes"
        ]

    @given(
        st.lists(NAMES, min_size=1, max_size=4),
        st.integers(1, 400),
        st.integers(0, 31_000),
        st.sampled_from(["{{screenshots}}", "{{entries}}\n{{heading}}", "{{entries}} {{count}} {{entries}}"]),
    )
    def test_a_comment_with_any_template_fits_and_starts_with_the_marker(
        self, names: list[str], count: int, padding: int, places: str
    ) -> None:
        with closing(Bitbucket(api_url="http://127.0.0.1:1", repository="a/b", token="t")) as forge:
            made = composer(
                [names[number % len(names)] for number in range(count)], "é" * (padding // 2) + places
            )
            text = made.text_for(forge)
        assert len(text.encode()) <= forge.max_characters
        assert text.startswith("[//]: # (svc:pr-7)\n\n")


class TestTemplates:
    def test_the_template_surrounds_the_screenshots(self) -> None:
        assert composer(["a"], "Shots\n{{screenshots}}").markdown() == written(["a"]).markdown.replace(
            "###", "Shots\n###"
        ).rstrip("\n")
        assert composer(["a"]).markdown() == written(["a"]).markdown

    def test_a_value_that_the_ci_does_not_provide_is_empty(self) -> None:
        made = Composer(
            cast("Client", CommentsOnly([])), 7, Job(), Template.of("[{{commit}}] {{entries}}", "t")
        )
        assert made.markdown() == "<!-- svc:pr-7 -->\n[] "

    def test_a_folder_and_a_long_file_are_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "template.md"
        file.write_bytes(b"{{screenshots}}" + b"x" * MAX_COMMENT_BYTES)
        for path, words in (
            (file, "longer than 65,536 bytes"),
            (tmp_path, f"cannot read the template: .*{tmp_path}"),
        ):
            with pytest.raises(InvalidInputError, match=words):
                Template.read(path)

    def test_a_file_with_a_bom_and_crlf_is_read(self, tmp_path: Path) -> None:
        file = tmp_path / "template.md"
        file.write_bytes(b"\xef\xbb\xbfShots\r\n{{entries}}\r\n")
        assert Template.read(file).text == "Shots\n{{entries}}\n"


@pytest.mark.parametrize("case", cases("templates", "filled"))
def test_a_template_is_filled(case: dict[str, Any]) -> None:
    comment = SizedComment(pr_number=7, shown=0, listed=0, omitted=0, **case["comment"])
    assert Template.of(case["template"], "t").fill(comment, VALUES) == case["text"]


@pytest.mark.parametrize("case", cases("templates", "rooms"))
def test_a_template_leaves_room(case: dict[str, Any]) -> None:
    template = Template.of(case["template"], "t")
    assert template.room(case["limit"], "<!-- svc:pr-7 -->", VALUES) == case["room"]


@pytest.mark.parametrize("case", cases("templates", "refused"))
def test_an_invalid_template_is_refused(case: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "template.md"
    file.write_bytes(base64.b64decode(case["file"]))
    with pytest.raises(InvalidInputError) as refused:
        Template.read(file)
    assert str(refused.value).startswith(f"the template {file} {case['error']}")
