"""Rules for the names of projects, organizations and repositories, and for a job's project reference."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from prshots.contract.errors import InvalidInputError

MAX_NAME = 100
MAX_ADDRESS = 500

_PROJECT_ID = re.compile("[0-9a-f]{16}")


def check_name(kind: str, name: str) -> None:
    """Raise InvalidInputError for a name that can't be displayed or that could look like another name."""
    if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or name != name.strip():
        raise InvalidInputError(
            f"{kind}'s name takes 1 to {MAX_NAME} printable characters, without leading or trailing spaces; "
            f"got {name!r}"
        )


def check_organization_name(name: str) -> None:
    """Raise InvalidInputError for an invalid name.

    In `organization/name`, the first slash is the separator.
    """
    check_name("an organization", name)
    if "/" in name:
        raise InvalidInputError(f"an organization's name cannot contain a slash; got {name!r}")


def check_repository(address: str) -> None:
    """Raise InvalidInputError unless the address is a web page that is safe to send a browser to."""
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
    """A CI job's reference to its project: `organization/name`, or the project's id.

    Anyone can create a project with any name. A name alone therefore refers only to the organization `local`,
    which belongs to the operator. An empty reference means the project in `local` that trusts the job.
    """

    organization: str
    project: str

    @classmethod
    def parse(cls, text: str) -> "ProjectReference":
        organization, slash, name = text.partition("/")
        return cls(organization, name) if slash else cls("", text)

    @property
    def is_exact(self) -> bool:
        """Whether the reference identifies one project in the whole installation."""
        return bool(self.organization) or _PROJECT_ID.fullmatch(self.project) is not None

    def __str__(self) -> str:
        return f"{self.organization}/{self.project}" if self.organization else self.project
