"""Tables of images, in HTML or in markdown.

HTML can set the width of an image. No name can break it: forges don't parse markdown in an HTML block, or
mentions in code. A forge that shows HTML as text gets markdown instead.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

from prshots.contract.comments import Marker
from prshots.contract.limits import THEMES, VIEWPORT
from prshots.server.domain.comments.layout import Column
from prshots.server.domain.comments.markup import code, link, name_as_code, visible
from prshots.server.domain.images.markdown import image_markdown, one_line

_NEXT_TABLE = "</table>\n\n<table>\n"
"""Different columns get a separate table. In a shared table, the wider columns would stretch the others."""


@dataclass(frozen=True, slots=True)
class CommentImage:
    """An image with `words` and a `link` (text and URL) above it and `details` below.

    `has_label` is false for the second image of a pair, because the first one names the column. In a table,
    the layout sets the width. With neither width nor height, the image has its own size.
    """

    url: str
    name: str
    words: str = ""
    link: tuple[str, str] | None = None
    details: str = ""
    has_label: bool = True
    width: int = 0
    height: int = 0


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells under these columns. A cell can be empty."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]


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
        words = [label(column, self)] if image.has_label else []
        if image.words:
            words.append(image.words)
        if image.link:
            text, address = image.link
            words.append(f'<a href="{escape(address)}">{text}</a>')
        # Keep lines short: a long line would widen its column and squeeze the images in the others.
        return "<br>".join(
            filter(None, [" · ".join(words), self._image(replace(image, width=width)), image.details])
        )

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

    def block(self, name: str, words: str, grids: Sequence[Grid]) -> Block:
        """Return the block of a name: its heading, with these words, and its images."""
        first, last = grids[0].columns, grids[-1].columns
        title = f"{self.code(name)} {words}".rstrip()
        lines = [f'<tr><th align="left" colspan="{len(first)}">{title}</th></tr>\n']
        for number, grid in enumerate(grids):
            if number:
                lines.append(_NEXT_TABLE)
            lines += ['<tr valign="top"><td>' + "</td><td>".join(row) + "</td></tr>\n" for row in grid.rows]
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
        words = [image.words, self._image(image), image.details]
        if image.link:
            text, address = image.link
            words.append(f"[{text}]({address})")
        return " ".join(filter(None, words))

    def picture(self, name: str, words: str, images: Iterable[CommentImage], href: str) -> str:
        linked = " ".join(self._image(image, href) for image in images)
        return f"\n{link(name_as_code(name), href)} · {words}\n\n{linked}\n"

    def _image(self, image: CommentImage, href: str = "") -> str:
        return link(image_markdown(image.name, image.url), href or image.url)

    def block(self, name: str, words: str, grids: Sequence[Grid]) -> Block:
        lines = ["", f"{name_as_code(name)} {words}".rstrip()]
        for grid in grids:
            heads = [label(column, self) for column in grid.columns]
            rows = [heads, ["---"] * len(heads), *grid.rows]
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
