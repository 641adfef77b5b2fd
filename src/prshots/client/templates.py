"""Text around the screenshots in the comment, with placeholders."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prshots.contract.comments import MAX_COMMENT_BYTES
from prshots.contract.errors import InvalidInputError
from prshots.contract.replies import SizedComment
from prshots.contract.statements import message

_PLACES = ("screenshots", "heading", "entries", "count", "pr_number", "commit", "run_url", "dashboard_url")

_SCREENSHOT_PLACES = {"screenshots", "entries"}
_MAX_HEADING_BYTES = 200
_MAX_COUNT_BYTES = 20

_PLACE = re.compile(r"\{\{\s*(.*?)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    text: str

    @classmethod
    def read(cls, path: Path) -> "Template":
        """Read a template from a file. Raises InvalidInputError if the file isn't a valid template."""
        try:
            with path.open("rb") as file:
                content = file.read(MAX_COMMENT_BYTES + 1)
        except OSError as error:
            raise InvalidInputError(f"cannot read the template: {error}") from error
        if len(content) > MAX_COMMENT_BYTES:
            raise InvalidInputError(message("template_too_long", file=path, limit=f"{MAX_COMMENT_BYTES:,}"))
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInputError(message("template_not_text", file=path)) from error
        return cls.of(text, str(path))

    @classmethod
    def of(cls, text: str, origin: str) -> "Template":
        """Check a text and return it as a template. `origin` names it in errors.

        Raises InvalidInputError if a placeholder is unknown, or if there is none for the screenshots.
        """
        places = _PLACE.findall(text)
        for place in places:
            if place not in _PLACES:
                raise InvalidInputError(
                    message(
                        "template_unknown_placeholder",
                        file=origin,
                        placeholder=f"{{{{{place[:60]}}}}}",
                        known=", ".join(f"{{{{{name}}}}}" for name in _PLACES),
                    )
                )
        if not _SCREENSHOT_PLACES & set(places):
            raise InvalidInputError(
                message(
                    "template_without_screenshots",
                    file=origin,
                    screenshots="{{screenshots}}",
                    entries="{{entries}}",
                )
            )
        return cls(text.replace("\r\n", "\n"))

    def fill(self, comment: SizedComment, job_values: Mapping[str, str]) -> str:
        """Return the service's comment with the template around it. The marker stays first."""
        marker, heading, entries = comment.markdown.partition(comment.heading)
        return marker + self._substitute(
            {
                "screenshots": (heading + entries).strip("\n"),
                "heading": heading,
                "entries": entries.strip("\n"),
                "count": str(comment.count),
                **job_values,
            }
        )

    def room(self, limit: int, marker: str, job_values: Mapping[str, str]) -> int:
        """Return the longest service comment, in bytes, that the filled template has room for."""
        widest = {
            "screenshots": "",
            "heading": " " * _MAX_HEADING_BYTES,
            "entries": "",
            "count": " " * _MAX_COUNT_BYTES,
            **job_values,
        }
        own = len(f"{marker}\n\n{self._substitute(widest)}".encode())
        copies = sum(place in _SCREENSHOT_PLACES for place in _PLACE.findall(self.text))
        return (limit - own) // copies

    def _substitute(self, values: Mapping[str, str]) -> str:
        # In one pass: a screenshot's name that looks like a placeholder stays a name.
        return _PLACE.sub(lambda place: values[place[1]], self.text)
