"""What stands around the screenshots in the comment: a text of the team's own, with places to fill in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prshots.client.comment_text import CommentText
from prshots.contract.errors import InvalidInputError

MAX_BYTES = 65_536
"""Of a template's file: no comment may be longer."""

FROM_THE_COMMENT = ("screenshots", "heading", "entries", "count")
FROM_THE_JOB = ("pr_number", "commit", "run_url")

_PLACE = re.compile(r"\{\{\s*(.*?)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    text: str

    @classmethod
    def read(cls, path: Path) -> "Template":
        """Return the template in the file. Raises InvalidInputError when it is none."""
        try:
            with path.open("rb") as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise InvalidInputError(f"the template cannot be read: {error}") from error
        if len(content) > MAX_BYTES:
            raise InvalidInputError(
                f"the template {path} has more than {MAX_BYTES:,} bytes, as no comment may"
            )
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"the template {path} is not a text in UTF-8") from error
        return cls.of(text, str(path))

    @classmethod
    def of(cls, text: str, origin: str) -> "Template":
        """Return the text as a template.

        Raises InvalidInputError when it asks for what is not known, or has no place for the screenshots.
        """
        known = (*FROM_THE_COMMENT, *FROM_THE_JOB)
        places = _PLACE.findall(text)
        for place in places:
            if place not in known:
                raise InvalidInputError(
                    f"the template {origin} asks for {{{{{place[:60]}}}}}, which is not known; it may have "
                    + ", ".join(f"{{{{{name}}}}}" for name in known)
                )
        if not {"screenshots", "entries"} & set(places):
            raise InvalidInputError(
                f"the template {origin} has no {{{{screenshots}}}}: where are they to stand?"
            )
        return cls(text.replace("\r\n", "\n"))

    def filled(self, markdown: str, of_the_job: Mapping[str, str]) -> str:
        """Return the comment that the service wrote, with the template around it. The marker stays first."""
        comment = CommentText.of(markdown)
        screenshots = markdown.removeprefix(f"{comment.marker}\n")
        values = {
            "screenshots": screenshots.strip("\n"),
            "heading": comment.heading,
            "entries": screenshots.removeprefix(comment.heading).strip("\n"),
            "count": str(comment.count),
            **of_the_job,
        }
        # In one pass, so that what is filled in is never taken for a place: a name may look like one.
        return f"{comment.marker}\n{_PLACE.sub(lambda place: values[place[1]], self.text)}"
