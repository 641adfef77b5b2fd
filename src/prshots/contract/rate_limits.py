"""The `RateLimit` and `RateLimit-Policy` fields of draft-ietf-httpapi-ratelimit-headers-11.

The service adds them to replies to uploads and some other calls, and the client paces its uploads by them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

WINDOW_SECONDS = 60

_ITEM = re.compile(r'(?:^|,)\s*"(uploads|project)"((?:\s*;\s*[a-z]+=(?:[0-9]+|"[^"]*"|:[^:]*:))*)\s*(?=,|$)')
_NUMBER = re.compile(r";\s*([a-z]+)=([0-9]{1,15})(?=\s*(?:;|$))")


class LimitPolicy(StrEnum):
    """What a limit counts: uploads, with the limit of the service or of the project, or calls of a kind."""

    UPLOADS = "uploads"
    PROJECT = "project"
    PUT_URLS = "put-urls"
    COMPARE = "compare"
    POLL = "poll"
    COMPLETE = "complete"
    KNOWN = "known"
    REJECT = "reject"


CALLS_PER_MINUTE = {
    LimitPolicy.COMPARE: 120,
    LimitPolicy.POLL: 6000,
    LimitPolicy.COMPLETE: 120,
    LimitPolicy.KNOWN: 6000,
    LimitPolicy.REJECT: 120,
}
"""The limits of these calls for each project. While a comparison runs, each client polls once a second.
Clients that upload in the background ask about each screenshot separately."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """How many uploads or calls a project may make in a minute, and how many are left.

    `seconds` is the time until more are left.
    """

    policy: LimitPolicy
    quota: int
    remaining: int
    seconds: int

    def fields(self) -> dict[str, str]:
        """Return the reply headers."""
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.quota};w={WINDOW_SECONDS}',
            "RateLimit": f'"{self.policy}";r={self.remaining};t={self.seconds}',
        }

    @classmethod
    def of(cls, headers: Mapping[str, str]) -> "RateLimit | None":
        """Parse a reply's headers. Return None unless they have a valid limit from a prshots service."""
        found, policies = _items(headers.get("RateLimit", "")), _items(headers.get("RateLimit-Policy", ""))
        for name, now in found.items():
            policy = policies.get(name, {})
            if now.keys() >= {"r", "t"} and "q" in policy and policy.get("w") == WINDOW_SECONDS:
                return cls(LimitPolicy(name), policy["q"], now["r"], now["t"])
        return None


def _items(field: str) -> dict[str, dict[str, int]]:
    """Return the numbers of each of our policies in a Structured Fields list."""
    return {
        name: {key: int(value) for key, value in _NUMBER.findall(parameters)}
        for name, parameters in _ITEM.findall(field)
    }
