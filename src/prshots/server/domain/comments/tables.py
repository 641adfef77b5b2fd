"""Tables of images, in HTML or in markdown.

HTML can set the width of an image. No name can break it: forges don't parse markdown in an HTML block, or
mentions in code. A forge that shows HTML as text gets markdown instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

from prshots.contract.comments import Marker
from prshots.contract.limits import THEMES, VIEWPORT
from prshots.contract.replies import ReviewState, Verdict
from prshots.server.domain.comments.layout import Column
from prshots.server.domain.comments.markup import code, link, name_as_code, screenshots, visible
from prshots.server.domain.images.markdown import image_markdown, one_line

FOLDED_ABOVE = 30
"""Above this many names, the comment folds names that share a folder. Longer lists are folded as well.

The number is a choice: people scroll past thirty names, but not past hundreds.
"""

_NEXT_TABLE = "</table>\n\n<table>\n"
"""Different columns get a separate table. In a shared table, the wider columns would stretch the others."""


@dataclass(frozen=True, slots=True)
class CommentImage:
    """An image, with `words` and `details` about it.

    In a table, the layout sets the width. With neither width nor height, the image has its own size.
    """

    url: str
    name: str
    words: str = ""
    details: str = ""
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class CommentShot:
    """A shot in the comment. It has a verdict if it was compared. Without `images`, it gets only a line.

    `images` holds one image, or a before image and an after image. `note` goes on the shot's line. `group`
    counts from 0: a group's first shot has images below its `caption`, and the others are folded below them.
    A `settled` shot needs nobody's attention: it gets a line in a folded list. One that `repeats` is counted
    in another group.
    """

    name: str
    column: Column
    verdict: Verdict | None = None
    note: str = ""
    images: Sequence[CommentImage] = ()
    group: int | None = None
    caption: str = ""
    settled: ReviewState | None = None
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """A row of cells under these columns. A cell can be empty."""

    columns: Sequence[Column]
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Block:
    """A name with its images, and the columns of its first and last grids."""

    text: str
    first: Sequence[Column]
    last: Sequence[Column]


class HtmlTables:
    def code(self, text: str) -> str:
        """Return the text as code, for a cell or for the summary of a folded section."""
        return f"<code>{escape(visible(text), quote=False)}</code>"

    def cell(self, image: CommentImage, column: Column, width: int) -> str:
        # Keep lines short: a long line would widen its column and squeeze the images in the others.
        words = " · ".join(filter(None, [label(column, self), image.words]))
        return "<br>".join(filter(None, [words, self._image(replace(image, width=width))]))

    def picture(self, name: str, words: str, images: Iterable[CommentImage], href: str) -> str:
        """Return images next to each other, below a line with the name and these words.

        Both link to `href`. If it is empty, each image links to itself.
        """
        title = f'<a href="{escape(href)}">{self.code(name)}</a>' if href else self.code(name)
        linked = "\n".join(self._image(image, href) for image in images)
        return f"\n<p>{title} · {words}<br>\n{linked}</p>\n"

    def _image(self, image: CommentImage, href: str = "") -> str:
        size = f'width="{image.width}" ' if image.width else ""
        if image.height:
            size += f'height="{image.height}" '
        picture = f'<img {size}alt="{escape(one_line(image.name))}" src="{escape(image.url)}">'
        return f'<a href="{escape(href or image.url)}">{picture}</a>'

    def block(self, name: str, grids: Sequence[Grid]) -> Block:
        """Return the block of a name: its heading and its images."""
        first, last = grids[0].columns, grids[-1].columns
        lines = [f'<tr><th align="left" colspan="{len(first)}">{self.code(name)}</th></tr>\n']
        for number, grid in enumerate(grids):
            if number:
                lines.append(_NEXT_TABLE)
            lines.append('<tr valign="top"><td>' + "</td><td>".join(grid.cells) + "</td></tr>\n")
        return Block("".join(lines), first, last)

    def tables(self, blocks: Iterable[Block]) -> str:
        """Return the blocks, one below the other."""
        texts: list[str] = []
        columns: Sequence[Column] = ()
        for block in blocks:
            if texts and block.first != columns:
                texts.append(_NEXT_TABLE)
            texts.append(block.text)
            columns = block.last
        return "".join(["\n<table>\n", *texts, "</table>\n"])


class MarkdownTables:
    """Like HtmlTables. Puts the name above the table, not in it, because `code` changes pipes."""

    def code(self, text: str) -> str:
        # Renderers disagree on how to escape a pipe in a code span in a table.
        return code(visible(text).replace("|", "¦"))

    def cell(self, image: CommentImage, column: Column, width: int) -> str:
        del column, width  # the table's header names the column, and markdown can't set a width
        return " ".join(filter(None, [image.words, self._image(image)]))

    def picture(self, name: str, words: str, images: Iterable[CommentImage], href: str) -> str:
        linked = " ".join(self._image(image, href) for image in images)
        return f"\n{link(name_as_code(name), href)} · {words}\n\n{linked}\n"

    def _image(self, image: CommentImage, href: str = "") -> str:
        return link(image_markdown(image.name, image.url), href or image.url)

    def block(self, name: str, grids: Sequence[Grid]) -> Block:
        lines = ["", name_as_code(name)]
        for grid in grids:
            heads = [label(column, self) for column in grid.columns]
            rows = [heads, ["---"] * len(heads), grid.cells]
            lines += ["", *("| " + " | ".join(row) + " |" for row in rows)]
        return Block("\n".join([*lines, ""]), grids[0].columns, grids[-1].columns)

    def tables(self, blocks: Iterable[Block]) -> str:
        return "".join(block.text for block in blocks)


Tables = HtmlTables | MarkdownTables
TABLES: dict[Marker, Tables] = {Marker.HTML: HtmlTables(), Marker.LINK: MarkdownTables()}


def label(column: Column, tables: Tables) -> str:
    return " ".join(
        text if text in THEMES or VIEWPORT.fullmatch(text) else tables.code(text) for text in column if text
    )


def sums(counts: Mapping[Verdict | None, int]) -> str:
    """Return the counts in words, such as "3 changed, 1 new". Omits zeros."""
    return ", ".join(f"{count} {_noun(verdict, count)}" for verdict, count in counts.items() if count)


def _noun(verdict: Verdict | None, count: int) -> str:
    if verdict is None:
        return screenshots(count)
    return "could not be compared" if verdict is Verdict.FAILED else verdict.value
