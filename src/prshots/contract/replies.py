"""What the public API replies. The service writes these, the client reads them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Uploaded:
    """The reply to an upload."""

    id: str
    view_url: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Expired:
    """The reply to an expiry: how many images it marked as closed, and how many it deleted."""

    pr_number: int
    policy: str
    marked: int
    expired: int


@dataclass(frozen=True, slots=True)
class SizedComment:
    """A comment of limited length.

    Of `count` screenshots, `shown` have a picture, `listed` have only a line, and `omitted` have neither.
    """

    pr_number: int
    markdown: str
    heading: str
    count: int
    shown: int
    listed: int
    omitted: int


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What a service accepts. An image must be smaller than `max_image_bytes`."""

    max_image_bytes: int
    uploads_per_minute: int
    max_name_characters: int
