"""What is well-formed; whatever else a variable holds counts as not said.

What passes here goes into addresses and requests as it is.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from prshots.contract.limits import COMMIT_SHA, MAX_PR_NUMBER

_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_REPOSITORY = re.compile(r"[0-9]{1,20}|(?!\.{1,2}/)[\w.~-]+(?:/(?!\.{1,2}(?:/|\Z))[\w.~-]+)+", re.ASCII)
_TOKEN = re.compile(r"[!-~]+")
LONGEST = 2000


def is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() not in ("", "false")


def first(environ: Mapping[str, str], *names: str) -> str:
    """Return the first of these variables that is set to something."""
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def pr_number(given: object) -> int | None:
    """Return a pull request's number, from a variable's text or from JSON."""
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        given = int(given)
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MAX_PR_NUMBER:
        return given
    return None


def commit(*candidates: object) -> str:
    """Return the first that is a commit's SHA, whole or abbreviated."""
    for given in candidates:
        if isinstance(given, str) and COMMIT_SHA.fullmatch(given.strip()):
            return given.strip().lower()
    return ""


def repository(given: object) -> str:
    """Return `owner/name`, with any number of groups, or an id as GitLab has them."""
    if isinstance(given, str) and len(given) <= LONGEST and _REPOSITORY.fullmatch(given.strip()):
        return given.strip()
    return ""


def token(given: str) -> str:
    """Return a token without what surrounds it; nothing when it could not stand in a header."""
    return given.strip() if _TOKEN.fullmatch(given.strip()) else ""


def address(given: object) -> str:
    """Return an http(s) address, if it has a host and holds no password."""
    if not isinstance(given, str) or len(given) > LONGEST or not _TOKEN.fullmatch(given.strip()):
        return ""
    try:
        parts = urlsplit(given.strip())
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return ""
    is_one = parts.scheme in ("http", "https") and has_host and "@" not in parts.netloc
    return given.strip() if is_one else ""


def root(given: object) -> str:
    """Return an address that paths can be added to."""
    found = address(given)
    return "" if "?" in found or "#" in found else found.rstrip("/")
