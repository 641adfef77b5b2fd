"""Links that let one person join an organization."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError
from prshots.server.adapters.sql import memberships
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import equal
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_row
from prshots.server.adapters.sql.database.schema import invitation_links, invitations, organizations
from prshots.server.domain.audit.models import Action
from prshots.server.domain.people.models import InvitationLink
from prshots.server.domain.projects.models import Organization, Role

_links = invitation_links.c
_ORGANIZATION = [organizations.c[field.name] for field in fields(Organization)]
_FIELDS = [field.name for field in fields(InvitationLink) if field.name != "organization"]
_LINKS = sa.select(*_ORGANIZATION, *(_links[name] for name in _FIELDS)).select_from(
    invitation_links.join(organizations, _links.organization_id == organizations.c.id)
)


class SqlInvitationLinks:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_link(self, link: InvitationLink, most: int, by: str = "") -> None:
        open_ones = sa.select(sa.func.count()).where(
            _links.organization_id == link.organization.id, _links.expires_at > link.created_at
        )
        row = {name: getattr(link, name) for name in _FIELDS} | {"organization_id": link.organization.id}

        def add(connection: sa.Connection) -> None:
            memberships.lock_members(connection, link.organization.id, by)
            if connection.execute(open_ones).scalar_one() >= most:
                raise ConflictError(f"{most} invitation links are open: revoke one first")
            connection.execute(sa.insert(invitation_links).values(row))
            about = {"role": link.role.value, "created_by": link.created_by}
            of: dict[str, Any] = {"organization_id": link.organization.id, "target": link.id}
            record(connection, Action.INVITATION_LINK_CREATED, **of, details=about)

        await self._database.write(add)

    async def links(self, organization_id: str, now: int) -> list[InvitationLink]:
        query = _LINKS.where(_links.organization_id == organization_id, _links.expires_at > now).order_by(
            _links.created_at.desc(), _links.id
        )
        return [_link(row) for row in await self._database.rows(query)]

    async def link(self, sha256: str, now: int) -> InvitationLink | None:
        row = await self._database.first(_LINKS.where(_links.sha256 == sha256, _links.expires_at > now))
        return _link(row) if row else None

    async def revoke_link(self, organization_id: str, link_id: str) -> bool:
        this = equal(invitation_links, organization_id=organization_id, id=link_id)

        return await self._database.write(
            lambda connection: memberships.revoke_invitation_links(connection, *this) > 0
        )

    async def use_link(self, link: InvitationLink, user_id: str, now: int, most: int) -> bool:
        this = (_links.id == link.id, _links.expires_at > now)
        taking = sa.delete(invitation_links).where(*this)
        organization_id = link.organization.id

        def use(connection: sa.Connection) -> bool:
            lock_row(connection, organizations, organization_id)  # it can't be removed meanwhile
            if memberships.role_in(connection, organization_id, user_id) is not None:
                raise ConflictError(f"you are already a member of {link.organization.name}")
            if connection.execute(taking).rowcount == 0:
                return False
            memberships.join(
                connection, organization_id, user_id, link.role, most=most, details={"link": link.id}
            )
            invited = equal(invitations, organization_id=organization_id, user_id=user_id)
            connection.execute(sa.delete(invitations).where(*invited))
            return True

        return await self._database.write(use)


def _link(row: Sequence[Any]) -> InvitationLink:
    organization, link = row[: len(_ORGANIZATION)], dict(zip(_FIELDS, row[len(_ORGANIZATION) :], strict=True))
    return InvitationLink(organization=Organization(*organization), **link | {"role": Role(link["role"])})
