"""Remove everything that looks like a secret from texts for logs and operators.

Our own code never puts secrets into messages. This catches secrets in messages from libraries.
"""

import re

from prshots.contract.safe_text import printable

HIDDEN = "[hidden]"

_SECRETS = re.compile(
    r"""
      (?P<bearer> \b bearer [ ]+ ) [^\s"'\\,;]+
    | (?P<upload_token> \b msr_ ) [0-9A-Za-z]+
    | (?P<webhook_secret> \b whsec_ ) [0-9A-Za-z+/=]+
    | (?P<forge_token> \b (?: gh[oprsu]_ | github_pat_ | glpat- ) ) [\w.-]{16,}
    | (?P<id_token> \b eyJ ) [\w-]{10,} (?: \. [\w-]* )*    # a JSON Web Token, or the beginning of one
    | (?P<cookie> \b (?:set-)? cookie ["']? [:=] \s* ["']? ) [^"'\\\r\n]+
    | (?P<session> \b prshots_ (?:session|login) ["']? [=:] \s* ["']? ) [^\s"'\\;,]+
    | (?P<signature> \b (?: token | sig | signature | x-amz-[a-z-]+ | password | client_secret ) = ["']? )
      [^\s"'\\&;,]+
    | (?P<put_url> /v1/put/ ) [^\s"'\\?&;,]+
    | (?P<sign_in> [?&\#] (?: code | state | link ) = ) [^\s"'\\&;,]+
    | (?P<password> :// [^\s/:@"'\\]* : ) [^\s]+ (?= @ )    # up to the last @, which the password may contain
    | (?P<user> :// ) [^\s/:@"'\\]+ (?= @ )                # a token in place of the user
    | (?<! [\w-] ) [0-9a-fA-F]{64,} (?! [\w-] )    # a key, a hash or a signature in hex
    | (?<! [\w-] ) [\w-]{43} (?! [\w-] )           # 256 bits in base64: a session, a sign-in code
    """,
    re.IGNORECASE | re.VERBOSE,
)


def redact(text: str) -> str:
    """Return the text with every token, cookie, key, password and signature replaced."""
    return _SECRETS.sub(lambda found: f"{found[found.lastgroup] if found.lastgroup else ''}{HIDDEN}", text)


def redact_briefly(text: str) -> str:
    """Return the beginning of someone else's message without secrets, as `printable` text.

    Redacting all of a long one would take hours.
    """
    return printable(redact(text[:2000])[:300])
