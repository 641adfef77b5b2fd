"""Markdown as the forges' renderers show it.

GitHub renders with cmark-gfm, GitLab with comrak, both with extensions. Most others follow CommonMark, as
markdown-it does.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser

import cmarkgfm
import comrak
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt


def _comrak() -> Callable[[str], str]:
    extensions = comrak.ExtensionOptions()
    for name in (
        *("table", "autolink", "strikethrough", "tagfilter", "tasklist", "footnotes", "inline_footnotes"),
        *("math_dollars", "math_code", "alerts", "multiline_block_quotes", "description_lists"),
    ):
        setattr(extensions, name, True)
    rendering = comrak.RenderOptions()
    rendering.unsafe_ = True  # show HTML as HTML, so that a test can see it
    return partial(comrak.render_markdown, extension_options=extensions, render_options=rendering)


RENDERERS: dict[str, Callable[[str], str]] = {
    "markdown-it": MarkdownIt("commonmark").enable(["table", "strikethrough"]).render,
    "cmark-gfm": partial(
        cmarkgfm.github_flavored_markdown_to_html,
        options=Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_UNSAFE,
    ),
    "comrak": _comrak(),
}


class Page(HTMLParser):
    """The tags, images, links and text of the rendered page."""

    def __init__(self, markdown: str, renderer: str = "markdown-it") -> None:
        super().__init__()
        self.renderer = renderer
        self.tags: Counter[str] = Counter()
        self.images: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.codes: list[str] = []
        self.comments: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(RENDERERS[renderer](markdown))
        self.close()

    def __repr__(self) -> str:
        return f"Page({self.renderer}: {self.tags})"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        found = dict(attrs)
        match tag:
            case "img":
                self.images.append((found["src"] or "", found["alt"] or ""))
            case "a":
                self.links.append(found["href"] or "")
            case "code":
                self.codes.append("")
        if tag not in {"img", "br"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" in self._open:
            self.codes[-1] += data
        else:
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def words(self) -> str:
        return " ".join(self.text.replace("\u200e", "").split())


def pages(markdown: str) -> list[Page]:
    """Return the page of each renderer."""
    return [Page(markdown, renderer) for renderer in RENDERERS]
