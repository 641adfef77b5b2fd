"""The frame of a comment: where it goes, how long it can be, and the links in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from prshots.contract.comments import MIN_COMMENT_BYTES, Marker
from prshots.contract.replies import Verdict
from prshots.server.domain.comments.markup import STYLES, link, plain_or_code, size
from prshots.server.domain.comments.tables import CommentShot

LINK_SHARE = 8
"""The dashboard's URL takes at most 1/8 of a comment. It appears three times: twice above the images,
and at the end. That leaves five eighths, even in the shortest comment (`MIN_COMMENT_BYTES`)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A comment's destination, size limit in bytes, and notice (see `Marker.notice_line`).

    Only the specification's comment has no `project_id`. If there are several projects, `project` is a name.
    """

    pr_number: int
    dashboard_url: str
    limit: int
    marker: Marker
    notice: int = 0
    project_id: str = ""
    project: str = ""

    @property
    def head(self) -> str:
        """The invisible lines above the heading."""
        lines = self.marker.line(self.pr_number)
        if self.project_id:
            lines += f"\n{self.marker.project_line(self.project_id)}"
        return lines + self.marker.notice_line(self.notice) + STYLES[self.marker].after_marker

    @property
    def is_short(self) -> bool:
        """Whether the comment has room only for the most important words."""
        return self.limit < 2 * MIN_COMMENT_BYTES

    def heading(self, words: str) -> str:
        name = "" if self.is_short else self.project
        return f"### {plain_or_code(name)}: {words}" if name else f"### {words}"

    @property
    def dashboard(self) -> str:
        """The word "dashboard", as a link if the comment has room for the URL."""
        return link("dashboard", self.href({}))

    def href(self, query: Mapping[str, str]) -> str:
        """Return the URL of the dashboard's page with this query, or "" if the comment has no room for it."""
        if size(self.dashboard_url) > self.limit // LINK_SHARE:
            return ""
        return f"{self.dashboard_url}?{urlencode(query, quote_via=quote)}" if query else self.dashboard_url

    def href_of(self, shot: CommentShot) -> str:
        """Return the URL of the shot in the dashboard, on the tab that shows it."""
        viewport, theme = shot.column
        is_change = shot.verdict not in {None, Verdict.UNCHANGED}
        query = {"tab": is_change and "changes", "shot": shot.name, "viewport": viewport, "theme": theme}
        return self.href({name: value for name, value in query.items() if value})
