"""Connections to forges, and what waits to be sent through them."""

from dataclasses import dataclass, field

from prshots.contract.forge_kinds import ForgeKind


@dataclass(frozen=True, slots=True)
class Connection:
    """How the service reaches a project's repository on its forge.

    `secret` is the token, encrypted with the signing key `kid`. Both are empty for the operator's GitHub App.
    """

    project_id: str
    forge: ForgeKind
    api_url: str
    repository: str
    created_by: str
    created_at: int
    kid: str = ""
    secret: str = field(default="", repr=False)

    @property
    def uses_app(self) -> bool:
        return not self.secret
