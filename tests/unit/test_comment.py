"""The comment as a reader sees it. Most tests render the markdown and check the resulting page."""

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prshots.contract.comments import MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, Marker
from prshots.contract.limits import Policy
from prshots.contract.replies import SizedComment
from prshots.server.domain.comments.frame import Frame
from prshots.server.domain.comments.markup import plain_or_code
from prshots.server.domain.comments.service import DEFAULT_LIMIT, MAX_LISTED, all_view, deleted_comment
from prshots.server.domain.images.markdown import image_markdown
from prshots.server.domain.images.models import ListedImage
from prshots.server.domain.projects.models import Project
from support.comment_entries import listed_image, url_of
from support.hostile_names import HOSTILE_NAMES as NAMES
from support.hostile_names import as_seen, on_one_line
from support.markdown_pages import RENDERERS, Page, pages

URL = f"https://img.example.com/i/{'0a' * 16}.png?exp=1812345678&token=k1.{'5e' * 32}"
LONG_URL = URL.replace("img.", f"{'i' * 4000}.")
DASHBOARD = "https://shots.example.com/projects/web/pr/7"

ORDINARY = st.characters(categories=["L", "M", "Nd"]) | st.sampled_from(" -_.,:/()")
ORDINARY_NAMES = st.text(ORDINARY, min_size=1, max_size=200) | st.text("a_ .", min_size=1, max_size=10)


def entry(name: str = "Home", number: int = 0, url: str = URL) -> ListedImage:
    return listed_image(name, "1280x800", f"{number:07x}{'f' * 33}", url)


def entries(count: int, name: str = "Checkout page", url: str = URL) -> list[ListedImage]:
    return [entry(f"{name} {number}"[-200:], number, url) for number in range(count)]


def comment_on(shots: Sequence[ListedImage]) -> str:
    return sized(shots, DEFAULT_LIMIT).markdown


def sized(
    shots: Sequence[ListedImage], limit: int, marker: Marker = Marker.HTML, dashboard: str = DASHBOARD
) -> SizedComment:
    return all_view(Frame(7, dashboard, limit, marker), len(shots), shots[-MAX_LISTED:], url_of)


def plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def parts(text: str) -> tuple[list[int], list[int], int]:
    """Return the numbers (see `entry`) of listed images and of shown images, and how many are left out."""
    listed = [int(sha, 16) for sha in re.findall(r"^- .* · `([0-9a-f]{7})`$", text, re.MULTILINE)]
    shown = [int(sha, 16) for sha in re.findall(r"^`.* · `([0-9a-f]{7})`\\$", text, re.MULTILINE)]
    left_out = re.search(
        r"^The oldest (?:(\d+) screenshots are|screenshot is) only in the", text, re.MULTILINE
    )
    return listed, shown, int(left_out[1] or 1) if left_out else 0


# --- the exact text ---


def test_each_screenshot_gets_a_caption_and_an_image():
    shots = [entry("Home", 0xABCDEF1), entry("Sign in (dark)", 0xABCDEF1), entry("a`b [new]", 0x1234567)]
    assert comment_on(shots) == (
        "<!-- svc:pr-7 -->\n"
        "### 3 screenshots\n"
        "\n"
        "`Home` · 1280x800 · `abcdef1`\\\n"
        f"![Home]({URL})\n"
        "\n"
        "`Sign in (dark)` · 1280x800 · `abcdef1`\\\n"
        f"![Sign in (dark)]({URL})\n"
        "\n"
        "``a`b [new]`` · 1280x800 · `1234567`\\\n"
        f"![a\\`b \\[new\\]]({URL})\n"
    )


def test_older_screenshots_are_listed_and_the_oldest_are_left_out():
    text = comment_on(entries(5000))
    listed, shown, left_out = parts(text)
    sections = [
        "<!-- svc:pr-7 -->\n### 5000 screenshots\n",
        f"<details><summary>{len(listed)} older screenshots, without pictures</summary>\n",
        "".join(f"- `Checkout page {number}` · 1280x800 · `{number:07x}`\n" for number in listed),
        "</details>\n",
        "\n".join(
            f"`Checkout page {number}` · 1280x800 · `{number:07x}`\\\n![Checkout page {number}]({URL})\n"
            for number in shown
        ),
        f"The oldest {left_out} screenshots are only in the [dashboard]({DASHBOARD}).\n",
    ]
    assert text == "\n".join(sections)


@pytest.mark.parametrize(
    ("name", "alternative"),
    [
        ("snake_case", "snake_case"),
        ("_a_b", "_a_b"),
        ("की_सी_", "की_सी_"),
        ("_em_", r"\_em\_"),
        ("__init__", r"\_\_init\_\_"),
        ("(_a_)", r"(\_a\_)"),
        ("€_a_€", r"€\_a\_€"),
        ("a_b _em_", r"a\_b \_em\_"),
        ("Terms & Conditions", "Terms & Conditions"),
        ("AT&T; a&b", r"AT\&T; a&b"),
        ("&#64;", r"\&#64;"),
        ("$5 to $6", "&#36;5 to &#36;6"),
        ("back\\", r"back\\"),
        ("5 * 3 ~ 15 | [x] < `y`", r"5 \* 3 \~ 15 \| \[x\] \< \`y\`"),
        ("two\r\nlines\x00\x85\u2028\u2029\t.", "two  lines     ."),
        ("  ", "  "),
        ("!", "!"),
        ("^1", r"\^1"),
        ("2^8", "2^8"),
    ],
)
def test_only_characters_that_would_change_the_rendering_are_escaped(name, alternative):
    assert image_markdown(name, URL) == f"![{alternative}]({URL})"
    for page in pages(image_markdown(name, URL)):
        assert page.images == [(URL, on_one_line(name))], page


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Home", "`Home`"),
        ("`", "`` ` ``"),
        ("a`b", "``a`b``"),
        ("a``b`", "``` a``b` ```"),
        ("``", "` `` `"),
        ("`" * 80, f"` {'`' * 80} `"),
        (" a", "` a`"),
        (" a ", "`  a  `"),
        (" \xa0 ", "`  \xa0  `"),
        ("   ", "`   `"),
        ("a\nb\t", "`a b `"),
        ("\u202egnp.exe\u2069", "`gnp.exe`"),
        ("\u200fa\u200e", "`\u200fa\u200e`\u200e"),
        ("\u202e\u2066", "` `"),
    ],
)
def test_a_caption_shows_the_name_as_code(name, code):
    assert comment_on([entry(name)]).splitlines()[3] == f"{code} · 1280x800 · `0000000`\\"
    for page in pages(comment_on([entry(name)])):
        assert page.codes == [as_seen(name), "0000000"], page


@pytest.mark.parametrize("name", ["web", "my_app", "apps/shop-web", "Checkout (beta)"])
def test_a_heading_shows_an_ordinary_project_name_as_text(name):
    assert plain_or_code(name) == name


@pytest.mark.parametrize(
    "name", ["@ann", "#1", "_web_", "a _b_", "a*b*", "www.a.b", "http://a.b", "<b>", "a\nb"]
)
def test_a_heading_shows_any_other_project_name_as_code(name):
    assert plain_or_code(name) == f"`{name}`".replace("\n", " ")


def test_a_right_to_left_name_does_not_move_the_viewport():
    """An invisible mark ends the name's direction. Without it, the digits that follow would join the name."""
    for char in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.bidirectional(char) in {"R", "AL", "AN"}:
            assert f"`a {char}`\u200e · 1280x800 ·" in comment_on([entry(f"a {char}")])
    for char in "aé日5😀":
        assert f"`a {char}` · 1280x800 ·" in comment_on([entry(f"a {char}")])


# --- names never add markup ---


@given(NAMES)
def test_image_markdown_renders_as_one_image_in_any_context(name):
    markdown = image_markdown(name, URL)
    image = (URL, on_one_line(name))
    assert "\n" not in markdown
    for place in (
        "{}",
        "see {} here",
        "*a {} b*",
        "__a {} b__",
        "~~a {}~~",
        "- {}",
        "> {}",
        "| a |\n| - |\n| {} |",
    ):
        for page in pages(place.format(markdown)):
            assert page.images == [image], page
            assert not page.links, page
            assert not page.codes, page
    for page in pages(f"[a {markdown} b](https://a.example)"):
        assert (page.images, page.links) == ([image], ["https://a.example"]), page


@given(NAMES)
def test_dollars_and_tildes_are_always_escaped(name):
    """Some forges render math and strikethrough with one tilde. The renderer used here supports neither."""
    written = image_markdown(name, "")
    assert "$" not in written
    assert not re.search(r"(?<!\\)(?:\\\\)*~", written)


@given(st.lists(NAMES, min_size=1, max_size=6))
@example(["`", "`", "\\", "a`"])
def test_a_comment_renders_its_images_and_nothing_else(names):
    shots = [entry(name, number, f"{URL}{number}") for number, name in enumerate(names)]
    text = comment_on(shots)
    count = len(shots)
    for page in pages(text):
        assert page.images == [(url_of(shot), on_one_line(shot.name)) for shot in shots], page
        assert page.codes == [seen for shot in shots for seen in (as_seen(shot.name), shot.commit_sha[:7])]
        assert page.comments == [" svc:pr-7 "], page
        assert page.words == " ".join([f"{count} {plural('screenshot', count)}", *["· 1280x800 ·"] * count])
        assert page.tags == Counter(h3=1, p=count, br=count, img=count, code=2 * count), page
    assert all(image_markdown(shot.name, url_of(shot)) in text for shot in shots)
    assert comment_on(list(shots)) == text


@given(st.lists(NAMES, min_size=1, max_size=8), st.integers(20, 300), st.sampled_from(list(RENDERERS)))
def test_a_folded_comment_renders_its_images_and_nothing_else(names, count, renderer):
    shots = [entry(names[number % len(names)], number, LONG_URL) for number in range(count)]
    text = comment_on(shots)
    listed, shown, left_out = parts(text)
    page = Page(text, renderer)
    assert page.images == [(LONG_URL, on_one_line(shots[number].name)) for number in shown]
    assert page.codes == [
        seen
        for number in listed + shown
        for seen in (as_seen(shots[number].name), shots[number].commit_sha[:7])
    ]
    assert page.comments == [" svc:pr-7 "]
    assert page.links == [DASHBOARD] * (left_out > 0)
    tags = Counter(h3=1, details=1, summary=1, ul=1, p=left_out > 0, a=left_out > 0)
    tags += Counter(li=len(listed), code=2 * len(listed + shown))
    tags += Counter(p=len(shown), br=len(shown), img=len(shown))
    assert page.tags == tags
    words = [
        f"{count} screenshots",
        f"{len(listed)} older {plural('screenshot', len(listed))}, without pictures",
    ]
    words += ["· 1280x800 ·"] * len(listed + shown)
    if left_out:
        words.append(f"The oldest {left_out} screenshots are only in the dashboard.")
    assert page.words == " ".join(words).replace("oldest 1 screenshots are", "oldest screenshot is")


@given(ORDINARY_NAMES)
def test_an_ordinary_name_is_escaped_only_if_it_would_be_emphasized(name):
    as_given = f"![{name}]({URL})"
    if "_" not in name:
        assert image_markdown(name, URL) == as_given
    elif "__" not in name:  # with `__`, we sometimes escape more than needed
        renders_as_given = Page(as_given).images == [(URL, name)]
        assert (image_markdown(name, URL) == as_given) == renders_as_given


# --- the size limit ---

NAME_KINDS = {
    "short": "n",
    "ordinary": "Checkout page",
    "four bytes": "😀" * 200,
    "escapes": "\\" * 200,
    "dollars": "$" * 200,
    "backticks": "`" * 200,
    "emphasis": "_.." * 66,
}
URL_KINDS = {
    "shortest": "u",
    "ordinary": URL,
    "long": URL.replace("img.", f"{'i' * 1850}."),
    "endless": "u" * 70_000,
}


@pytest.mark.parametrize("url", URL_KINDS.values(), ids=URL_KINDS)
@pytest.mark.parametrize("name", NAME_KINDS.values(), ids=NAME_KINDS)
def test_any_number_of_images_fits_and_none_is_lost(name, url):
    shots = [entry(name, number, url) for number in range(5000)]
    for count in (1, 2, 20, 50, 150, 300, 700, 1500, MAX_LISTED, MAX_LISTED + 1, 5000):
        text = comment_on(shots[:count])
        assert len(text.encode()) < MAX_COMMENT_BYTES
        listed, shown, left_out = parts(text)
        assert listed + shown == list(range(left_out, count))
        assert text.count("](u" if url.startswith("u") else "](https://i") == len(shown)
        assert f"### {count} screenshot" in text
        if left_out:
            line = next(line for line in text.splitlines() if line.startswith("- "))
            assert MAX_COMMENT_BYTES - len(text.encode()) < len(line.encode()) + 20


@pytest.mark.parametrize("name", ["Home", "日本"])
def test_all_images_are_shown_up_to_the_size_limit(name):
    first, *others = entries(200, name)

    def comment_of_size(size: int) -> str:
        slack = size - len(comment_on([first, *others]).encode())
        return comment_on([first._replace(id=first.id + "x" * slack), *others])

    fitting = comment_of_size(MAX_COMMENT_BYTES - 1)
    assert len(fitting.encode()) == MAX_COMMENT_BYTES - 1
    assert parts(fitting) == ([], list(range(200)), 0)
    assert parts(comment_of_size(MAX_COMMENT_BYTES)) == ([0], list(range(1, 200)), 0)


@pytest.mark.parametrize(
    ("count", "least_shown", "least_listed"), [(260, 260, 0), (300, 250, 1), (5000, 170, 350)]
)
def test_a_long_comment_still_shows_more_than_170_images(count, least_shown, least_listed):
    listed, shown, _ = parts(comment_on(entries(count)))
    assert len(shown) >= least_shown
    assert len(listed) >= least_listed


FILLING = entries(250, "n" * 150, LONG_URL[:1000])  # about 50 can be shown, about 150 shown or listed


def test_one_more_image_hides_at_most_two_shown_ones():
    """Shown images stay shown, except for the oldest ones, which make room for the new one."""
    before = parts(comment_on(FILLING[:10]))
    for count in range(11, len(FILLING) + 1):
        listed, shown, left_out = now = parts(comment_on(FILLING[:count]))
        assert shown[-1] == count - 1
        assert len(set(before[1]) - set(shown)) <= 2
        assert set(listed) <= set(before[0] + before[1])
        assert left_out >= before[2]
        before = now
    assert before[2] > 0


@pytest.mark.parametrize("url", URL_KINDS.values(), ids=URL_KINDS)
def test_images_beyond_max_listed_do_not_change_the_comment(url):
    """No caller needs to load more than `MAX_LISTED` entries, even if each line is as short as possible."""
    shots = [listed_image("n", "1x1", "0123456", url)] * 5000
    for limit in (MIN_COMMENT_BYTES, MAX_COMMENT_BYTES):
        text = sized(shots, limit)
        assert text == all_view(Frame(7, DASHBOARD, limit, Marker.HTML), 5000, shots, url_of)
        assert text.listed < MAX_LISTED


def test_one_omitted_image_is_mentioned_in_the_singular():
    texts = (comment_on(FILLING[:count]) for count in range(len(FILLING)))
    text = next(text for text in texts if parts(text)[2] == 1)
    assert text.endswith(f"\n\nThe oldest screenshot is only in the [dashboard]({DASHBOARD}).\n")


# --- a lower limit, and the marker for forges that show HTML as text ---

LIMITS = st.integers(MIN_COMMENT_BYTES, MAX_COMMENT_BYTES) | st.just(MIN_COMMENT_BYTES)


def counted(text: SizedComment) -> tuple[int, int, int]:
    """Return how many screenshots the text shows, lists and omits, counted in the markdown itself."""
    shown = len(re.findall(r"^!\[", text.markdown, re.MULTILINE))
    listed = len(re.findall(r"^- ", text.markdown, re.MULTILINE))
    return shown, listed, parts(text.markdown)[2]


@given(
    st.lists(NAMES | st.sampled_from(list(NAME_KINDS.values())), min_size=1, max_size=5),
    st.integers(0, 600),
    LIMITS,
    st.sampled_from(Marker),
    st.sampled_from(list(URL_KINDS.values())),
)
def test_a_comment_keeps_its_limit_and_reports_correct_counts(names, count, limit, marker, url):
    shots = [entry(names[number % len(names)], number, url) for number in range(count)]
    text = sized(shots, limit, marker)
    assert len(text.markdown.encode()) <= limit
    assert (text.pr_number, text.count) == (7, count)
    assert (text.shown, text.listed, text.omitted) == counted(text)
    assert text.shown + text.listed + text.omitted == count
    assert text.heading in text.markdown.splitlines()
    assert text.markdown.startswith(f"{marker.line(7)}\n")


@given(st.lists(NAMES, min_size=1, max_size=5), LIMITS, st.sampled_from(list(RENDERERS)))
def test_without_html_a_comment_renders_the_same_images(names, limit, renderer):
    shots = [entry(names[number % len(names)], number, f"{URL}{number}") for number in range(300)]
    text = sized(shots, limit, Marker.LINK)
    page = Page(text.markdown, renderer)
    assert len(page.images) == text.shown
    assert page.images == [
        (url_of(shot), on_one_line(shot.name)) for shot in shots[len(shots) - text.shown :]
    ]
    assert not page.comments
    assert not {"details", "summary", "br"} & page.tags.keys()
    assert "svc:pr-7" not in page.text


def test_without_html_each_screenshot_gets_a_caption_and_an_image():
    text = sized([entry("Home", 1), entry("Cart", 2)], MAX_COMMENT_BYTES, Marker.LINK)
    assert text.markdown == (
        "[//]: # (svc:pr-7)\n"
        "\n"
        "### 2 screenshots\n"
        "\n"
        "`Home` · 1280x800 · `0000001`\n"
        "\n"
        f"![Home]({URL})\n"
        "\n"
        "`Cart` · 1280x800 · `0000002`\n"
        "\n"
        f"![Cart]({URL})\n"
    )


def test_without_html_older_screenshots_are_listed_under_a_bold_line():
    text = sized(entries(500), 32_768, Marker.LINK)
    assert 32_000 < len(text.markdown.encode()) <= 32_768
    assert f"\n\n**{text.listed} older screenshots, without pictures**\n\n- `" in text.markdown
    assert min(text.shown, text.listed) > 50


def test_the_smallest_limit_leaves_room_for_an_image():
    assert sized(entries(500), MIN_COMMENT_BYTES).shown > 0


@pytest.mark.parametrize("marker", Marker)
@pytest.mark.parametrize(
    ("length", "is_linked"), [(MIN_COMMENT_BYTES // 2, True), (MIN_COMMENT_BYTES // 2 + 1, False)]
)
def test_a_dashboard_url_of_more_than_half_the_limit_is_not_linked(length, is_linked, marker):
    address = "https://".ljust(length, "x")
    text = sized(entries(500), MIN_COMMENT_BYTES, marker, address)
    assert len(text.markdown.encode()) <= MIN_COMMENT_BYTES
    dashboard = f"[dashboard]({address})" if is_linked else "dashboard"
    assert text.markdown.endswith(f"The oldest {text.omitted} screenshots are only in the {dashboard}.\n")


@pytest.mark.parametrize(
    ("policy", "days", "words"),
    [
        (Policy.PR_CLOSE, None, "This project deletes screenshots when the pull request closes."),
        (Policy.PR_CLOSE, 30, "This project deletes screenshots when the pull request closes."),
        (Policy.RETAIN_DAYS, 30, "This project deletes screenshots 30 days after they are uploaded."),
        (Policy.MANUAL, 1, "This project deletes screenshots 1 day after they are uploaded."),
        (Policy.MANUAL, None, "This project keeps screenshots until someone deletes them."),
    ],
)
def test_the_comment_of_a_closed_pull_request_names_the_policy(policy, days, words):
    project = Project("p", "web", "o", "local", policy, days, 0)
    text = deleted_comment(Frame(7, DASHBOARD, 1024, Marker.HTML), project)
    assert text.markdown == f"<!-- svc:pr-7 -->\n### Screenshots deleted\n\n{words}\n"
    assert (text.heading, text.count, text.omitted) == ("### Screenshots deleted", 0, 0)
    as_link = deleted_comment(Frame(7, DASHBOARD, 1024, Marker.LINK), project)
    assert as_link.markdown == f"[//]: # (svc:pr-7)\n\n### Screenshots deleted\n\n{words}\n"
