"""Images as the comment sees them, each with its URL at hand."""

from operator import attrgetter
from typing import NamedTuple


class Entry(NamedTuple):
    name: str
    viewport: str
    commit_sha: str
    url: str


url_of = attrgetter("url")
