"""Text that looks like a secret is kept out of the logs. Other text stays readable."""

import pytest

from prshots.contract.redaction import HIDDEN, redact

HEX = "0123456789abcdef" * 4
# The first part has 43 characters, like a session.
ID_TOKEN = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImsiOjF.eyJzdWIiOiJyZXBvOm9jdG8vYXBwIiwiZXhwIjoxfQ.c2lnbmF0dXJlLW9mLWl0"
SESSION = "e4X4RvOIXJD7d8ineziN4EUAShY-5Oh9ModMsufpXOw"  # as `secrets.token_urlsafe(32)` makes it


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"Authorization: Bearer {HEX}", HEX),
        ('{"headers": {"authorization": "bearer abc.def-1"}}', "abc.def-1"),
        (f"no project for msr_{HEX}", HEX),
        ("token 'msr_0123' is cut off", "0123"),
        ("got whsec_MfKQ9r8GKYqrTwjUPD8I+PZIo2LaLaSw= from you", "MfKQ9r8GKYqrTwjUPD8I+PZIo2LaLaSw="),
        (f"Bad credentials: ghs_4711_{ID_TOKEN}", ID_TOKEN),
        (f"github_pat_{HEX[:60]} has expired", HEX[:60]),
        ("glpat-x7Zq_29-abcdEFGH.01.2z3 was revoked", "x7Zq_29-abcdEFGH.01.2z3"),
        (f"/i/x.png?exp=1&token=k1.{HEX}", HEX),
        ("/i/x.png?exp=1&token=k1.short", "k1.short"),
        ("https://s3/x?X-Amz-Signature=abc&X-Amz-Credential=def", "abc"),
        ("https://s3/x?X-Amz-Signature=abc&X-Amz-Credential=def", "def"),
        ("GET /x?sig=abcd HTTP/1.1", "abcd"),
        (f"http://localhost:8081/v1/put/{SESSION}", SESSION),
        ('{"path": "/v1/put/cut-off", "status": 404}', "cut-off"),
        (f"Cookie: a=1; prshots_session={SESSION}; b=2", SESSION),
        ("{'prshots_session': 'short'}", "short"),
        ("__Host-prshots_session=short;", "short"),
        ("Set-Cookie: a=whatever; Path=/", "whatever"),
        ("/auth/callback/github?code=abc&state=def", "abc"),
        ("/auth/callback/github?code=abc&state=def", "def"),
        (f"http://localhost:8080/sign-in#{SESSION}", SESSION),
        ("postgresql://ann:pa%20ss@db/prshots", "pa%20ss"),
        ("redis://:hunter2@cache:6379", "hunter2"),
        ("postgresql://ann:first@second@db/x", "first"),
        ("postgresql://ann:first@second@db/x", "second"),
        ("cannot open 'redis://ann:a/b#c?d:e@f@cache:1/0': refused", "a/b#c?d:e@f"),
        ("postgresql://ann:qu\"ot'e\\d@db/x", "ot'e"),
        ("https://ghp_token@github.com/o/r", "ghp_token"),
        (f"k1:{HEX}", HEX),
        (f"k1:{HEX * 2}", HEX),
        ("client_secret=abc", "abc"),
        (f"could not read {ID_TOKEN}: bad padding", ID_TOKEN.split(".")[1]),
        (f"could not read {ID_TOKEN}: bad padding", ID_TOKEN.split(".")[2]),
        (f'{{"id_token": "{ID_TOKEN}"}}', ID_TOKEN.split(".")[2]),
        (f"cut off: {ID_TOKEN[:90]}", ID_TOKEN.split(".")[1][:20]),
        (f"?id_token={ID_TOKEN}&x=1", ID_TOKEN.split(".")[2]),
    ],
)
def test_a_secret_is_hidden(text, secret):
    assert secret in text
    assert secret not in redact(text)
    assert HIDDEN in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01 12:00:00 [error    ] worker died, starting it again  exit_code=-9 worker=api-0",
        '{"event": "request", "path": "/v1/images/0123456789abcdef0123456789abcdef", "status": 200}',
        "commit 0123456789abcdef0123456789abcdef01234567 of msr_…abcd",
        "PostgreSQL at db.example.org:5432/prshots: connection refused",
        "the kid eyJ.x is not known",
        "http://127.0.0.1:8081/v1/comment?pr_number=7 by ann@example.org",
        "git@github.com:o/r.git and https://github.com/@ann",
    ],
)
def test_other_text_is_unchanged(text):
    assert redact(text) == text
