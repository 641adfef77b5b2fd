"""The rules for names of projects, organizations and repositories, and how a CI job names a project."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from prshots.contract.errors import InvalidInputError

MAX_NAME = 100
MAX_ADDRESS = 500

_PROJECT_ID = re.compile("[0-9a-f]{16}")


def check_name(kind: str, name: str) -> None:
    """Raise InvalidInputError for a name that cannot be displayed, or that could look like another."""
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInputError(
            f"{kind}'s name takes 1 to {MAX_NAME} printable characters, without leading or trailing spaces; "
            f"got {name!r}"
        )


def check_organization_name(name: str) -> None:
    """Raise InvalidInputError. In `organization/name`, the first slash ends the organization."""
    check_name("an organization", name)
    if "/" in name:
        raise InvalidInputError(f"an organization's name cannot contain a slash; got {name!r}")


def check_repository(address: str) -> None:
    """Raise InvalidInputError unless it is the address of a web page, which a browser may be sent to."""
    try:
        parts = urlsplit(address)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_web = False
    if not is_web or not address.isprintable() or " " in address or len(address) > MAX_ADDRESS:
        raise InvalidInputError(
            f"repository takes a web address such as https://github.com/acme/shop; got {address!r}"
        )


class ProjectReference(NamedTuple):
    """How a CI job names its project: `organization/name`, or the project's id.

    Anyone can create a project with any name, so a name alone counts only in the organization `local`, which
    belongs to the operator. Without a name, it is the project of `local` that trusts the job.
    """

    organization: str
    project: str

    @classmethod
    def parse(cls, text: str) -> "ProjectReference":
        organization, slash, name = text.partition("/")
        return cls(organization, name) if slash else cls("", text)

    @property
    def is_exact(self) -> bool:
        """Whether it names one project of the whole installation."""
        return bool(self.organization) or _PROJECT_ID.fullmatch(self.project) is not None

    def __str__(self) -> str:
        return f"{self.organization}/{self.project}" if self.organization else self.project
