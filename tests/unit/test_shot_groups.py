"""The groups of a comparison: their kinds, order, ids, titles and parts."""

import time
from itertools import chain, product
from random import Random

import pytest

from prshots.contract.replies import GroupKind, Move, Region, ShotPart, Verdict
from prshots.server.domain.comparison.groups import group_shots
from prshots.server.domain.comparison.models import (
    ColorChange,
    Piece,
    PieceKind,
    PlannedShot,
    Shape,
    ShotResult,
    ShownPart,
)
from prshots.server.domain.images.models import ShotKey

VIEWPORTS, THEMES = ("390x844", "1280x800"), ("light", "dark")
CHANGED, MOVED, NEW, REMOVED = Verdict.CHANGED, Verdict.MOVED, Verdict.NEW, Verdict.REMOVED
GROUND, CARD, LINK = (
    ColorChange(*colors)
    for colors in (
        ("#0f1419", "#15101c", 900_000),
        ("#1a2129", "#221a2c", 300_000),
        ("#0969da", "#8250df", 50),
    )
)
DOWN: Move = (0, 200, 300, 400, 0, 36)


def words(text: str, height: int = 10) -> list[Shape]:
    """Return a shape for each word: the same word looks the same, and words look different."""
    return [Shape(7 * len(word), height, Random(word).getrandbits(64)) for word in text.split()]


def piece(
    text: str, box: Region = (1000, 20, 80, 12), kind: PieceKind = "changed", height: int = 10
) -> Piece:
    return Piece(box, kind, words(text, height))


def shot(
    name: str,
    *pieces: Piece,
    viewport: str = "1280x800",
    theme: str = "light",
    moves: tuple[Move, ...] = (),
    colors: tuple[ColorChange, ...] = (),
    is_redrawn: bool = False,
) -> PlannedShot:
    verdict = CHANGED if pieces else MOVED
    shown = [ShownPart(each.box, [number]) for number, each in enumerate(pieces)]
    result = ShotResult(verdict, 100, pieces, moves, colors, is_redrawn, closeups=shown)
    return PlannedShot(ShotKey(name, viewport, theme), None, None, result)


def shots(name: str, *pieces: Piece, themes: tuple[str, ...] = THEMES, **more: object) -> list[PlannedShot]:
    """Return the shots of a name in both viewports."""
    return [
        shot(name, *pieces, viewport=viewport, theme=theme, **more)  # type: ignore[arg-type]
        for viewport, theme in product(VIEWPORTS, themes)
    ]


def uncompared(name: str, verdict: Verdict) -> list[PlannedShot]:
    return [
        PlannedShot(ShotKey(name, *rest), None, None, ShotResult(verdict))
        for rest in product(VIEWPORTS, THEMES)
    ]


def found(*planned: list[PlannedShot]) -> list[tuple[str, int, list[str]]]:
    groups = group_shots([*chain(*planned)]).groups
    return [(group.kind.value, group.shots, list(group.names)) for group in groups]


def titles(*planned: list[PlannedShot]) -> list[str]:
    return [group.title for group in group_shots([*chain(*planned)]).groups]


def test_groups_are_in_the_order_to_review_them() -> None:
    ground = piece("", (0, 0, 1280, 800), "recolored")
    banner = piece("Free delivery until Sunday", (0, 60, 390, 36), "came")
    everything = [
        *(each for name in ("b", "a") for each in shots(name, ground, themes=("dark",), colors=(GROUND,))),
        *uncompared("fresh", NEW),
        *(each for name in ("d", "e", "c") for each in shots(name, banner, moves=(DOWN,))),
        *(
            each
            for name in ("step-10", "step-2")
            for each in shots(name, piece("Pay now"), themes=("light",))
        ),
        shot("alone", piece("Elsewhere")),
        shot("aside", moves=((0, 0, 90, 90, 1, 0),)),
        shot("french", piece("Bonjour tout le monde"), is_redrawn=True),
        *uncompared("same", Verdict.UNCHANGED),
        *uncompared("broken", Verdict.FAILED),
        *uncompared("gone", REMOVED),
    ]
    grouped = group_shots(everything)
    assert [(group.kind.value, group.shots, group.names, group.title) for group in grouped.groups] == [
        ("removed", 4, ["gone"], "gone: 4 screenshots removed"),
        ("single", 1, ["alone"], "alone: a word changed at the top right in 1 screenshot"),
        ("same_pixels", 4, ["step-2", "step-10"], "step-2, step-10: the same line of text changed at the top right in 4 screenshots"),
        ("inserted", 12, ["c", "d", "e"], "c, d, e: 36 px came in above the content in 12 screenshots"),
        ("new", 4, ["fresh"], "fresh: 4 new screenshots"),
        ("moved", 1, ["aside"], "content 1 px right in 1 screenshot"),
        ("redrawn", 1, ["french"], "nearly all text drawn differently in 1 screenshot: another font, size or language"),
        ("recolored", 4, ["a", "b"], "4 dark screenshots recolored: #0f1419 → #15101c"),
    ]  # fmt: skip
    in_groups = {each.shot for each in everything if each.shot.name not in {"same", "broken"}}
    assert {*grouped.parts} == in_groups
    used = {part.group for parts in grouped.parts.values() for part in parts}
    assert used == {group.id for group in grouped.groups}


def test_a_group_keeps_its_id_when_more_shots_join() -> None:
    ground = piece("", (0, 0, 1280, 800), "recolored")
    banner = piece("Free delivery", (0, 60, 390, 36), "came")
    for kind, pieces, more in (
        (GroupKind.SAME_PIXELS, piece("Pay now"), {}),
        (GroupKind.INSERTED, banner, {"moves": (DOWN,)}),
        (GroupKind.RECOLORED, ground, {"colors": (GROUND, CARD)}),
    ):
        first, second, third = (shots(name, pieces, **more) for name in ("home", "docs", "about"))
        (few,), (many,) = (group_shots(some).groups for some in (first[:2] + second, first + second + third))
        assert (few.kind, few.id) == (many.kind, many.id) == (kind, few.id)
    (few,), (many,) = (group_shots(shots("home", piece("Pay"))[:count]).groups for count in (1, 4))
    assert (few.kind, few.id) == (many.kind, many.id) == (GroupKind.SINGLE, few.id)


def test_the_same_pieces_are_one_change_wherever_they_stand() -> None:
    places: list[Region] = [(1000, 20, 80, 12), (40, 600, 80, 12), (500, 300, 80, 12)]
    names = [shots(f"page-{number}", piece("Log in", box)) for number, box in enumerate(places)]
    assert found(*names) == [("same_pixels", 12, ["page-0", "page-1", "page-2"])]
    other = shots("page-3", piece("Sign up today"))
    assert [kind for kind, *_ in found(*names, other)] == ["single", "same_pixels"]


def test_a_shot_is_in_a_group_for_each_of_its_changes() -> None:
    label, price = piece("Log in"), piece("14 EUR", (40, 500, 60, 12))
    both = [
        *shots("home", label),
        *shots("pricing", label, price, piece("Old line", (40, 700, 80, 12), "gone")),
    ]
    grouped = group_shots(both)
    kinds = {group.id: group.kind.value for group in grouped.groups}
    assert [*kinds.values()] == ["single", "single", "same_pixels"]
    by_group = {group.title.partition(": ")[2]: group.id for group in grouped.groups}
    parts = grouped.parts[both[-1].shot]
    assert [(part.regions, part.gone, part.closeup) for part in parts] == [
        ([1], [], 1),
        ([], [0], 2),
        ([0], [], 0),
    ]
    assert grouped.ids_of(both[-1].shot) == [part.group for part in parts] == [*by_group.values()]


def test_a_group_takes_the_close_up_that_shows_most_of_it() -> None:
    pieces = (piece("Log in"), piece("Sale", (20, 20, 40, 12)))
    result = ShotResult(
        CHANGED, 1, pieces, closeups=[ShownPart((0, 0, 1280, 60), [0, 1]), ShownPart(pieces[0].box, [0])]
    )
    planned = [PlannedShot(ShotKey("home", "1280x800", ""), None, None, result)]
    parts = group_shots(planned).parts[planned[0].shot]
    assert sorted((list(part.regions), part.closeup) for part in parts) == [([0], 1), ([1], 0)]


def test_a_theme_with_other_shapes_is_the_same_change_in_the_same_place() -> None:
    bold = piece("Bright", (1000, 21, 78, 12))
    light, dark = (
        [*shots(name, text, themes=(theme,))]
        for name, text, theme in (("home", piece("Log in"), "light"), ("home", bold, "dark"))
    )
    assert found(light, dark) == [("single", 4, ["home"])]


def test_text_that_wraps_in_another_viewport_is_the_same_banner() -> None:
    wide = piece("Free delivery until Sunday", (0, 60, 1280, 36), "came")
    narrow = piece("Other glyphs altogether here", (0, 60, 390, 56), "came")
    planned = [
        shot(name, banner, viewport=viewport, moves=(DOWN,))
        for name in ("home", "docs", "faq")
        for viewport, banner in zip(VIEWPORTS, (narrow, wide), strict=True)
    ]
    assert found(planned) == [("inserted", 6, ["docs", "faq", "home"])]


def test_a_heading_of_another_size_is_the_same_in_another_viewport() -> None:
    small, large = piece("Pricing", (20, 90, 60, 20)), Piece((20, 90, 90, 30), "changed", [
        Shape(74, 15, Random("Pricing").getrandbits(64))
    ])  # fmt: skip
    planned = [shot("home", small, viewport=VIEWPORTS[0]), shot("home", large, viewport=VIEWPORTS[1])]
    assert found(planned) == [("single", 2, ["home"])]


def test_different_changes_of_the_same_pages_in_two_viewports_are_two_groups() -> None:
    menu, word = piece("X", (10, 10, 18, 18), height=18), piece("Sale", (300, 20, 40, 12))
    planned = [
        shot(name, changed, viewport=viewport)
        for name in ("home", "docs", "faq")
        for viewport, changed in zip(VIEWPORTS, (menu, word), strict=True)
    ]
    assert [kind for kind, *_ in found(planned)] == ["same_pixels", "same_pixels"]


def test_fragments_near_each_other_are_one_change_and_edits_far_apart_are_two() -> None:
    bars = [piece(f"bar{number}", (100 + 60 * number, 300, 40, 80)) for number in range(6)]
    assert found(shots("dashboard", *bars)) == [("single", 4, ["dashboard"])]
    edits = piece("First", (40, 100, 60, 12)), piece("Second", (40, 600, 60, 12))
    assert len(found(shots("home", *edits))) == 2
    many = [piece(f"text-{number}", (40, 200 * number, 60, 12)) for number in range(6)]
    assert len(found(shots("home", *many))) == 1  # another page


def test_a_replaced_picture_is_one_change() -> None:
    gone = piece("old", (400, 300, 200, 100), "gone")
    came = piece("new", (400, 300, 200, 100), "came")
    assert found(shots("home", came, gone)) == [("single", 4, ["home"])]


def test_content_that_came_in_without_moving_anything_is_not_inserted() -> None:
    badge = piece("beta", kind="came")
    assert [kind for kind, *_ in found(shots("home", badge), shots("docs", badge))] == ["same_pixels"]


def test_a_button_in_another_color_is_not_a_theme() -> None:
    def links(name: str, text: str) -> list[PlannedShot]:
        return shots(name, piece(text, kind="recolored"), colors=(LINK,))

    assert found(links("home", "one")) == [("single", 4, ["home"])]
    assert found(links("home", "one"), links("docs", "one")) == [("same_pixels", 8, ["docs", "home"])]
    assert found(links("home", "one"), links("docs", "other")) == [("recolored", 8, ["docs", "home"])]


def test_an_edit_inside_a_new_theme_has_its_own_group() -> None:
    ground = piece("", (0, 0, 1280, 800), "recolored")
    themed = [shots(name, ground, themes=("dark",), colors=(GROUND,)) for name in ("home", "docs")]
    edited = shots(
        "cart", ground, piece("Delete account", (40, 500, 90, 20)), themes=("dark",), colors=(GROUND,)
    )
    assert found(*themed, edited) == [("single", 2, ["cart"]), ("recolored", 6, ["cart", "docs", "home"])]


def test_shots_of_a_theme_are_together_if_they_share_a_main_color() -> None:
    ground = piece("", (0, 0, 1280, 800), "recolored")
    tables = {"ground": (GROUND,), "both": (GROUND, CARD), "card": (CARD,)}
    theme = [shots(name, ground, colors=table) for name, table in tables.items()]
    assert titles(*theme) == ["12 screenshots recolored: #0f1419 → #15101c, #1a2129 → #221a2c"]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (((1, 0), (1, 0)), ["content 1 px right in 8 screenshots"]),
        (((1, 0), (1, 12)), ["content 1 px right and 12 px down in 8 screenshots"]),
        (((0, -36), (0, -36)), ["content 36 px up in 8 screenshots"]),
        (((0, 12), (0, 40)), ["content 12 px down in 4 screenshots", "content 40 px down in 4 screenshots"]),
    ],
)
def test_moved_shots_are_together_by_their_offset(
    offsets: tuple[tuple[int, int], ...], expected: list[str]
) -> None:
    names = zip(("home", "docs"), offsets, strict=True)
    assert sorted(titles(*(shots(name, moves=((0, 0, 90, 90, *by),)) for name, by in names))) == expected


def test_a_page_that_is_redrawn_in_one_viewport_is_redrawn_in_all() -> None:
    narrow = shot("home", piece("Bonjour tout le monde"), viewport=VIEWPORTS[0], is_redrawn=True)
    wide = shot("home", piece("Bonjour"), piece("Aide", (40, 500, 60, 12)))
    assert found([narrow, wide]) == [("redrawn", 2, ["home"])]


def test_a_shot_with_pieces_has_no_part_for_its_moves() -> None:
    changed = shot("home", piece("Log in"), moves=(DOWN,))
    (part,) = group_shots([changed]).parts[changed.shot]
    assert part == ShotPart(part.group, [0], [], 0)


def test_most_of_the_screenshots_are_at_one_viewport() -> None:
    label = piece("Log in")
    names = [f"page-{number}" for number in range(4)]
    planned = [shot(name, label, viewport=VIEWPORTS[0]) for name in names] + [shot("page-0", label)]
    assert titles(planned)[0].endswith("in 5 screenshots; 4 of them at 390 px")


def test_a_thousand_shots_with_fifty_pieces_are_grouped_quickly() -> None:
    random = Random(1)
    vocabulary = [Shape(random.randint(8, 90), 10, random.getrandbits(64)) for _ in range(100)]
    boxes: list[Region] = [(40, 100 * number, 60, 12) for number in range(50)]
    pieces = [Piece(box, "changed", vocabulary[2 * n : 2 * n + 2]) for n, box in enumerate(boxes)]
    planned = [*chain(*(shots(f"page-{number}", *pieces) for number in range(250)))]
    started = time.process_time()
    assert len(group_shots(planned).groups) == 50
    assert time.process_time() - started < 10  # under a second on a fast machine


def test_text_that_wraps_at_other_places_is_one_group() -> None:
    """The last word of a line goes to the start of the next one, on every page."""

    def wrapped(name: str, *tops: int) -> list[PlannedShot]:
        words = [
            piece(f"{name}{top}", box, kind)
            for top in tops
            for kind, box in (("came", (204, top + 22, 30, 11)), ("gone", (1010, top, 30, 11)))
        ]
        return shots(name, *words, moves=((234, tops[0] + 22, 120, 12, -700, 22),))

    planned = [*wrapped("intro", 120, 300, 480), *wrapped("guide", 160, 400)]
    assert found(planned) == [("redrawn", 8, ["guide", "intro"])]
    assert titles(planned) == ["text wraps at other places in 8 screenshots"]


def test_an_edited_word_takes_the_words_that_wrap_below_it() -> None:
    edited, below = piece("quickly", (540, 117, 49, 14)), piece("last", (548, 140, 25, 11), "came")
    planned = shots("home", edited, below, moves=((600, 117, 90, 12, 17, 0), (590, 140, 90, 12, 78, 0)))
    assert found(planned) == [("single", 4, ["home"])]


def test_a_row_belongs_to_what_it_pushes_out_of_view() -> None:
    came = piece("new row", (40, 300, 600, 40), "came", 40)
    last = piece("last row", (40, 710, 600, 40), "gone", 40)
    planned = shots("home", came, last, moves=((40, 360, 600, 400, 0, 60),))
    assert found(planned) == [("single", 4, ["home"])]
    assert titles(planned) == ["home: 60 px came in inside the content in 4 screenshots"]


def test_slivers_belong_to_what_is_beside_them() -> None:
    button, sliver = piece("Pay now", (400, 300, 90, 32)), Piece((500, 304, 2, 24), "changed")
    assert found(shots("home", button), shots("docs", button, sliver)) == [
        ("same_pixels", 8, ["docs", "home"])
    ]
    assert found(
        [shot("home", moves=((0, 0, 90, 90, 1, 0),)), shot("docs", sliver, moves=((0, 0, 90, 90, 1, 0),))]
    ) == [("moved", 2, ["docs", "home"])]


def test_shots_in_which_a_banner_is_out_of_view_belong_to_it() -> None:
    banner = piece("Free delivery until Sunday", (0, 60, 390, 36), "came")
    planned = [
        *(each for name in ("home", "docs") for each in shots(name, banner, moves=(DOWN,))),
        shot("scrolled", moves=(DOWN,)),
        shot("elsewhere", moves=((0, 0, 90, 90, 0, 90),)),
    ]
    assert found(planned) == [("inserted", 9, ["docs", "home", "scrolled"]), ("moved", 1, ["elsewhere"])]


def test_a_title_names_a_button_and_a_picture() -> None:
    frame, text = Shape(6, 30, 1), Shape(50, 9, 2)
    button = Piece((130, 400, 119, 33), "changed", [frame, text])
    photo = Piece((130, 300, 140, 120), "changed", [Shape(130, 100, 3)])
    for changed, noun in ((button, "a button"), (photo, "a picture")):
        assert titles([shot("home", changed)]) == [f"home: {noun} changed on the left in 1 screenshot"]
