"""Boxes, arrows and text as SVG, in a light and a dark theme."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"
CORNER = 8
LINE_HEIGHT = 18


@dataclass(frozen=True)
class Theme:
    """Colors. `kinds` has the fill and the border of each kind of box."""

    name: str
    canvas: str
    text: str
    muted: str
    line: str
    group: str
    kinds: dict[str, tuple[str, str]]


LIGHT = Theme(
    name="light",
    canvas="#ffffff",
    text="#1f2328",
    muted="#59636e",
    line="#59636e",
    group="#f6f8fa",
    kinds={
        "outside": ("#ffffff", "#d1d9e0"),
        "component": ("#ddf4ff", "#54aeff"),
        "engine": ("#dafbe1", "#4ac26b"),
        "secret": ("#fff8c5", "#d4a72c"),
    },
)
DARK = Theme(
    name="dark",
    canvas="#0d1117",
    text="#f0f6fc",
    muted="#9198a1",
    line="#9198a1",
    group="#151b23",
    kinds={
        "outside": ("#0d1117", "#3d444d"),
        "component": ("#12263f", "#388bfd"),
        "engine": ("#12301f", "#3fb950"),
        "secret": ("#2f2506", "#bb8009"),
    },
)


@dataclass(frozen=True)
class Box:
    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height

    @property
    def center(self) -> int:
        return self.x + self.width // 2

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


@dataclass
class Picture:
    width: int
    height: int
    theme: Theme
    title: str
    _parts: list[str] = field(default_factory=list)

    def group(self, box: Box, label: str) -> None:
        """Draw a background for boxes that belong together, with its label at the top."""
        self._rectangle(box, self.theme.group, self.theme.kinds["outside"][1], "stroke-dasharray='4 4'")
        self.text(box.center, box.y + 19, label, size=12, muted=True)

    def box(self, box: Box, kind: str, title: str, lines: Sequence[str] = ()) -> Box:
        self._rectangle(box, *self.theme.kinds[kind])
        y = box.middle - len(lines) * LINE_HEIGHT // 2 + 5
        self.text(box.center, y, title, bold=True)
        for number, line in enumerate(lines, 1):
            self.text(box.center, y + number * LINE_HEIGHT, line, size=13, muted=True)
        return box

    def text(
        self,
        x: int,
        y: int,
        text: str,
        *,
        size: int = 15,
        bold: bool = False,
        muted: bool = False,
        anchor: str = "middle",
    ) -> None:
        weight = "600" if bold else "400"
        color = self.theme.muted if muted else self.theme.text
        self._parts.append(
            f"<text x='{x}' y='{y}' font-size='{size}' font-weight='{weight}' fill='{color}' "
            f"text-anchor='{anchor}'>{escape(text)}</text>"
        )

    def arrow(
        self,
        *points: tuple[int, int],
        label: str = "",
        at: tuple[int, int] = (0, 0),
        read_only: bool = False,
        anchor: str = "middle",
    ) -> None:
        """Draw a line through the points, with rounded corners and a head at its end; `at` is the label's place."""
        dashes = " stroke-dasharray='6 4'" if read_only else ""
        self._parts.append(
            f"<path d='{_rounded(points)}' fill='none' stroke='{self.theme.line}' stroke-width='1.5'{dashes} "
            "marker-end='url(#head)'/>"
        )
        if label:
            self.text(*at, label, size=13, anchor=anchor)

    def write(self, file: Path) -> None:
        head = (
            "<marker id='head' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='8' markerHeight='8' "
            f"orient='auto-start-reverse'><path d='M0 1L10 5L0 9z' fill='{self.theme.line}'/></marker>"
        )
        canvas = (
            f"<rect width='{self.width}' height='{self.height}' rx='{CORNER}' fill='{self.theme.canvas}'/>"
        )
        body = "\n".join(
            [f"<title>{escape(self.title)}</title>", f"<defs>{head}</defs>", canvas, *self._parts]
        )
        file.write_text(
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width} {self.height}' "
            f'width="{self.width}" height="{self.height}" role="img" font-family="{FONT}">\n{body}\n</svg>\n'
        )

    def _rectangle(self, box: Box, fill: str, border: str, more: str = "") -> None:
        self._parts.append(
            f"<rect x='{box.x}' y='{box.y}' width='{box.width}' height='{box.height}' rx='{CORNER}' "
            f"fill='{fill}' stroke='{border}' stroke-width='1.5' {more}/>"
        )


def _rounded(points: Sequence[tuple[int, int]]) -> str:
    path = [f"M{points[0][0]} {points[0][1]}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before), _towards(corner, after)
        path.append(f"L{start[0]} {start[1]}Q{corner[0]} {corner[1]} {end[0]} {end[1]}")
    return "".join([*path, f"L{points[-1][0]} {points[-1][1]}"])


def _towards(corner: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return the point on the way to `other` where the corner's curve begins or ends. Lines are level or upright."""

    def step(a: int, b: int) -> int:
        return a + max(-CORNER, min(CORNER, b - a))

    return step(corner[0], other[0]), step(corner[1], other[1])


def write_both(name: str, draw: Callable[[Theme], Picture], folder: Path) -> None:
    """Write <name>-light.svg and <name>-dark.svg."""
    for theme in (LIGHT, DARK):
        draw(theme).write(folder / f"{name}-{theme.name}.svg")
