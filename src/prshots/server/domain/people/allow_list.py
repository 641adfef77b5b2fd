"""Decides who may sign in.

An entry must match exactly one account. GitHub, GitLab and Gitea guarantee that a login belongs to one
account. With other OpenID issuers, people may choose their `preferred_username`, so only the `sub` and a
verified email address count. A `sub` can look like a login or an address, so it needs an `oidc:` entry.
"""

import re
import string
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Self

from prshots.server.domain.people.models import Identity

PROVIDERS = ("github", "gitlab", "gitea", "oidc")
"""The ids of the login providers."""

_OPENID = "oidc"
_IDS = ", ".join(PROVIDERS)
_EVERYONE = "*"
_ADDRESS = re.compile(r"""[^@\s,;<>"]+@([^@\s,;<>"]+)""")
_DOMAIN = re.compile(r"[^@*/:\s]+\.[^@*/:\s]+")

# casefold() and lower() would turn some letters into ASCII, such as the Kelvin sign into a k.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True, slots=True)
class AllowList:
    """Admits everyone on at least one of the three lists.

    Users and organizations are (provider, name) pairs. An empty provider means any. Names from a provider are
    never split at the colon, so the login `github:me` at another provider doesn't match GitHub's `me`.
    """

    users: frozenset[tuple[str, str]] = frozenset()
    organizations: frozenset[tuple[str, str]] = frozenset()
    email_domains: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, users: str, organizations: str, email_domains: str) -> Self:
        """Parse comma-separated lists of names, `provider:name` or `*` for everyone, and of email domains."""
        return cls(
            users=frozenset(map(split_provider, _split(users))),
            organizations=frozenset(
                (provider, fold_case(name)) for provider, name in map(split_provider, _split(organizations))
            ),
            email_domains=frozenset(_as_domain(entry.removeprefix("@")) for entry in _split(email_domains)),
        )

    def admits(self, provider_id: str, identity: Identity) -> bool:
        """Return whether the person may sign in."""
        addresses = {email: found[1] for email in identity.emails if (found := _ADDRESS.fullmatch(email))}
        names = {_EVERYONE, *(fold_case(name) for name in (identity.unique_login, *addresses) if name)}
        organizations = {fold_case(name) for name in identity.groups or ()}
        return (
            any(fold_case(name) in names for name in _of(provider_id, self.users))
            or (identity.account != "" and (provider_id, identity.account) in self.users)
            or not organizations.isdisjoint(_of(provider_id, self.organizations))
            or not self.email_domains.isdisjoint(map(_as_domain, addresses.values()))
        )

    def never_matching(self, providers: Collection[str]) -> list[str]:
        """Return a message for each entry that can't match anyone at these login providers."""
        lists = {"PRSHOTS_ALLOWED_USERS": self.users, "PRSHOTS_ALLOWED_ORGANIZATIONS": self.organizations}
        messages = [
            f"{setting}: {provider}:{name} matches nobody, because {provider} is not set up"
            for setting, entries in lists.items()
            for provider, name in sorted(entries)
            if provider and provider not in providers
        ]
        for name in sorted(name for provider, name in self.users if not provider and "@" not in name):
            if ":" in name:
                reason = f"before a colon, use one of {_IDS}"
                messages.append(f"PRSHOTS_ALLOWED_USERS: {name} matches nobody: {reason}")
            elif set(providers) == {_OPENID} and name != _EVERYONE:
                reason = f"use {_OPENID}:{name} if that is a sub, or a verified email address"
                messages.append(f"PRSHOTS_ALLOWED_USERS: {name} matches nobody: {reason}")
        return messages + [
            f"PRSHOTS_ALLOWED_EMAIL_DOMAINS: {domain} matches nobody: use a whole domain such as example.org"
            for domain in sorted(self.email_domains)
            if not _DOMAIN.fullmatch(domain)
        ]


def _split(text: str) -> Iterator[str]:
    return (entry.strip() for entry in text.split(",") if entry.strip())


def split_provider(entry: str) -> tuple[str, str]:
    """Split `provider:name`. The provider is empty if the entry doesn't start with a known one."""
    provider, colon, name = entry.partition(":")
    known = fold_case(provider.strip())
    return (known, name.strip()) if colon and known in PROVIDERS else ("", entry)


def _of(provider_id: str, entries: Collection[tuple[str, str]]) -> Iterator[str]:
    return (name for provider, name in entries if name and provider in {"", provider_id})


def _as_domain(text: str) -> str:
    return fold_case(text).removesuffix(".")


def fold_case(text: str) -> str:
    """Return the text with ASCII letters in lower case."""
    return text.translate(_LOWER)
