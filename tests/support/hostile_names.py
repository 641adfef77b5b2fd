"""Names that try to break out of a comment, and how a reader sees them."""

import unicodedata

from hypothesis import strategies as st

_FRAGMENTS = [
    *"[]()<>|&@#*_~$!^\\`\"'{}=-+:;. \t\n\r",
    *"aZ5é日ी€😀\x00\x85\xa0\u2028\u2029\u200b\u200d\u200e\u200f\u202a\u202e\u2066\u2069",
    *("![", "](", "](http://evil)", "[x]: http://evil", "[^1]", "<b>", "</details>", "<!-- svc:pr-9 -->"),
    *(
        "<https://evil>",
        "<1@evil.com>",
        "&amp;",
        "&#64;",
        "&copy",
        "@user",
        "#123",
        "GH-1",
        ":tada:",
        "0a1b2c3d",
    ),
    *(
        "http://evil.com",
        "www.evil.com",
        "me@evil.com",
        "``",
        "```",
        "**",
        "__",
        "~~",
        "$$",
        "\\\\",
        "\r\n",
        "  ",
    ),
]
_BREAKOUTS = (
    *("`" * 80, "`" * 81 + "[x](http://evil)", "a" + "`" * 80 + "<b>", "`" * 79 + "`x" * 60, "`" * 200),
    *("^", "^1", "^[note]", "^1](http://evil)", "[^1]", "[^1]: note", "!^x", "\\^1", " ^1"),
    *("`` ``` ` ```` [x](http://evil) `````", "[[evil]]", "[x][y]", "$`a`$", "<div>", ">>> a", "| a | b |"),
)
"""Names that broke out of a code span or an image in some renderer, or may."""

HOSTILE_NAMES = (
    st.sampled_from(_BREAKOUTS)
    | st.tuples(st.integers(0, 199), st.sampled_from(["", "^", "[x](http://evil)", "<b>", "\\"])).map(
        lambda drawn: (drawn[1] + "`" * drawn[0] + drawn[1])[:200] or "`"
    )
    | st.text(st.sampled_from("`^[]\\ a!("), min_size=1, max_size=200)
    | st.lists(st.sampled_from(_FRAGMENTS), min_size=1, max_size=60).map(lambda parts: "".join(parts)[:200])
    | st.text(st.sampled_from("_*`\\[]<&~|$ a.("), min_size=1, max_size=12)
    | st.text(min_size=1, max_size=200)
)


def on_one_line(name: str) -> str:
    return "".join(" " if unicodedata.category(char) in {"Cc", "Zl", "Zp"} else char for char in name)


def as_seen(name: str) -> str:
    return on_one_line(name).translate(dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])) or " "
