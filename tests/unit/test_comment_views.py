"""The comment's views as a reader sees them. Most tests render the markdown and check the resulting page."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker
from prshots.contract.replies import (
    MANUAL,
    NOT_COMPARED,
    CloseUp,
    ComparedShot,
    Comparison,
    ComparisonState,
    Gate,
    GateState,
    GroupKind,
    Region,
    Review,
    ReviewState,
    ShotGroup,
    ShotPart,
    SizedComment,
    Verdict,
)
from prshots.server.domain.comments.fitting import folders_of
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.groups import find_decided
from prshots.server.domain.comments.layout import Column, lay_out_columns
from prshots.server.domain.comments.markup import name_as_code
from prshots.server.domain.comments.views import Latest, LatestShot, changes_view, latest_view
from prshots.server.domain.images.models import ShotKey
from support.hostile_names import HOSTILE_NAMES, as_seen, on_one_line
from support.markdown_pages import RENDERERS, Page, pages

DASHBOARD = "https://shots.example.com/projects/0a1b2c3d/prs/7"
TOKEN = f".png?exp=1812345678&token=k1.{'5e' * 32}"
COMMIT, BASE = "3f9c2d1" + "0" * 33, "d83dede" + "0" * 33
VIEWPORTS = ("375x812", "768x1024", "1280x800")
WITH_PICTURES = Verdict.CHANGED, Verdict.MOVED, Verdict.NEW
RANKS = dict.fromkeys(WITH_PICTURES, 0) | {Verdict.FAILED: 1, Verdict.REMOVED: 2, Verdict.UNCHANGED: 4}
"""How important a shot is that isn't approved. Approved ones have the rank 3."""
HTML = Frame(7, DASHBOARD, MAX_COMMENT_BYTES, Marker.HTML)
LINK = replace(HTML, marker=Marker.LINK)
NOTHING = Latest([], COMMIT, 1)


def url(number: object, kind: str = "after") -> str:
    return f"https://img.example.com/i/{number}-{kind}{TOKEN}"


def newest(name: str, viewport: str = "1280x800", theme: str = "", commit: str = COMMIT) -> LatestShot:
    image_id = sha256(f"{name}/{viewport}/{theme}".encode()).hexdigest()[:32]
    return LatestShot(name, viewport, theme, url(image_id), commit)


def compared(
    name: str,
    verdict: Verdict,
    viewport: str = "1280x800",
    theme: str = "",
    *,
    key: object = "1",
    **more: object,
) -> ComparedShot:
    has_before, has_after = verdict is not Verdict.NEW, verdict is not Verdict.REMOVED
    differs = verdict in {Verdict.CHANGED, Verdict.MOVED}
    shot = ComparedShot(
        name,
        viewport,
        theme,
        verdict,
        pixels=1479 if verdict is Verdict.CHANGED else 0,
        regions=[(0, 0, 9, 9), (20, 0, 9, 9)] if verdict is Verdict.CHANGED else [],
        shift=24 if verdict is Verdict.MOVED else 0,
        view_url=url(key) if has_after else None,
        before_url=url(key, "before") if has_before else None,
        diff_url=url(key, "diff") if differs else None,
        base_commit=BASE if has_before else None,
        reason="the image is damaged" if verdict is Verdict.FAILED else "",
    )
    return replace(shot, **more)  # type: ignore[arg-type]


def _with_part(shot: ComparedShot, group: str) -> ComparedShot:
    """Return the shot in this group alone, with all that differs, unless it has parts already."""
    if shot.parts or not group:
        return shot
    closeup = 0 if shot.closeups else None
    review = shot.review
    people = [review.by] if review.by else []
    boxes = range(len(shot.regions)), range(len(shot.gone))
    part = ShotPart(group, *boxes, closeup, review.state, people)
    return replace(shot, group=group, groups=[group], parts=[part])


def comparison(
    shots: Sequence[ComparedShot], state: ComparisonState = ComparisonState.COMPARED, branch: str = "main"
) -> Comparison:
    """Return a comparison in which the shots without a group are grouped by name."""
    counts = Counter(shot.verdict.value for shot in shots)
    shots = [_with_part(shot, shot.group or group_by_name(shot)) for shot in shots]
    members: dict[str, list[ComparedShot]] = {}
    for shot in shots:
        members.setdefault(shot.group, []).append(shot)
    members.pop("", None)
    groups = [
        ShotGroup(
            key, KINDS[first.verdict], 1 + len(others), [first.name], f"{first.name}: {1 + len(others)}"
        )
        for key, (first, *others) in sorted(members.items(), key=lambda item: ORDER.index(item[1][0].verdict))
    ]
    return Comparison(7, COMMIT, branch, BASE, state, counts, shots, DASHBOARD, groups, gate_of(shots, state))


def gate_of(shots: Sequence[ComparedShot], state: ComparisonState) -> Gate:
    if state is not ComparisonState.COMPARED:
        return Gate(GateState.BLOCKED, 0, state)
    states = Counter(shot.review.state for shot in shots)
    count = states[ReviewState.OPEN]
    if states[ReviewState.REJECTED]:
        return Gate(GateState.REJECTED, count, "")
    return Gate(GateState.WAITING if count else GateState.PASSED, count, "")


KINDS = {
    Verdict.REMOVED: GroupKind.REMOVED,
    Verdict.CHANGED: GroupKind.SINGLE,
    Verdict.MOVED: GroupKind.SINGLE,
    Verdict.NEW: GroupKind.NEW,
}
ORDER = list(KINDS)


def group_by_name(shot: ComparedShot) -> str:
    if shot.verdict not in KINDS:
        return ""
    return sha256(f"{KINDS[shot.verdict]} {shot.name}".encode()).hexdigest()[:12]


def changes(shots: Sequence[ComparedShot], frame: Frame = HTML) -> SizedComment:
    return changes_view(frame, comparison(shots), NOTHING)


def latest(shots: Sequence[LatestShot], frame: Frame = HTML) -> SizedComment:
    return latest_view(frame, Latest(shots, COMMIT, 1))


# --- the exact text ---


def test_latest_has_a_row_for_each_name_and_a_column_for_each_viewport_and_theme():
    shots = [
        newest("step-10"),
        newest("step-2", "1280x800", "dark"),
        newest("step-2", "375x812"),
        newest("step-2", commit="abc1234"),
    ]
    wide, dark, phone, older = (shot.url.replace("&", "&amp;") for shot in shots)
    text = latest_view(HTML, Latest(shots, COMMIT, 3)).markdown
    assert text == (
        "<!-- svc:pr-7 -->\n"
        "### 4 screenshots\n"
        "\n"
        f"At `3f9c2d1` · 2 earlier commits in the [dashboard]({DASHBOARD})\n"
        "\n"
        "<table>\n"
        '<tr><th align="left" colspan="3"><code>step-2</code></th></tr>\n'
        f'<tr valign="top"><td>375x812<br><a href="{phone}"><img width="86" alt="step-2" src="{phone}"></a></td>'
        f"<td>1280x800 · at <code>abc1234</code><br>"
        f'<a href="{older}"><img width="276" alt="step-2" src="{older}"></a></td>'
        f'<td>1280x800 dark<br><a href="{dark}"><img width="276" alt="step-2" src="{dark}"></a></td></tr>\n'
        "</table>\n"
        "\n"
        "<table>\n"
        '<tr><th align="left" colspan="1"><code>step-10</code></th></tr>\n'
        f'<tr valign="top"><td>1280x800<br><a href="{wide}"><img width="512" alt="step-10" src="{wide}"></a></td></tr>\n'
        "</table>\n"
    )


def test_a_pair_that_was_uploaded_together_says_so_and_has_no_base_commit():
    kept = compared("cart", Verdict.CHANGED, pair=MANUAL, base_commit=None, commit_sha="abc1234" + "0" * 33)
    found = replace(comparison([kept]), base_commit=None, pairs=1)
    text = changes_view(HTML, found, NOTHING).markdown
    assert f"`3f9c2d1`, before and after uploaded together · see the [dashboard]({DASHBOARD})" in text
    details = "uploaded together · 1,479 px in 2 regions, at <code>abc1234</code>"
    assert f"1280x800 · before and after · {details}<br>" in text

    among_others = replace(comparison([kept, compared("home", Verdict.UNCHANGED)]), pairs=1)
    text = changes_view(HTML, among_others, NOTHING).markdown
    assert "`3f9c2d1` compared with `main` at `d83dede` (1 with its own before) ·" in text


PROJECT = DASHBOARD.partition("/prs/")[0]
QUIET = [ReviewState.SEEN_BEFORE, ReviewState.QUARANTINED]
LOOKED_AT = [state for state in ReviewState if state not in QUIET]
NOISE = [
    compared("clock", Verdict.CHANGED, review=Review(ReviewState.SEEN_BEFORE)),
    compared("clock", Verdict.CHANGED, "375x812", review=Review(ReviewState.SEEN_BEFORE)),
    compared("map | x", Verdict.REMOVED, review=Review(ReviewState.QUARANTINED)),
]
ENDS = {ShotKey(*shot): 1_796_083_200 for shot in [("map | x", "1280x800", ""), ("ad", "1280x800", "")]}


def test_noise_has_a_line_and_neither_pictures_nor_groups():
    found = comparison([compared("cart", Verdict.CHANGED)])
    found = replace(found, shots=[*found.shots, *NOISE], counts={"changed": 3, "removed": 1})
    text = changes_view(HTML, found, NOTHING, quarantine_ends=ENDS)
    assert text.heading == "### 4 screenshots: 3 changed, 1 removed"
    assert (text.count, text.shown, text.listed, text.omitted) == (4, 1, 3, 0)
    assert (
        f"\n\n2 screenshots [alternate]({PROJECT}/noise) on `main`, as before: `clock`\n\n"
        f"1 screenshot is [in quarantine]({PROJECT}/quarantine) until 2026-12-01: `map | x`\n"
    ) in text.markdown
    assert text.markdown.count("clock") == text.markdown.count("map | x") == 1
    ad = compared("ad", Verdict.CHANGED, review=Review(ReviewState.QUARANTINED))
    later = ENDS | {ShotKey("ad", "1280x800", ""): 1_796_083_200 + 86_400}
    quarantined = replace(found, shots=[NOISE[2], ad])
    only = changes_view(HTML, quarantined, NOTHING, quarantine_ends=later).markdown
    link = f"[in quarantine]({PROJECT}/quarantine)"
    assert f"\n\n2 screenshots are {link} until 2026-12-01 or later: `map | x`, `ad`\n" in only


@pytest.mark.parametrize("frame", [HTML, LINK])
def test_screenshots_without_a_baseline_stay_in_the_comment_beside_pairs(frame: Frame):
    shots = [
        compared("cart", Verdict.CHANGED, pair=MANUAL, base_commit=None),
        compared("menu", Verdict.UNCHANGED, pair=MANUAL, base_commit=None, key="2"),
    ]
    found = replace(comparison(shots, ComparisonState.INCOMPLETE), base_commit=None, pairs=2)
    others = [newest("cart"), newest("home"), newest("home", "375x812")]
    text = changes_view(frame, found, Latest(others, COMMIT, 1))
    assert text.heading == "### 4 screenshots, incomplete: 1 changed, 1 unchanged, 2 without a baseline"
    assert (text.count, text.shown, text.listed, text.omitted) == (4, 2, 2, 0)
    assert "**Blocked**: the others are not compared, because there is no baseline for" in text.markdown
    is_shown = [shot.url.split("?")[0] in text.markdown for shot in others]
    assert is_shown == [False, False, True]  # the pair of `cart`, and `home` once


CLOSE_UP = CloseUp(url("1", "closeup"), (0, 0, 15, 40))


def grouped_shots() -> list[ComparedShot]:
    """Return shots in three groups with pictures: a close-up, a pair and a new shot; and the others."""
    return [
        *(compared("pricing", Verdict.CHANGED, viewport, closeups=[CLOSE_UP]) for viewport in VIEWPORTS),
        compared("home", Verdict.CHANGED, theme="dark", key="2", group="plum"),
        compared("help & more", Verdict.CHANGED, theme="dark", key="3", group="plum"),
        compared("gift", Verdict.NEW, "375x812", key="4"),
        compared("old", Verdict.REMOVED),
        compared("torn", Verdict.FAILED),
        compared("same", Verdict.UNCHANGED),
    ]


def shorten(markdown: str) -> str:
    """Return the markdown with short URLs: the dashboard's is D, and an image's is its key and kind."""
    for text in (TOKEN, TOKEN.replace("&", "&amp;"), "https://img.example.com/i/"):
        markdown = markdown.replace(text, "")
    return markdown.replace(DASHBOARD, "D")


def plum_theme(found: Comparison) -> Comparison:
    title = "2 dark screenshots recolored: #0f1419 → #15101c"
    plum = {"kind": GroupKind.RECOLORED, "title": title}
    groups = [replace(group, **plum) if group.id == "plum" else group for group in found.groups]
    return replace(found, groups=groups)


def test_changes_has_a_line_and_a_picture_for_each_group_with_links_to_the_dashboard():
    text = changes_view(HTML, plum_theme(comparison(grouped_shots())), NOTHING)
    assert shorten(text.markdown) == (
        "<!-- svc:pr-7 -->\n"
        "### 9 screenshots: 5 changed, 1 new, 1 removed, 1 could not be compared, 1 unchanged\n"
        "\n"
        "`3f9c2d1` compared with `main` at `d83dede` · see the [dashboard](D)\n"
        "\n"
        "**Passed**: [nothing is left to review](D?tab=changes)\n"
        "\n"
        "- **[`old`](D?group=2939ab0d98f2)**: 1\n"
        "- **[`pricing`](D?group=56b914300b6f)**: 3\n"
        "- **[2 dark screenshots recolored](D?group=plum)**: `#0f1419` → `#15101c`\n"
        "- **[`gift`](D?group=2dd58efc66f2)**: 1\n"
        "\n"
        '<p><a href="D?tab=changes&amp;shot=pricing&amp;viewport=1280x800"><code>pricing</code></a>'
        " · 1280x800 · before and after · 1,479 px in 2 regions · 1 of 2 shown<br>\n"
        '<a href="D?tab=changes&amp;shot=pricing&amp;viewport=1280x800">'
        '<img alt="pricing" src="1-closeup"></a></p>\n'
        "\n"
        "<details><summary>2 more screenshots</summary>\n"
        "\n"
        "- [`pricing`](D?tab=changes&shot=pricing&viewport=375x812) · 375x812, 768x1024 · changed\n"
        "\n"
        "</details>\n"
        "\n"
        '<p><a href="D?tab=changes&amp;shot=help%20%26%20more&amp;viewport=1280x800&amp;theme=dark">'
        "<code>help &amp; more</code></a> · 1280x800 dark · before and after · recolored<br>\n"
        '<a href="D?tab=changes&amp;shot=help%20%26%20more&amp;viewport=1280x800&amp;theme=dark">'
        '<img width="352" alt="help &amp; more (before)" src="3-before"></a>\n'
        '<a href="D?tab=changes&amp;shot=help%20%26%20more&amp;viewport=1280x800&amp;theme=dark">'
        '<img width="352" alt="help &amp; more" src="3-after"></a></p>\n'
        "\n"
        "<details><summary>1 more screenshot</summary>\n"
        "\n"
        "- [`home`](D?tab=changes&shot=home&viewport=1280x800&theme=dark) · 1280x800 dark · changed\n"
        "\n"
        "</details>\n"
        "\n"
        '<p><a href="D?tab=changes&amp;shot=gift&amp;viewport=375x812"><code>gift</code></a> · 375x812 · new<br>\n'
        '<a href="D?tab=changes&amp;shot=gift&amp;viewport=375x812">'
        '<img width="101" alt="gift" src="4-after"></a></p>\n'
        "\n"
        "**1 could not be compared**\n"
        "\n"
        "- [`torn`](D?tab=changes&shot=torn&viewport=1280x800) · 1280x800 · `the image is damaged`\n"
        "\n"
        "**1 removed**\n"
        "\n"
        "- [`old`](D?tab=changes&shot=old&viewport=1280x800) · 1280x800\n"
        "\n"
        "<details><summary>1 unchanged</summary>\n"
        "\n"
        "- [`same`](D?shot=same&viewport=1280x800) · 1280x800\n"
        "\n"
        "</details>\n"
    )
    assert (text.count, text.shown, text.listed, text.omitted) == (9, 3, 6, 0)


@pytest.mark.parametrize(
    ("region", "size"), [((0, 0, 300, 100), ""), ((0, 0, 900, 200), ""), ((0, 0, 300, 200), 'height="240" ')]
)
def test_a_close_up_has_its_own_size_unless_it_is_tall(region: Region, size: str):
    shot = compared("home", Verdict.CHANGED, closeups=[CloseUp(url("1", "closeup"), region)])
    assert f'<img {size}alt="home" src="1-closeup">' in shorten(changes([shot]).markdown)


def test_a_group_of_several_names_shows_them_as_code():
    found = comparison([compared(name, Verdict.CHANGED, group="menu") for name in ("home", "@ann", "cart")])
    group = replace(found.groups[0], names=["home", "@ann", "cart"], title="home, @ann and 1 more: 1 region")
    text = changes_view(HTML, replace(found, groups=[group]), NOTHING).markdown
    assert f"- **[`home`, `@ann`]({DASHBOARD}?group=menu)** and 1 more: 1 region\n" in text


def test_changes_without_html_has_the_same_pictures():
    found = plum_theme(comparison(grouped_shots()[:5]))
    assert shorten(changes_view(LINK, found, NOTHING).markdown).partition("\n- ")[2] == (
        "**[`pricing`](D?group=56b914300b6f)**: 3\n"
        "- **[2 dark screenshots recolored](D?group=plum)**: `#0f1419` → `#15101c`\n"
        "\n"
        "[`pricing`](D?tab=changes&shot=pricing&viewport=1280x800) · 1280x800 · before and after · 1,479 px in 2 regions · 1 of 2 shown\n"
        "\n"
        "[![pricing](1-closeup)](D?tab=changes&shot=pricing&viewport=1280x800)\n"
        "\n"
        "**2 more screenshots**\n"
        "\n"
        "- [`pricing`](D?tab=changes&shot=pricing&viewport=375x812) · 375x812, 768x1024 · changed\n"
        "\n"
        "[`help & more`](D?tab=changes&shot=help%20%26%20more&viewport=1280x800&theme=dark)"
        " · 1280x800 dark · before and after · recolored\n"
        "\n"
        "[![help & more (before)](3-before)](D?tab=changes&shot=help%20%26%20more&viewport=1280x800&theme=dark) "
        "[![help & more](3-after)](D?tab=changes&shot=help%20%26%20more&viewport=1280x800&theme=dark)\n"
        "\n"
        "**1 more screenshot**\n"
        "\n"
        "- [`home`](D?tab=changes&shot=home&viewport=1280x800&theme=dark) · 1280x800 dark · changed\n"
    )


@pytest.mark.parametrize(
    ("frame", "picture"),
    [
        (
            HTML,
            (
                "<p><code>pricing</code> · 1280x800 · before and after · 1,479 px in 2 regions · 1 of 2 shown<br>\n"
                '<a href="1-closeup"><img alt="pricing" src="1-closeup"></a></p>'
            ),
        ),
        (
            LINK,
            "`pricing` · 1280x800 · before and after · 1,479 px in 2 regions · 1 of 2 shown\n\n[![pricing](1-closeup)](1-closeup)",
        ),
    ],
)
def test_a_picture_links_to_itself_if_the_dashboards_url_is_too_long(frame: Frame, picture: str):
    far = replace(frame, dashboard_url=DASHBOARD + "x" * MAX_COMMENT_BYTES)
    assert f"\n{picture}\n" in shorten(changes_view(far, comparison(grouped_shots()[:3]), NOTHING).markdown)


def test_groups_after_the_first_12_get_only_lines_and_those_after_30_are_counted():
    shots = [
        compared(f"page-{number}", Verdict.CHANGED, viewport)
        for number in range(40)
        for viewport in VIEWPORTS
    ]
    text = changes(shots)
    assert (text.shown, text.listed, text.omitted) == (12, 108, 0)
    assert f"- **[`page-29`]({DASHBOARD}?group=" in text.markdown
    assert f"\n- 10 more in the [dashboard]({DASHBOARD})\n" in text.markdown
    assert re.findall("<summary>(.*)</summary>", text.markdown) == [
        *["2 more screenshots"] * 12,
        "84 changed, without pictures",
    ]


def test_changed_names_come_before_moved_ones_and_those_before_new_ones():
    verdicts = {"b": Verdict.MOVED, "c 10": Verdict.CHANGED, "c 9": Verdict.CHANGED}
    together = [compared(name, verdict, group="menu") for name, verdict in verdicts.items()]
    text = changes([compared("a", Verdict.NEW), *together])
    assert re.findall("<p>.*<code>(.*)</code>", text.markdown) == ["c 9", "a"]
    assert [name for name, _ in listed_shots(text)] == ["`c 10`", "`b`"]


def test_a_base_that_is_not_an_ancestor_is_marked_wherever_the_shot_is():
    others = [
        compared(str(verdict), verdict, ancestor=False)
        for verdict in (Verdict.CHANGED, Verdict.REMOVED, Verdict.FAILED, Verdict.UNCHANGED)
    ]
    for frame in (HTML, LINK):
        for page in pages(changes([*others, compared("home", Verdict.UNCHANGED)], frame).markdown):
            assert page.words.count("base is the newest of its branch") == 4, page
            assert page.codes.count("d83dede") == 1 + 4, page
            assert "4 screenshots with the newest of" in page.words
            assert "because the job listed no commit that has them" in page.words
    small = changes(others[:1], replace(HTML, limit=MIN_COMMENT_BYTES))
    assert " · 1280x800 · changed, base `d83dede` is the newest of its branch\n" in small.markdown


# --- decisions ---

APPROVED = Review(ReviewState.APPROVED, by="ann")
REJECTED = Review(ReviewState.REJECTED, by="token @ci", note="Too bright, @bob\n\nUse `#333`.")
OPEN = Review(ReviewState.OPEN)


def test_approved_groups_have_a_line_and_no_picture_and_rejected_ones_say_why():
    reviews = {"pricing": APPROVED, "home": REJECTED, "help & more": OPEN, "old": APPROVED, "torn": APPROVED}
    shots = [replace(shot, review=reviews.get(shot.name, shot.review)) for shot in grouped_shots()]
    text = changes_view(replace(HTML, notice=12), plum_theme(comparison(shots)), NOTHING)
    markdown = shorten(text.markdown)
    assert markdown.startswith("<!-- svc:pr-7 -->\n<!-- svc:notice-12 -->\n### 9 screenshots: 5 changed, ")
    home = "[`home`](D?tab=changes&shot=home&viewport=1280x800&theme=dark)"
    assert (
        "\n\n**Rejected**: [changes were rejected, 1 screenshot to review](D?tab=changes)\n"
        "\n"
        f"* {home} · 1280x800 dark · by `token @ci`: `Too bright, @bob`\n"
        "\n"
        "- **[2 dark screenshots recolored](D?group=plum)**: `#0f1419` → `#15101c` · 1 of 2 rejected by `token @ci`\n"
        "- **[`gift`](D?group=2dd58efc66f2)**: 1\n"
        "- **[`old`](D?group=2939ab0d98f2)**: 1 · approved by `ann`\n"
        "- **[`pricing`](D?group=56b914300b6f)**: 3 · approved by `ann`\n"
    ) in markdown
    assert markdown.endswith(
        "<details><summary>3 changed, 1 removed, approved</summary>\n"
        "\n"
        "- [`pricing`](D?tab=changes&shot=pricing&viewport=375x812) · 375x812, 768x1024, 1280x800 · changed\n"
        "- [`old`](D?tab=changes&shot=old&viewport=1280x800) · 1280x800\n"
        "\n"
        "</details>\n"
        "\n"
        "<details><summary>1 unchanged</summary>\n"
        "\n"
        "- [`same`](D?shot=same&viewport=1280x800) · 1280x800\n"
        "\n"
        "</details>\n"
    )
    assert (text.count, text.shown, text.listed, text.omitted) == (9, 2, 7, 0)
    for page in pages(text.markdown):
        assert {"token @ci", "Too bright, @bob"} <= set(page.codes), page


def test_one_open_shot_keeps_its_group_open_and_its_picture():
    one, *others = (shot for shot in grouped_shots() if shot.name == "pricing")
    text = changes([replace(one, review=OPEN), *(replace(shot, review=APPROVED) for shot in others)])
    assert f"**Waiting**: [1 screenshot to review]({DASHBOARD}?tab=changes)\n" in text.markdown
    assert "approved" not in text.markdown
    assert text.shown == 1


def test_a_gate_that_waits_for_the_newest_commit_says_what_to_do():
    outdated = replace(comparison([compared("home", Verdict.CHANGED)]), gate=NOT_COMPARED)
    text = changes_view(HTML, outdated, NOTHING).markdown
    words = f"[the newest commit is not compared yet]({DASHBOARD}?tab=changes): wait for its job, or run it again."
    assert f"\n\n**Blocked**: {words}\n" in text


@pytest.mark.parametrize("limit", [MIN_COMMENT_BYTES, MAX_COMMENT_BYTES])
def test_at_most_three_rejected_shots_are_listed_if_there_is_room(limit: int):
    shots = [compared(f"page-{number}", Verdict.CHANGED, review=REJECTED) for number in range(9)]
    text = changes(shots, replace(HTML, limit=limit)).markdown
    assert text.count("\n* ") == (3 if limit == MAX_COMMENT_BYTES else 0)
    assert "**Rejected**: [changes were rejected](" in text


# --- other states ---


@pytest.mark.parametrize(
    ("state", "heading", "sentence"),
    [
        (None, "not compared", "Nothing is compared yet: run `prshots compare` after the upload."),
        (
            ComparisonState.NO_BASELINE,
            "not compared",
            "There is no baseline for `main` yet: run this job on a push to it.",
        ),
        (
            ComparisonState.INCOMPLETE,
            "incomplete",
            "No screenshots were uploaded for this commit: run the job that takes them again.",
        ),
        (
            ComparisonState.RUNNING,
            "still comparing",
            "The comparison is still running: see the dashboard for its result.",
        ),
        (
            ComparisonState.FAILED,
            "comparison failed",
            "The comparison failed: run `prshots compare` again.",
        ),
    ],
)
def test_an_unfinished_comparison_says_what_is_missing(state, heading, sentence):
    shots = [newest("home"), newest("cart")]
    nothing = comparison([], state) if state else None
    text = changes_view(HTML, nothing, Latest(shots, COMMIT, 1))
    assert text.heading == f"### 2 screenshots, {heading}"
    assert f"\n\n{sentence}\n\n" in text.markdown
    assert f"[dashboard]({DASHBOARD})" in text.markdown
    assert {image for image, _ in Page(text.markdown).images} == {shot.url for shot in shots}
    if state in {ComparisonState.RUNNING, ComparisonState.FAILED}:
        text = changes_view(HTML, comparison([compared("home", Verdict.UNCHANGED)], state), NOTHING)
        assert text.heading == f"### 1 screenshot, {heading}: 1 unchanged"
        assert f"\n\n**Blocked**: t{sentence[1:]}\n" in text.markdown


def test_an_incomplete_run_says_how_to_complete_it():
    incomplete = comparison([compared("home", Verdict.UNCHANGED)], ComparisonState.INCOMPLETE)
    text = changes_view(HTML, incomplete, NOTHING)
    assert text.heading == "### 1 screenshot, incomplete: 1 unchanged"
    assert (
        "\n\n**Blocked**: some screenshots of the base are missing in this run: run `prshots compare --complete` "
        "after the last upload.\n"
    ) in text.markdown


# --- folds and columns ---


def test_more_than_30_names_are_folded_by_folder():
    names = [f"shop/page {number}" for number in range(20)] + [
        f"account/page {number}" for number in range(9)
    ]
    assert "<details>" not in latest([newest(name) for name in [*names, "home"]]).markdown
    text = latest([newest(name) for name in [*names, "home", "single/page"]])
    assert re.findall("<summary>.*</summary>", text.markdown) == [
        "<summary><code>account</code>: 9 screenshots</summary>",
        "<summary><code>shop</code>: 20 screenshots</summary>",
    ]
    assert text.shown == 31
    for page in pages(text.markdown):
        assert len(page.images) == 31
        assert page.tags["details"] == 2


@pytest.mark.parametrize(
    ("names", "folders"),
    [
        (["a/1", "a/2", "b/1", "b/2"], ["a", "a", "b", "b"]),
        (["a/1", "a/2", "b/1", "c"], ["a", "a", "", ""]),
        (["e2e/a/1", "e2e/a/2", "e2e/b/1", "e2e/b/2"], ["a", "a", "b", "b"]),
        (["e2e/a/1", "e2e/a/2", "e2e/x", "e2e/y"], ["a", "a", "e2e", "e2e"]),
        (["e2e/1", "e2e/2"], ["e2e", "e2e"]),
        (["Cart / 1", "Cart / 2", "Home / 1"], ["Cart", "Cart", ""]),
        (["1", "2"], ["", ""]),
        (["/1", "/2", "//"], ["", "", ""]),
    ],
)
def test_the_folder_is_the_first_one_that_tells_names_apart(names, folders):
    assert list(folders_of(names, 1).values()) == folders
    assert set(folders_of(names, len(names)).values()) == {""}


COLUMNS = st.tuples(
    st.tuples(st.integers(1, 99_999), st.integers(1, 99_999)).map(lambda size: f"{size[0]}x{size[1]}")
    | st.sampled_from(VIEWPORTS),
    st.sampled_from(["", "light", "dark"]),
)


@given(st.frozensets(COLUMNS, min_size=1, max_size=12))
def test_pictures_fit_the_width_of_a_comment(columns: frozenset[Column]):
    layout = lay_out_columns(columns)
    assert {column for group in layout.groups for column in group} == columns
    for group in layout.groups:
        widths = [layout.widths[column] for column in group]
        assert sum(widths) + 27 * len(group) <= 720
        for width, (viewport, _) in zip(widths, group, strict=True):
            assert min(60, int(viewport.partition("x")[0])) <= width <= int(viewport.partition("x")[0])


@pytest.mark.parametrize("frame", [HTML, LINK])
def test_many_columns_are_divided_into_readable_tables(frame):
    columns = [(viewport, theme) for viewport in VIEWPORTS for theme in ("dark", "light")]
    assert lay_out_columns(frozenset(columns)).groups == [columns[:4], columns[4:]]
    shots = [newest(name, *column) for name in ("a", "b") for column in columns]
    for page in pages(latest(shots, frame).markdown):
        assert [image for image, _ in page.images] == [shot.url for shot in shots], page
        assert page.tags["table"] == 4, page
        assert page.codes == ["3f9c2d1", "a", "b"], page


# --- names never add markup ---

ODD = st.sampled_from(["1280x800", "375x812", "", "dark"]) | HOSTILE_NAMES
HTML_TAGS = {"h3", "p", "strong", "ul", "li", "a", "img", "br", "code", "details", "summary"}
HTML_TAGS |= {"table", "tr", "th", "td"}
LINK_TAGS = HTML_TAGS - {"details", "summary", "br"} | {"thead", "tbody"}


def assert_clean(page: Page, frame: Frame, links: Sequence[str]) -> None:
    assert page.tags.keys() <= (HTML_TAGS if frame.marker is Marker.HTML else LINK_TAGS), page
    assert page.comments == ([" svc:pr-7 "] if frame.marker is Marker.HTML else []), page
    assert Counter(page.links) == Counter([DASHBOARD, *links]), page
    assert "svc:pr" not in page.text


@given(st.sets(st.tuples(HOSTILE_NAMES, ODD, ODD), min_size=1, max_size=6), st.sampled_from([HTML, LINK]))
def test_latest_renders_its_images_and_nothing_else(keys, frame):
    shots = [LatestShot(*key, url=url(number), commit_sha=COMMIT) for number, key in enumerate(keys)]
    text = latest(shots, frame)
    assert (text.count, text.shown) == (len(shots), len(shots))
    for page in pages(text.markdown):
        assert_clean(page, frame, [shot.url for shot in shots])
        assert Counter(page.images) == Counter((shot.url, on_one_line(shot.name)) for shot in shots), page
        assert {as_seen(shot.name) for shot in shots} <= set(page.codes), page


@given(
    st.dictionaries(
        st.tuples(HOSTILE_NAMES, ODD, ODD),
        st.tuples(st.sampled_from(Verdict), ODD, st.sampled_from(LOOKED_AT)),
        min_size=1,
        max_size=6,
    ),
    HOSTILE_NAMES,
    st.sampled_from([HTML, LINK]),
)
def test_changes_links_everything_to_the_dashboard_and_renders_nothing_else(drawn, words, frame):
    shots = [
        compared(
            name, verdict, viewport, theme, key=number, reason=reason, review=Review(state, words, note=words)
        )
        for number, ((name, viewport, theme), (verdict, reason, state)) in enumerate(drawn.items())
    ]
    found = comparison(shots)
    text = changes_view(frame, found, NOTHING)
    assert (text.count, text.omitted) == (len(shots), 0)
    for page in pages(text.markdown):
        assert page.tags.keys() <= (HTML_TAGS if frame.marker is Marker.HTML else LINK_TAGS), page
        assert page.comments == ([" svc:pr-7 "] if frame.marker is Marker.HTML else []), page
        assert all(link.partition("?")[0] == DASHBOARD for link in page.links), page
        groups = [link.partition("?group=")[2] for link in page.links if "?group=" in link]
        assert sorted(groups) == sorted(group.id for group in found.groups), page
        assert {as_seen(shot.name) for shot in shots} <= set(page.codes), page
        pictures = {GroupKind.SINGLE: 2, GroupKind.NEW: 1, GroupKind.REMOVED: 0}
        approved = {
            group for group, (state, _) in find_decided(found).items() if state is ReviewState.APPROVED
        }
        assert len(page.images) == sum(pictures[g.kind] for g in found.groups if g.id not in approved), page


@pytest.mark.parametrize("frame", [HTML, LINK])
def test_a_pipe_does_not_add_a_cell(frame):
    shots = [newest("a | b", "c | d", "e | f", commit="g | h"), newest("a | b", "c | d")]
    for page in pages(latest(shots, frame).markdown):
        assert (page.tags["table"], page.tags["td"], len(page.images)) == (1, 2, 2), page


@given(st.lists(HOSTILE_NAMES, min_size=1, max_size=3), st.sampled_from(list(RENDERERS)))
def test_folders_render_as_their_names(names, renderer):
    shots = [newest(f"{names[number % len(names)]}/{number}") for number in range(31)]
    page = Page(latest(shots).markdown, renderer)
    assert_clean(page, HTML, [shot.url for shot in shots])
    assert len(page.images) == len(shots)


# --- the size limit ---

LIMITS = st.integers(MIN_COMMENT_BYTES, MAX_COMMENT_BYTES) | st.integers(MIN_COMMENT_BYTES, 4096)
FRAMES = st.builds(
    Frame,
    st.just(7),
    st.sampled_from([DASHBOARD, f"https://{'s' * 94}.example.com/projects/7", "https://" + "x" * 5000]),
    LIMITS,
    st.sampled_from(Marker),
)
LENGTHS = st.sampled_from(["n", "checkout/cart", "😀" * 190, "`" * 190, "$" * 190, "a/" * 95])


def assert_sized(text: SizedComment, frame: Frame, count: int) -> None:
    assert len(text.markdown.encode()) <= frame.limit
    assert text.count == count == text.shown + text.listed + text.omitted
    assert text.markdown.startswith(f"{frame.marker.line(7)}\n")
    assert text.heading in text.markdown.splitlines()
    if text.omitted:
        assert f"Only in the {frame.dashboard}: " in text.markdown
    if frame.dashboard_url == DASHBOARD:
        assert f"[dashboard]({DASHBOARD})" in text.markdown


@given(st.lists(LENGTHS, min_size=1, max_size=3), st.integers(0, 250), st.integers(1, 99_999), FRAMES)
def test_latest_keeps_its_limit_and_reports_correct_counts(names, count, commits, frame):
    shots = [
        newest(f"{names[number % len(names)]} {number // 3}", VIEWPORTS[number % 3])
        for number in range(count)
    ]
    text = latest_view(frame, Latest(shots, COMMIT, commits))
    assert_sized(text, frame, count)
    assert len(Page(text.markdown, "cmark-gfm").images) == text.shown


@given(
    st.lists(LENGTHS, min_size=1, max_size=3),
    st.lists(
        st.tuples(st.sampled_from(Verdict), st.integers(1, 60), st.sampled_from(LOOKED_AT)),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([ComparisonState.COMPARED, ComparisonState.INCOMPLETE, ComparisonState.FAILED]),
    st.sampled_from(["main", "😀" * 255, "`" * 255]),
    FRAMES,
)
def test_changes_keeps_its_limit_and_the_most_important_shots(names, runs, state, branch, frame):
    verdicts = [(verdict, review) for verdict, length, review in runs for _ in range(length)]
    shots = [
        compared(
            f"{names[number % len(names)]} {number // 3}.",
            verdict,
            VIEWPORTS[number % 3],
            key=number,
            reason="r" * 999,
            review=Review(review, names[0], note=names[-1]),
        )
        for number, (verdict, review) in enumerate(verdicts)
    ]
    found = comparison(shots, state, branch)
    noise = [replace(shot, review=Review(QUIET[number % 2])) for number, shot in enumerate(shots)]
    every = replace(found, shots=[*found.shots, *noise])
    noisy = changes_view(frame, every, NOTHING, quarantine_ends=ENDS)
    assert len(noisy.markdown.encode()) <= frame.limit
    assert noisy.count == 2 * len(shots) == noisy.shown + noisy.listed + noisy.omitted
    text = changes_view(frame, found, NOTHING)
    assert_sized(text, frame, len(shots))
    images = {image for image, _ in Page(text.markdown, "cmark-gfm").images}
    shown = [shot.view_url in images for shot in found.shots]
    assert sum(shown) == text.shown
    listed = listed_shots(text)
    assert len(listed) == text.listed
    kept: list[list[bool]] = [[] for _ in range(5)]
    decided = find_decided(found)
    for shot, has_picture in zip(found.shots, shown, strict=True):
        is_approved = shot.group in decided and decided[shot.group][0] is ReviewState.APPROVED
        in_a_line = (name_as_code(shot.name), shot.viewport) in listed
        kept[3 if is_approved else RANKS[shot.verdict]].append(has_picture or in_a_line)
    for important, less_important in combinations(kept, 2):
        assert all(important) or not any(less_important)


def listed_shots(text: SizedComment) -> list[tuple[str, str]]:
    """Return the names, as code, and the viewports of all shots that have a line."""
    lines = re.findall(r"^- \[?(`.*?`)(?:\]\(\S*\))? · ([^·\n]*)", text.markdown, re.MULTILINE)
    return [(name, viewport) for name, viewports in lines for viewport in viewports.strip().split(", ")]


@pytest.mark.parametrize("marker", Marker)
def test_900_changed_shots_fit(marker):
    shots = [
        compared(f"shop/page-{number}", Verdict.CHANGED, viewport)
        for number in range(300)
        for viewport in VIEWPORTS
    ]
    text = changes(shots, replace(HTML, marker=marker))
    assert 60_000 < len(text.markdown.encode()) <= MAX_COMMENT_BYTES
    assert (text.shown, text.count) == (12, 900)
    assert text.listed > 400


@pytest.mark.parametrize("frame", [HTML, LINK])
def test_a_comment_of_exactly_the_limit_is_not_cut(frame):
    shots = [compared(f"page-{number}", verdict) for number, verdict in enumerate([*RANKS] * 9)]
    whole = changes(shots, frame)
    size = len(whole.markdown.encode())
    assert changes(shots, replace(frame, limit=size)) == whole
    cut = changes(shots, replace(frame, limit=size - 1))
    assert (cut.shown, cut.listed + cut.omitted) == (whole.shown, whole.listed)
    assert cut.markdown.endswith(f"\nOnly in the [dashboard]({DASHBOARD}): {cut.omitted} unchanged.\n")


def test_the_smallest_limit_still_shows_a_picture():
    assert latest([newest("home")], replace(HTML, limit=MIN_COMMENT_BYTES)).shown == 1


@pytest.mark.parametrize("marker", Marker)
@pytest.mark.parametrize("state", ComparisonState)
def test_the_longest_words_fit_the_smallest_limit(state, marker):
    longest = "😀" * 255
    frame = Frame(
        2_147_483_647, "https://" + "x" * 120, MIN_COMMENT_BYTES, marker, 2**40, "0" * 16, longest[:100]
    )
    shots = [
        compared(f"{longest[:190]} {number}", verdict, ancestor=False, reason=longest)
        for number, verdict in enumerate([*RANKS] * 100)
    ]
    for compared_shots in (shots, []):
        latest_shots = Latest([newest(shot.name) for shot in shots], COMMIT, 99_999)
        every = comparison(compared_shots, state, longest)
        noise = [
            replace(shot, review=Review(QUIET[number % 2])) for number, shot in enumerate(compared_shots)
        ]
        both = replace(every, shots=[*every.shots, *noise])
        for found in (every, both):
            text = changes_view(frame, found, latest_shots)
            assert len(text.markdown.encode()) <= MIN_COMMENT_BYTES
            assert f"[dashboard]({frame.dashboard_url})" in text.markdown
            assert text.markdown.startswith(f"{marker.line(2_147_483_647)}\n")
