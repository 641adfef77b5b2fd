"""Upload tokens, trusts and connections."""

from typing import TypedDict

from prshots.contract.forge_kinds import ForgeKind


class TokenView(TypedDict):
    id: str
    label: str
    hint: str
    created_at: int
    created_by: str
    """A login. Empty if the command line created the token."""
    last_used_at: int | None
    expires_at: int | None
    revoked_at: int | None
    revoked_by: str | None
    """A login. Empty if the command line revoked the token, null if unknown."""


class ConnectionView(TypedDict):
    forge: ForgeKind
    api_url: str
    repository: str
    uses_app: bool
    """Whether it uses the operator's GitHub App instead of a token."""
    created_by: str
    """A login. Empty if the command line created the connection."""
    created_at: int
    problem: str
    """Why it doesn't work, or empty."""


class ConnectionReplyView(TypedDict):
    connection: ConnectionView | None


class TokenListView(TypedDict):
    tokens: list[TokenView]
    next: str | None


class MemberTokenView(TokenView):
    project: str
    """The project's name."""


class MemberTokensView(TypedDict):
    tokens: list[MemberTokenView]
    """The oldest valid tokens that a member created in the organization's projects."""


class NewTokenView(TypedDict):
    token: TokenView
    secret: str


class TrustView(TypedDict):
    """Lets CI jobs upload without a token if their ID token has this issuer and these claims."""

    id: str
    issuer: str
    claims: dict[str, str]
    created_at: int
    created_by: str
    """A login. Empty if the command line created the trust."""
    last_used_at: int | None
    pins: dict[str, str]
    """The ids of the repository and its owner from the first job. Later jobs must have the same ids."""
    refused_ids: dict[str, str]
    """The ids of the last job that was refused for having different ones. A missing id is empty."""
    refused_at: int | None


class TrustListView(TypedDict):
    trusts: list[TrustView]
