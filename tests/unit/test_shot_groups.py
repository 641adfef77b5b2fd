"""The groups of a comparison: their kinds, order, ids and titles."""

from itertools import chain, product

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageOps

from prshots.contract.replies import GroupKind, Verdict
from prshots.server.adapters.pictures.engine import traits
from prshots.server.adapters.pictures.engine.compare import compare
from prshots.server.domain.comparison.groups import group_shots
from prshots.server.domain.comparison.models import ColorChange, PlannedShot, ShotResult, Traits
from prshots.server.domain.images.models import ShotKey
from support.nasty_pictures import encoded

VIEWPORTS, THEMES = ("375x667", "1280x720"), ("light", "dark")
NO_REGION = Traits()
CHANGED, MOVED, NEW, REMOVED = Verdict.CHANGED, Verdict.MOVED, Verdict.NEW, Verdict.REMOVED
GROUND, CARD, LINK = (
    ColorChange(*colors)
    for colors in (("#0f1419", "#15101c", 900), ("#1a2129", "#221a2c", 300), ("#0969da", "#8250df", 50))
)


def shots(
    name: str,
    verdict: Verdict,
    traits: Traits = NO_REGION,
    *,
    themes: tuple[str, ...] = THEMES,
    shift: int = 0,
    side: int = 10,
) -> list[PlannedShot]:
    """Return the shots of a name in both viewports, with one region."""
    result = ShotResult(verdict, 100, [(5, 5, side, 10)], shift, traits=traits)
    return [PlannedShot(ShotKey(name, *rest), None, None, result) for rest in product(VIEWPORTS, themes)]


def titles(*planned: list[PlannedShot]) -> list[tuple[str, str]]:
    return [(group.kind.value, group.title) for group in group_shots([*chain(*planned)]).groups]


def test_groups_are_in_the_order_to_review_them() -> None:
    dark, label, rows = Traits("", "", [GROUND], 0.9), Traits("label"), Traits("", "rows")
    everything = [
        *(shot for name in ("b", "a") for shot in shots(name, CHANGED, dark, themes=("dark",))),
        *shots("fresh", NEW),
        *(shot for name in ("d", "e", "c") for shot in shots(name, MOVED, rows, shift=36)),
        *(shot for name in ("step-10", "step-2") for shot in shots(name, CHANGED, label, themes=("light",))),
        *shots("alone", CHANGED)[:1],
        *shots("same", Verdict.UNCHANGED),
        *shots("broken", Verdict.FAILED),
        *shots("gone", REMOVED),
    ]
    grouped = group_shots(everything)
    assert [(group.kind.value, group.shots, group.names, group.title) for group in grouped.groups] == [
        ("removed", 4, ["gone"], "gone: 4 screenshots removed"),
        ("single", 1, ["alone"], "alone: 1 region in 1 screenshot"),
        ("same_pixels", 4, ["step-2", "step-10"], "step-2, step-10: 1 region in 4 screenshots"),
        ("inserted", 12, ["c", "d", "e"], "c, d, e: 36 px inserted in 12 screenshots"),
        ("new", 4, ["fresh"], "fresh: 4 new screenshots"),
        ("recolored", 4, ["a", "b"], "4 dark screenshots recolored: #0f1419 → #15101c"),
    ]
    in_groups = {shot.shot for shot in everything if shot.shot.name not in {"same", "broken"}}
    assert {*grouped.id_of} == in_groups
    assert {*grouped.id_of.values()} == {group.id for group in grouped.groups}


def test_a_group_keeps_its_id_when_more_shots_join() -> None:
    for kind, change in (
        (GroupKind.SAME_PIXELS, Traits("label")),
        (GroupKind.INSERTED, Traits("", "rows")),
        (GroupKind.RECOLORED, Traits("", "", [GROUND, CARD], 0.9)),
        (GroupKind.SINGLE, NO_REGION),
    ):
        first = shots("home", CHANGED, change)
        more = [] if kind is GroupKind.SINGLE else shots("docs", CHANGED, change)
        (few,), (many,) = (group_shots(some).groups for some in (first[:2], first + more))
        assert (few.kind, few.id) == (many.kind, many.id) == (kind, few.id)


def test_one_name_is_one_group_even_if_its_shots_look_different() -> None:
    light, dark = (shots("pricing", CHANGED, Traits(theme), themes=(theme,)) for theme in THEMES)
    assert titles(light) == [("same_pixels", "pricing: 1 region in 2 screenshots")]
    assert titles(light, dark) == [("single", "pricing: 1 region in 4 screenshots")]
    wrapped = shots("pricing", MOVED, Traits("", "more rows"), themes=("dark",), shift=-56)
    narrow = shots("pricing", MOVED, Traits("", "rows"), themes=("light",), shift=-36)
    assert titles(narrow, wrapped) == [("inserted", "pricing: 36 to 56 px removed in 4 screenshots")]


@pytest.mark.parametrize(("side", "groups"), [(14, 1), (16, 2)])
def test_looks_with_the_same_names_are_one_change_if_about_the_same_size(side: int, groups: int) -> None:
    light = [shots(name, CHANGED, Traits("light"), themes=("light",)) for name in ("home", "docs")]
    dark = [shots(name, CHANGED, Traits("dark"), themes=("dark",), side=side) for name in ("home", "docs")]
    assert len(titles(*light, *dark)) == groups
    other = shots("faq", CHANGED, Traits("dark"), themes=("dark",), side=side)
    assert len(titles(*light, *dark, other)) == 2


def test_colors_at_different_places_of_several_names_are_a_recoloring_and_a_button_is_not() -> None:
    def links(name: str, look: str) -> list[PlannedShot]:
        return shots(name, CHANGED, Traits(look, "", [LINK], 0.01))

    assert titles(links("home", "one"), links("docs", "other")) == [
        ("recolored", "8 screenshots recolored: #0969da → #8250df")
    ]
    without_theme = [
        shots(name, CHANGED, Traits(name, "", [LINK]), themes=("",)) for name in ("home", "docs")
    ]
    assert titles(*without_theme) == [("recolored", "4 screenshots recolored: #0969da → #8250df")]
    assert [kind for kind, _ in titles(links("home", "one"), links("docs", "one"))] == ["same_pixels"]
    assert [kind for kind, _ in titles(links("home", "one"))] == ["same_pixels"]


def test_shots_of_a_theme_are_together_if_they_share_a_main_color() -> None:
    tables = {"ground": [GROUND], "both": [GROUND, CARD], "card": [CARD], "link": [LINK]}
    theme = [shots(name, CHANGED, Traits(name, "", table, 0.9)) for name, table in tables.items()]
    assert titles(*theme) == [
        ("recolored", "12 screenshots recolored: #0f1419 → #15101c, #1a2129 → #221a2c"),
        ("recolored", "4 screenshots recolored: #0969da → #8250df"),
    ]


def test_thousands_of_shots_are_grouped_without_comparing_them_with_each_other() -> None:
    many = [shots(f"page-{number}", CHANGED, Traits(f"{number}", "", [LINK])) for number in range(1000)]
    assert titles(*many) == [("recolored", "4000 screenshots recolored: #0969da → #8250df")]


# What the engine says about a pair


def page(width: int = 200, height: int = 100, color: str = "white", boxes: str = "") -> Image.Image:
    """Return a page. Each box is `left top right bottom color`."""
    picture = Image.new("RGB", (width, height), color)
    for box in boxes.split(","):
        if box.strip():
            *sides, fill = box.split()
            ImageDraw.Draw(picture).rectangle([int(side) for side in sides], fill=fill)
    return picture


def traits_of(before: Image.Image, after: Image.Image, kind: str = "PNG") -> Traits:
    return compare(encoded(before, kind), encoded(after, kind)).traits


def test_a_region_has_the_same_hash_at_any_place_and_any_number_of_times() -> None:
    white = page()
    found = traits_of(white, page(boxes="20 20 39 29 red"))
    assert found.regions
    assert found.regions == traits_of(page(), page(boxes="101 63 120 72 red")).regions
    assert found.regions == traits_of(page(), page(boxes="20 20 39 29 red, 20 60 39 69 red")).regions
    # Two neighbors are one region if they are in neighboring cells of a grid, but always hashed apart.
    pairs = [f"{x} 20 {x + 9} 29 red, {x + 20} 20 {x + 29} 29 blue" for x in range(16, 24)]
    assert len({traits_of(white, page(boxes=pair)).regions for pair in pairs}) == 1
    for other in ("20 20 39 30 red", "20 20 39 29 blue", "20 20 39 29 red, 20 60 39 70 red"):
        assert traits_of(white, page(boxes=other)).regions != found.regions


def test_inserted_rows_have_the_same_hash_in_wider_windows() -> None:
    def insert(width: int, notice: str, *, height: int = 130) -> str:
        before = page(width, boxes=f"0 40 {width} 50 blue, 20 60 60 70 black")
        after = Image.new("RGB", (width, height), "white")
        after.paste(page(width, 30, "yellow", notice), (0, 0))
        after.paste(before, (0, 30))
        found = traits_of(before, after)
        assert not found.regions
        return found.rows

    rows = insert(200, "10 10 19 19 black")
    assert rows
    assert rows == insert(300, "10 10 19 19 black")
    assert rows == insert(200, "10 10 19 19 black", height=100)  # the last rows are pushed off the end
    assert rows != insert(200, "10 10 19 18 black")


def test_colors_are_a_table_only_if_nearly_all_pixels_follow_it() -> None:
    def theme(ground: str, box: str, extra: str = "") -> Image.Image:
        return page(color=ground, boxes=f"10 10 99 59 {box}, {extra}")

    found = traits_of(theme("#0f1419", "#1a2129"), theme("#15101c", "#221a2c"))
    assert [(old, new) for old, new, _ in found.colors] == [("#0f1419", "#15101c"), ("#1a2129", "#221a2c")]
    assert found.share > 0.95
    assert traits_of(theme("#0f1419", "#1a2129"), theme("#15101c", "#221a2c", "0 80 49 89 red")).colors
    assert not traits_of(theme("#0f1419", "#1a2129"), theme("#15101c", "#221a2c", "0 70 99 89 red")).colors
    assert not traits_of(page(), page(boxes="10 10 59 29 red")).colors  # a new box isn't a recolored ground
    assert not traits_of(page(boxes="10 10 59 29 red"), page()).colors


LIGHT, DARK = ("white", "#24292f", "#0969da"), ("#0d1117", "#e6edf3", "#4493f8")
"""The colors of the ground, the text and a button."""


def themed(
    colors: tuple[str, str, str], text: str = "Payment is due within 30 days", extra: str = ""
) -> Image.Image:
    ground, ink, button = colors
    picture = page(300, 160, ground, f"20 100 109 129 {button}, {extra}")
    draw = ImageDraw.Draw(picture)
    draw.text((20, 20), text, ink, font_size=16)
    draw.text((34, 105), "Save", "white", font_size=16)
    return picture


def test_a_new_theme_is_only_a_recoloring_if_the_table_gives_the_after_image() -> None:
    assert not traits_of(themed(LIGHT), themed(DARK)).more_than_colors
    edits = {
        "another text": themed(DARK, "Payment is due NEVER"),
        "no text": themed(DARK, ""),
        "text where there was none, in the old ground's color": themed(DARK, extra="200 60 201 79 white"),
    }
    for what, after in edits.items():
        found = compare(encoded(themed(LIGHT), "PNG"), encoded(after, "PNG"))
        assert found.traits.colors, what
        assert found.traits.more_than_colors, what
        assert 0 < sum(width * height for _, _, width, height in found.regions) < 300 * 40, what
        assert found.closeups, what


def test_a_round_photo_on_a_recolored_ground_is_no_difference_and_another_photo_is() -> None:
    def avatar(ground: str, *, mirrored: bool = False) -> Image.Image:
        places = np.linspace(0, 3, 24)
        waves = [100 + 60 * np.sin(places[:, None] * speed + places) for speed in (1, 1.5, 2)]
        photo = Image.fromarray(np.stack(waves, axis=-1).astype(np.uint8))
        disk = Image.new("L", (96, 96))
        ImageDraw.Draw(disk).ellipse((0, 0, 95, 95), fill=255)
        picture = themed((ground, "#24292f", "#0969da"))
        picture.paste(ImageOps.mirror(photo) if mirrored else photo, (200, 100), disk.resize((24, 24)))
        return picture

    for ground in ("#fff0f4", "#0d1117"):
        same, other = (traits_of(avatar("#eef1f5"), avatar(ground, mirrored=flag)) for flag in (False, True))
        assert same.colors, ground
        assert other.colors, ground
        assert not same.more_than_colors, ground
        assert other.more_than_colors, ground


def test_the_closeup_that_explains_a_group_is_one_that_no_other_group_shows() -> None:
    changed = ShotResult(CHANGED, 9, [(0, 0, 9, 9)], traits=Traits("button", closeups=["button"]))
    both = ShotResult(CHANGED, 9, [(0, 0, 9, 9)], traits=Traits("two", closeups=["button", "sentence"]))
    planned = [
        PlannedShot(ShotKey(name, "1280x720", "light"), None, None, result)
        for name, result in (("home", changed), ("docs", changed), ("faq", both))
    ]
    assert group_shots(planned).in_several == {"button"}
    assert group_shots(planned[:2]).in_several == set()


def test_lossy_images_and_images_of_different_widths_have_no_traits() -> None:
    red = page(boxes="20 20 59 49 red")
    assert traits_of(page(), red, "JPEG") == traits_of(page(), red.resize((220, 100))) == Traits()


def test_a_large_difference_is_described_by_its_colors_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traits, "_MOST_HASHED", 200 * 100 - 1)
    found = traits_of(page(color="#0f1419"), page(color="#15101c"))
    assert (found.regions, [change.old for change in found.colors]) == ("", ["#0f1419"])
    noise = np.random.default_rng(7).integers(0, 255, (64, 64, 3), np.uint8)
    assert not traits_of(page(64, 64), Image.fromarray(noise)).colors
