"""Validate values from the environment. An invalid value counts as not set.

Valid values go into addresses and requests unchanged.
"""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from prshots.contract.limits import COMMIT_SHA, FULL_COMMIT_SHA, MAX_BRANCH_CHARACTERS, MAX_PR_NUMBER

_NUMBER = re.compile(r"[0-9]{1,10}", re.ASCII)
_REPOSITORY = re.compile(r"[0-9]{1,20}|(?!\.{1,2}/)[\w.~-]+(?:/(?!\.{1,2}(?:/|\Z))[\w.~-]+)+", re.ASCII)
_TOKEN = re.compile(r"[!-~]+")
# Characters that git refuses in a branch name, and names that would be options.
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\A[-/.]|/\.|\.lock(?:/|\Z)|[/.]\Z|\A@\Z")
MAX_WORDS_CHARACTERS = 300
MAX_CHARACTERS = 2000


def is_on(environ: Mapping[str, str], name: str) -> bool:
    return environ.get(name, "").strip().lower() not in ("", "false")


def first(environ: Mapping[str, str], *names: str) -> str:
    """Return the value of the first of these variables that isn't empty."""
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def pr_number(given: object) -> int | None:
    """Return a pull request's number, given as text or as a JSON number, or None if invalid."""
    if isinstance(given, str) and _NUMBER.fullmatch(given.strip()):
        given = int(given)
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MAX_PR_NUMBER:
        return given
    return None


def commit(*candidates: object) -> str:
    """Return the first valid commit SHA, full or abbreviated, or "" if none is valid."""
    for given in candidates:
        if isinstance(given, str) and COMMIT_SHA.fullmatch(given.strip()):
            return given.strip().lower()
    return ""


def full_commit(given: object) -> str:
    """Return a commit SHA of 40 characters, or "" if invalid."""
    found = commit(given)
    return found if FULL_COMMIT_SHA.fullmatch(found) else ""


def is_same_commit(one: str, other: str) -> bool:
    """Compare commit SHAs, ignoring case. Either may be a prefix of the other."""
    one, other = one.lower(), other.lower()
    return one.startswith(other) or other.startswith(one)


def branch(given: object) -> str:
    """Return a branch name without `refs/heads/`, or "" if git wouldn't accept it."""
    if not isinstance(given, str):
        return ""
    name = given.strip().removeprefix("refs/heads/")
    is_one = 0 < len(name) <= MAX_BRANCH_CHARACTERS and not _NOT_IN_BRANCHES.search(name)
    return name if is_one and is_unicode(name) and not name.startswith("refs/") else ""


def words(given: object) -> str:
    """Return human-readable text on one line, shortened if it is too long."""
    if not isinstance(given, str) or not is_unicode(given):
        return ""
    return " ".join(given.replace("\0", " ").split())[:MAX_WORDS_CHARACTERS]


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def repository(given: object) -> str:
    """Return `owner/name`, with any number of groups, or a GitLab project id, or "" if invalid."""
    if isinstance(given, str) and len(given) <= MAX_CHARACTERS and _REPOSITORY.fullmatch(given.strip()):
        return given.strip()
    return ""


def token(given: str) -> str:
    """Return a token without surrounding whitespace, or "" if it isn't valid in a header."""
    return given.strip() if _TOKEN.fullmatch(given.strip()) else ""


def address(given: object) -> str:
    """Return an http(s) address, or "" if it has no host or contains a user name or password."""
    if not isinstance(given, str) or len(given) > MAX_CHARACTERS or not _TOKEN.fullmatch(given.strip()):
        return ""
    try:
        parts = urlsplit(given.strip())
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return ""
    is_one = parts.scheme in ("http", "https") and has_host and "@" not in parts.netloc
    return given.strip() if is_one else ""


def root(given: object) -> str:
    """Return an address without query and fragment, or "" if invalid."""
    found = address(given)
    return "" if "?" in found or "#" in found else found.rstrip("/")
