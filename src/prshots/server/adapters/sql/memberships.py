"""Statements about members that several transactions share.

All transactions lock in the same order: organizations by id, the user, owners, then everything else.
"""

import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import LONG_LIVED, equal
from prshots.server.adapters.sql.database.row_locks import lock_row
from prshots.server.adapters.sql.database.schema import (
    invitation_links,
    invitations,
    members,
    organizations,
    projects,
    share_links,
    tokens,
    users,
)
from prshots.server.adapters.sql.review.share_links import revoke_share_links
from prshots.server.domain.audit.models import Action, current_actor
from prshots.server.domain.projects.models import Role

# The same SQL for SQLite and PostgreSQL. Adding a person twice at the same time isn't an error.
_SET_MEMBER = sa.text(
    "INSERT INTO members (organization_id, user_id, role, from_group) "
    "VALUES (:organization_id, :user_id, :role, :from_group) ON CONFLICT (organization_id, user_id) "
    "DO UPDATE SET role = excluded.role, from_group = excluded.from_group"
)
_AS_STORED = {Role.MAINTAINER: "member"}
"""The version before knows `member` and `owner`. It fails for others, so nobody gets more rights there."""


def as_stored(role: Role) -> str:
    return _AS_STORED.get(role, role.value)


def lock_members(connection: sa.Connection, organization_id: str, by: str = "") -> None:
    """Lock an organization, so its members and offers change one after the other.

    Raises NotFoundError if it doesn't exist. `by` is the user who needs to be an owner: they may have been
    removed since the caller checked. Raises NotFoundError or ForbiddenError if they aren't.
    """
    exists = lock_row(connection, organizations, organization_id)
    role = role_in(connection, organization_id, by) if by else Role.OWNER
    if not exists or role is None:
        raise NotFoundError("not found")
    role.require(Role.OWNER)


def role_in(connection: sa.Connection, organization_id: str, user_id: str) -> Role | None:
    this = equal(members, organization_id=organization_id, user_id=user_id)
    role = connection.execute(sa.select(members.c.role).where(*this)).scalar()
    return None if role is None else Role(role)


def check_room(connection: sa.Connection, user_id: str, most: int) -> None:
    """Raise ConflictError if the user is already in `most` organizations."""
    lock_row(connection, users, user_id)
    count = sa.select(sa.func.count()).where(members.c.user_id == user_id)
    if connection.execute(count).scalar_one() >= most:
        raise ConflictError(f"you are in {most} organizations, which is the limit: leave or delete one first")


def set_role(
    connection: sa.Connection,
    organization_id: str,
    user_id: str,
    role: Role,
    *,
    from_group: bool = False,
    details: Mapping[str, object] | None = None,
) -> None:
    """Add a member or change their role. Raises ConflictError instead of demoting the last owner."""
    if role is not Role.OWNER:
        keep_an_owner(connection, organization_id, user_id)
    before = role_in(connection, organization_id, user_id)
    member = {"organization_id": organization_id, "user_id": user_id}
    connection.execute(_SET_MEMBER, member | {"role": as_stored(role), "from_group": from_group})
    if before is None:
        record_about(
            connection, Action.MEMBER_JOINED, **member, details={"role": role.value, **(details or {})}
        )
    elif before is not role:
        changed = {"role": [before.value, role.value], **(details or {})}
        record_about(connection, Action.MEMBER_ROLE_CHANGED, **member, details=changed)
    if before is not None:
        _end_links_of(connection, organization_id, user_id, before, role)


def join(
    connection: sa.Connection,
    organization_id: str,
    user_id: str,
    role: Role,
    *,
    most: int,
    details: Mapping[str, object] | None = None,
) -> None:
    """Make a user a member by hand. A member keeps a higher role. Raises ConflictError, as `check_room`."""
    has = role_in(connection, organization_id, user_id)
    if has is None:
        check_room(connection, user_id, most)
    if has is None or role.includes(has):
        set_role(connection, organization_id, user_id, role, details=details)


def remove(
    connection: sa.Connection,
    organization_id: str,
    user_id: str,
    *,
    revoke_tokens_at: int | None,
    revoked_by: str,
    details: Mapping[str, object] | None = None,
) -> bool:
    """Remove a member. Return False if they aren't one. Raises ConflictError for the last owner.

    With a time, revoke the tokens that they created in the organization's projects.
    """
    keep_an_owner(connection, organization_id, user_id)
    this = {"organization_id": organization_id, "user_id": user_id}
    removing = sa.delete(members).where(*equal(members, **this)).returning(members.c.role)
    role = connection.execute(removing).scalar()
    if role is None:
        return False
    _end_links_of(connection, organization_id, user_id, Role(role), None)
    theirs = sa.select(projects.c.id).where(projects.c.organization_id == organization_id)
    revoking = (
        sa.update(tokens)
        .where(tokens.c.project_id.in_(theirs), tokens.c.creator_id == user_id)
        .where(LONG_LIVED, tokens.c.revoked_at.is_(None))
        .values(revoked_at=revoke_tokens_at, revoked_by=revoked_by)
    )
    revoked = 0 if revoke_tokens_at is None else connection.execute(revoking).rowcount
    changed = {"revoked_tokens": revoked, **(details or {})}
    record_about(connection, Action.MEMBER_REMOVED, **this, details=changed)
    return True


def record_about(
    connection: sa.Connection,
    action: Action,
    organization_id: str,
    user_id: str,
    details: Mapping[str, object] | None = None,
) -> None:
    """Record what happens to a person's membership."""
    login = connection.execute(sa.select(users.c.login).where(users.c.id == user_id)).scalar() or ""
    record(connection, action, organization_id=organization_id, target=login, details=details)


def keep_an_owner(connection: sa.Connection, organization_id: str, leaving: str) -> None:
    """Raise ConflictError if this would leave the organization without an owner.

    Locks the owners' rows. Otherwise two owners could remove each other at the same time.
    """
    owners = (
        sa.select(members.c.user_id)
        .where(*equal(members, organization_id=organization_id, role=Role.OWNER))
        .order_by(members.c.user_id)
        .with_for_update()
    )
    if connection.execute(owners).scalars().all() == [leaving]:
        raise ConflictError("an organization needs an owner: make another member an owner first")


def revoke_invitation_links(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> int:
    """Revoke such links. Return how many."""
    table = invitation_links.c
    columns = (table.organization_id, table.id, table.role, table.created_by)
    revoked = connection.execute(sa.delete(invitation_links).where(*which).returning(*columns)).all()
    for organization_id, link_id, role, created_by in revoked:
        of: dict[str, Any] = {"organization_id": organization_id, "target": link_id}
        about = {"role": Role(role).value, "created_by": created_by}
        record(connection, Action.INVITATION_LINK_REVOKED, **of, details=about)
    return len(revoked)


def _end_links_of(
    connection: sa.Connection, organization_id: str, user_id: str, before: Role, after: Role | None
) -> None:
    """End the invitations, invitation links and share links that the member may no longer create.

    They may have had another login then, so those that no member with the needed role made end with them.
    """

    def loses(role: Role) -> bool:
        return before.includes(role) and not (after and after.includes(role))

    def made_by_them(by: sa.ColumnElement[str], needed: Role) -> sa.ColumnElement[bool]:
        login = sa.select(users.c.login)
        roles = [as_stored(role) for role in Role if role.includes(needed)]
        may = (members.c.organization_id == organization_id, members.c.role.in_(roles))
        return sa.or_(by.in_(login.where(users.c.id == user_id)), by.not_in(login.join(members).where(*may)))

    if loses(Role.OWNER):
        of_organization = invitations.c.organization_id == organization_id
        theirs = made_by_them(invitations.c.invited_by, Role.OWNER)
        ending = sa.delete(invitations).where(of_organization, theirs).returning(invitations.c.user_id)
        for invited_id in connection.execute(ending).scalars().all():
            record_about(connection, Action.INVITATION_WITHDRAWN, organization_id, invited_id)
        links = invitation_links.c
        theirs = made_by_them(links.created_by, Role.OWNER)
        revoke_invitation_links(connection, links.organization_id == organization_id, theirs)
    if loses(Role.MAINTAINER):
        of_projects = sa.select(projects.c.id).where(projects.c.organization_id == organization_id)
        theirs = made_by_them(share_links.c.created_by, Role.MAINTAINER)
        which = (share_links.c.project_id.in_(of_projects), theirs)
        revoke_share_links(connection, which, current_actor().name, int(time.time()))
