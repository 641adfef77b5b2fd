"""The comment on a pull request: its marker and its length."""

from enum import StrEnum

MIN_COMMENT_BYTES = 1024
"""The lowest limit that a client can request. It has room for the heading and the link to the dashboard."""

MAX_COMMENT_BYTES = 65_536
"""GitHub's limit is 65,536 characters. Counting UTF-8 bytes satisfies every forge."""


class Marker(StrEnum):
    """How the comment is marked, to let a client find it again.

    `LINK` is for forges that show HTML as text (Bitbucket). Such a comment doesn't contain any HTML.
    """

    HTML = "html"
    LINK = "link"

    def line(self, pr_number: int) -> str:
        """Return the first line of the comment."""
        if self is Marker.LINK:
            return f"[//]: # (svc:pr-{pr_number})"
        return f"<!-- svc:pr-{pr_number} -->"

    def project_line(self, project_id: str) -> str:
        """Return the comment's second line, which tells the comments of several projects apart."""
        return f"[//]: # (prshots:{project_id})" if self is Marker.LINK else f"<!-- prshots:{project_id} -->"

    def notice_line(self, notice: int) -> str:
        """Return the line below the others, with the line break before it, or "" without a notice.

        If the number rises, clients post a new comment, because forges don't notify anyone of an edit.
        """
        if not notice:
            return ""
        return (
            f"\n[//]: # (svc:notice-{notice})" if self is Marker.LINK else f"\n<!-- svc:notice-{notice} -->"
        )


class View(StrEnum):
    """Which screenshots the comment shows.

    `ALL`: every image, oldest first. `LATEST`: the newest image of each shot.
    `CHANGES`: each change from the base once.
    """

    ALL = "all"
    LATEST = "latest"
    CHANGES = "changes"
