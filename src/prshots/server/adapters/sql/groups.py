"""Groups of login providers that organizations name, and the members who come and go with them."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError
from prshots.server.adapters.sql import memberships
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import equal, in_batches
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.row_locks import lock_row
from prshots.server.adapters.sql.database.schema import (
    members,
    organization_groups,
    organizations,
    user_groups,
    users,
)
from prshots.server.domain.audit.models import Action
from prshots.server.domain.people.models import Group
from prshots.server.domain.projects.models import Role

_GROUP = [organization_groups.c[field.name] for field in fields(Group)]


class SqlGroups:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def groups(self, organization_id: str) -> list[Group]:
        query = (
            sa.select(*_GROUP)
            .where(organization_groups.c.organization_id == organization_id)
            .order_by(organization_groups.c.provider, organization_groups.c.name)
        )
        return [_group(row) for row in await self._database.rows(query)]

    async def groups_of_user(self, user_id: str) -> list[str]:
        query = sa.select(user_groups.c.name).where(user_groups.c.user_id == user_id)
        return [name for (name,) in await self._database.rows(query.order_by(user_groups.c.name))]

    async def put_group(self, group: Group, most: int, by: str = "") -> None:
        def put(connection: sa.Connection) -> None:
            memberships.lock_members(connection, group.organization_id, by)
            connection.execute(sa.delete(organization_groups).where(*_is(group)))
            others = sa.select(sa.func.count()).where(
                organization_groups.c.organization_id == group.organization_id
            )
            if connection.execute(others).scalar_one() >= most:
                raise ConflictError(f"the organization has {most} groups: remove one first")
            connection.execute(sa.insert(organization_groups).values(asdict(group)))
            _record(connection, Action.GROUP_ADDED, group)

        await self._database.write(put)

    async def remove_group(self, group: Group) -> bool:
        removing = sa.delete(organization_groups).where(*_is(group))

        def remove(connection: sa.Connection) -> bool:
            if connection.execute(removing).rowcount == 0:
                return False
            _record(connection, Action.GROUP_REMOVED, group)
            return True

        return await self._database.write(remove)


def follow_groups(
    connection: sa.Connection, user_id: str, names: Collection[str], now: int, most: int
) -> None:
    """Let a user who signs in join, and leave, the organizations that name their groups.

    Members whom people added stay as they are, and so does the last owner.
    """
    user = connection.execute(sa.select(users.c.provider, users.c.login).where(users.c.id == user_id)).one()
    found = _lock_organizations(connection, user_id, user.provider, names)
    lock_row(connection, users, user_id)
    _store_groups(connection, user_id, names)
    named = _named_groups(connection, user_id, user.provider)
    theirs = sa.select(members.c.organization_id, members.c.role, members.c.from_group)
    roles = {
        organization_id: (Role(role), from_group)
        for organization_id, role, from_group in connection.execute(
            theirs.where(members.c.user_id == user_id)
        )
    }
    for organization_id in found:
        this = (connection, organization_id, user_id)
        (role, from_group), group = roles.get(organization_id, (None, True)), named.get(organization_id)
        if not from_group or role is (group.role if group else None):
            continue
        with contextlib.suppress(ConflictError):  # the last owner, or a user with too many organizations
            if group is None:
                left = {"left_group": True}
                memberships.remove(*this, revoke_tokens_at=now, revoked_by=user.login, details=left)
                continue
            if role is None:
                memberships.check_room(connection, user_id, most)
            memberships.set_role(*this, group.role, from_group=True, details={"group": group.full_name})


def _lock_organizations(
    connection: sa.Connection, user_id: str, provider: str, names: Collection[str]
) -> list[str]:
    """Lock the organizations that groups can change for this user, in order of their ids."""
    of_groups = sa.select(members.c.organization_id).where(
        members.c.user_id == user_id, members.c.from_group.is_(True)
    )
    found = set(connection.execute(of_groups).scalars())
    named = sa.select(organization_groups.c.organization_id).where(organization_groups.c.provider == provider)
    for some in in_batches(names):
        found.update(connection.execute(named.where(organization_groups.c.name.in_(some))).scalars())
    return [each for each in sorted(found) if lock_row(connection, organizations, each)]


def _store_groups(connection: sa.Connection, user_id: str, names: Collection[str]) -> None:
    known = sa.select(user_groups.c.name).where(user_groups.c.user_id == user_id)
    if set(connection.execute(known).scalars()) == set(names):
        return
    connection.execute(sa.delete(user_groups).where(user_groups.c.user_id == user_id))
    for some in in_batches(names):
        rows = [{"user_id": user_id, "name": name} for name in some]
        connection.execute(sa.insert(user_groups), rows)


def _named_groups(connection: sa.Connection, user_id: str, provider: str) -> Mapping[str, Group]:
    """Return the group with the highest role for each organization that names the user's groups."""
    query = (
        sa.select(*_GROUP)
        .select_from(user_groups.join(organization_groups, organization_groups.c.name == user_groups.c.name))
        .where(user_groups.c.user_id == user_id, organization_groups.c.provider == provider)
        .order_by(organization_groups.c.name)
    )
    best: dict[str, Group] = {}
    for row in connection.execute(query):
        group = _group(row)
        known = best.get(group.organization_id)
        if known is None or not known.role.includes(group.role):
            best[group.organization_id] = group
    return best


def _group(row: Sequence[Any]) -> Group:
    organization_id, provider, name, role, *created = row
    return Group(organization_id, provider, name, Role(role), *created)


def _is(group: Group) -> list[sa.ColumnElement[bool]]:
    key = {"organization_id": group.organization_id, "provider": group.provider, "name": group.name}
    return equal(organization_groups, **key)


def _record(connection: sa.Connection, action: Action, group: Group) -> None:
    record(
        connection,
        action,
        organization_id=group.organization_id,
        target=group.full_name,
        details={"role": group.role.value},
    )
