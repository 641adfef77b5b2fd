"""Values that break careless code: as text, and as JSON."""

import random
from typing import Any

TEXTS = (
    "", " ", "0", "-1", "1", "+7", "07", "7 ", "7.0", "1e9", "0x7", "\u0667", "\uff17", "²", "NaN", "Infinity", "null", "true",
    str(2**31 - 1), str(2**31), str(2**63 - 1), str(2**63), str(-(2**63)), "9" * 30, "9" * 5000,
    "\x00", "a\x00b", "\r\n", "a\r\nX-Injected: 1", "\t", "\x7f", "\x1b[31m", "\ufeff", "\u2028", "\u202e", "\U0001f600",
    "é", "e\u0301", "ß", "İ", "\ud800",
    "a" * 200, "a" * 201, "a" * 17_000, "`" * 80, "^", "![x](y)", "<script>", "' OR 1=1 --", '"', "\\", "%", "%00", "%ff", "%zz",
    "../../etc/passwd", "..%2f..", "/", "//", "?", "#", "&", "=", ";", "{}", "[]", "${7*7}", "{{7}}",
    "1280x800", "0x0", "99999999999x1", "1280X800", "1280x800x2", "pr_close", "retain_days", "manual", "owner", "member",
    "open", "closed", "html", "link", "https://token.actions.githubusercontent.com", "http://127.0.0.1:9", "javascript:alert(1)",
    "0" * 32, "f" * 40, "g" * 40, "WyJhIiwgImIiXQ", "WzFd", "bnVsbA", "=", "e30=",
)  # fmt: skip

NUMBERS: tuple[Any, ...] = (
    0, -0.0, -1, 1, 7, 1.5, 1e308, 1e-308, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 10**400,
)  # fmt: skip

# Not what json.dumps writes, but what a client can send.
RAW_JSON = (
    b"", b" ", b"null", b"true", b"0", b"[]", b'""', b"{", b"}", b"{}{}", b"{}x", b"nul", b"'a'", b'{"a"}', b'{"a":}',
    b'{"a":1,}', b"{a:1}", b'{"pr_number":NaN}', b'{"pr_number":Infinity}', b'{"pr_number":-Infinity}',
    b'{"pr_number":1e999}', b'{"pr_number":' + b"9" * 5000 + b"}", b'{"pr_number":-}', b'{"pr_number":01}',
    b'{"name":"\\ud800"}', b'{"\\udfff":"x"}', b'{"claims":{"\\ud800":"x"},"issuer":"x"}', b'{"name":"\\u0000"}',
    b'{"name":"\x00"}', b'{"name":"\xff\xfe"}', b"\xef\xbb\xbf{}", "{}".encode("utf-16"), "{}".encode("utf-32"),
    b'{"name":"a","name":"b"}', b"[" * 20_000, b'{"a":' * 5_000 + b"1" + b"}" * 5_000, b"{" + b" " * 70_000 + b"}",
    b'{"name":"' + b"a" * 60_000 + b'"}', b'{"ids":[' + b'"a",' * 5_000 + b'"a"]}', b'{"name":"\\u12"}', b'{"name":"\\x41"}',
    b'{"name":"\n"}', b"\x00", b"\x80",
)  # fmt: skip


def text(rng: random.Random) -> str:
    """Return a hostile text: one of the list, two of them joined, or random characters."""
    kind = rng.random()
    if kind < 0.7:
        return rng.choice(TEXTS)
    if kind < 0.85:
        return rng.choice(TEXTS)[:300] + rng.choice(TEXTS)[:300]
    return "".join(
        chr(rng.choice((rng.randrange(128), rng.randrange(0x3000)))) for _ in range(rng.randrange(40))
    )


def value(rng: random.Random, depth: int = 0) -> Any:
    """Return a hostile JSON value."""
    kind = rng.random()
    if kind < 0.45:
        return text(rng)
    if kind < 0.7:
        return rng.choice(NUMBERS)
    if kind < 0.8 or depth > 2:
        return rng.choice((None, True, False))
    if kind < 0.9:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {text(rng): value(rng, depth + 1) for _ in range(rng.randrange(4))}
