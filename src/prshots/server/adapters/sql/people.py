"""Users, organizations and sign-ins, in the same database as the records."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.sql import memberships
from prshots.server.adapters.sql.audit import record
from prshots.server.adapters.sql.columns import USER, conflict_as, equal
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.row_locks import lock_row
from prshots.server.adapters.sql.database.schema import (
    invitation_links,
    invitations,
    login_states,
    members,
    organization_groups,
    organizations,
    sessions,
    users,
    webhook_deliveries,
    webhooks,
)
from prshots.server.adapters.sql.groups import follow_groups
from prshots.server.adapters.sql.memberships import check_room, lock_members
from prshots.server.domain.audit.models import Action
from prshots.server.domain.people.models import Invitation, LoginState, Member, Session, User
from prshots.server.domain.projects.models import Organization, Role

_ORGANIZATION = [organizations.c[field.name] for field in fields(Organization)]
_STATE = [login_states.c[field.name] for field in fields(LoginState)]
_SESSION = [sessions.c[field.name] for field in fields(Session)]
_USER_OF_SESSION = Prepared(
    sa.select(*_SESSION, *USER)
    .select_from(sessions.join(users))
    .where(sessions.c.sha256 == sa.bindparam("sha256"))
)
_INVITATIONS = sa.select(
    *_ORGANIZATION, *USER, invitations.c.role, invitations.c.invited_by, invitations.c.created_at
).select_from(
    invitations.join(organizations, invitations.c.organization_id == organizations.c.id).join(
        users, invitations.c.user_id == users.c.id
    )
)


class SqlPeople:
    def __init__(self, database: Database) -> None:
        self._database = database

    # Sign-in links and used states

    async def add_login_state(self, state: LoginState, link_for: str = "") -> None:
        def add(connection: sa.Connection) -> None:
            connection.execute(sa.insert(login_states).values(asdict(state)))
            if link_for:
                record(connection, Action.SIGN_IN_LINK_CREATED, target=link_for)

        with conflict_as("the login state already exists"):
            await self._database.write(add)

    async def take_login_state(self, sha256: str) -> LoginState | None:
        this = login_states.c.sha256 == sha256
        # Anyone can request a link that doesn't exist. That must not wait for a write.
        if await self._database.first(sa.select(_STATE[0]).where(this)) is None:
            return None
        taking = sa.delete(login_states).where(this).returning(*_STATE)
        row = await self._database.write(lambda connection: connection.execute(taking).first())
        return LoginState(*row) if row else None

    # Users

    async def user_of_subject(self, provider: str, subject: str) -> User | None:
        query = sa.select(*USER).where(users.c.provider == provider, users.c.subject == subject)
        row = await self._database.first(query)
        return User(*row) if row else None

    async def users_of_login(self, login: str) -> list[User]:
        query = (
            sa.select(*USER).where(sa.func.lower(users.c.login) == login.lower()).order_by(users.c.provider)
        )
        return [User(*row) for row in await self._database.rows(query)]

    async def add_user(self, user: User, organization: Organization | None) -> None:
        def add(connection: sa.Connection) -> None:
            _take_login(connection, user)
            connection.execute(sa.insert(users).values(asdict(user)))
            if organization is not None:
                _add_organization(connection, organization, user.id)

        with conflict_as(f"user {user.login!r} or their organization already exists"):
            await self._database.write(add)

    async def update_user(self, user: User) -> None:
        updating = (
            sa.update(users)
            .where(users.c.id == user.id)
            .values(login=user.login, name=user.name, avatar_url=user.avatar_url)
        )

        def update(connection: sa.Connection) -> None:
            _take_login(connection, user)
            connection.execute(updating)

        await self._database.write(update)

    # Sessions

    async def add_session(
        self, session: Session, groups: Collection[str] | None = None, most: int = 0
    ) -> None:
        adding = sa.insert(sessions).values(asdict(session))

        def add(connection: sa.Connection) -> None:
            if groups is not None:
                follow_groups(connection, session.user_id, groups, session.created_at, most)
            connection.execute(adding)
            _record_sign_in(connection, session.user_id)

        await self._database.write(add)

    async def session(self, sha256: str) -> tuple[Session, User] | None:
        row = await self._database.look_up(_USER_OF_SESSION, sha256=sha256)
        return (Session(*row[: len(_SESSION)]), User(*row[len(_SESSION) :])) if row else None

    async def touch_session(self, sha256: str, now: int) -> None:
        touching = sa.update(sessions).where(sessions.c.sha256 == sha256).values(last_seen_at=now)
        await self._database.execute(touching)

    async def end_session(self, sha256: str) -> None:
        await self._database.execute(sa.delete(sessions).where(sessions.c.sha256 == sha256))

    async def end_sessions_of(self, user_id: str) -> None:
        await self._database.execute(sa.delete(sessions).where(sessions.c.user_id == user_id))

    async def discard_old_logins(self, states: int, sessions_made: int, unseen: int, now: int) -> int:
        old_states = sa.delete(login_states).where(login_states.c.created_at < states)
        old_sessions = sa.delete(sessions).where(
            (sessions.c.created_at < sessions_made) | (sessions.c.last_seen_at < unseen)
        )
        old_links = sa.delete(invitation_links).where(invitation_links.c.expires_at <= now)
        return sum([await self._database.execute(old) for old in (old_states, old_sessions, old_links)])

    # Organizations

    async def add_organization(self, organization: Organization, owner_id: str, most: int) -> None:
        def add(connection: sa.Connection) -> None:
            check_room(connection, owner_id, most)
            _add_organization(connection, organization, owner_id)
            name = organization.name
            record(connection, Action.ORGANIZATION_CREATED, organization_id=organization.id, target=name)

        with conflict_as(f"organization {organization.name!r} already exists"):
            await self._database.write(add)

    async def remove_organization(self, organization_id: str) -> None:
        def remove(connection: sa.Connection) -> None:
            lock_row(connection, organizations, organization_id)
            of_organization = (invitations, invitation_links, organization_groups, members)
            for table in (*of_organization, webhooks, webhook_deliveries):
                connection.execute(sa.delete(table).where(table.c.organization_id == organization_id))
            removing = sa.delete(organizations).where(organizations.c.id == organization_id)
            name = connection.execute(removing.returning(organizations.c.name)).scalar()
            if name is not None:  # in the installation's log, because nobody can read the organization's
                record(connection, Action.ORGANIZATION_DELETED, target=name, details={"id": organization_id})

        with conflict_as("the organization still has projects: delete them first"):
            await self._database.write(remove)

    async def organizations_of(self, user_id: str) -> list[tuple[Organization, Role]]:
        query = _organizations_of(user_id).order_by(
            organizations.c.personal.desc(), organizations.c.name, organizations.c.id
        )
        return [(Organization(*row[:-1]), Role(row[-1])) for row in await self._database.rows(query)]

    async def organization_of(self, user_id: str, organization_id: str) -> tuple[Organization, Role] | None:
        query = _organizations_of(user_id).where(organizations.c.id == organization_id)
        row = await self._database.first(query)
        return (Organization(*row[:-1]), Role(row[-1])) if row else None

    async def organization_called(self, name: str) -> Organization | None:
        row = await self._database.first(sa.select(*_ORGANIZATION).where(organizations.c.name == name))
        return Organization(*row) if row else None

    # Members

    async def members(self, organization_id: str, after: tuple[str, str] | None, limit: int) -> list[Member]:
        query = (
            sa.select(*USER, members.c.role, members.c.from_group)
            .select_from(members.join(users))
            .where(members.c.organization_id == organization_id)
            .order_by(users.c.login, users.c.id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(sa.tuple_(users.c.login, users.c.id) > sa.tuple_(*after))
        rows = await self._database.rows(query)
        return [Member(User(*user), Role(role), bool(from_group)) for *user, role, from_group in rows]

    async def set_member(self, organization_id: str, user_id: str, role: Role, by: str = "") -> None:
        def set_role(connection: sa.Connection) -> None:
            lock_members(connection, organization_id, by)
            if by and memberships.role_in(connection, organization_id, user_id) is None:
                raise NotFoundError("not found")
            memberships.set_role(connection, organization_id, user_id, role)

        await self._database.write(set_role)

    async def remove_member(
        self,
        organization_id: str,
        user_id: str,
        revoke_tokens_at: int | None = None,
        revoked_by: str = "",
        by: str = "",
    ) -> bool:
        this = equal(invitations, organization_id=organization_id, user_id=user_id)

        def remove(connection: sa.Connection) -> bool:
            lock_members(connection, organization_id, by)
            was_member = memberships.remove(
                connection,
                organization_id,
                user_id,
                revoke_tokens_at=revoke_tokens_at,
                revoked_by=revoked_by,
            )
            was_invited = connection.execute(sa.delete(invitations).where(*this)).rowcount > 0
            if was_invited and not was_member:
                memberships.record_about(connection, Action.INVITATION_WITHDRAWN, organization_id, user_id)
            return was_member or was_invited

        return await self._database.write(remove)

    # Invitations

    async def add_invitation(self, invitation: Invitation, most: int, by: str = "") -> None:
        organization_id = invitation.organization.id
        open_ones = sa.select(sa.func.count()).where(invitations.c.organization_id == organization_id)
        row = {
            "organization_id": organization_id,
            "user_id": invitation.user.id,
            "role": memberships.as_stored(invitation.role),
            "invited_by": invitation.invited_by,
            "created_at": invitation.created_at,
        }

        def add(connection: sa.Connection) -> None:
            lock_members(connection, organization_id, by)
            if connection.execute(open_ones).scalar_one() >= most:
                raise ConflictError(f"{most} invitations are open: withdraw one first")
            connection.execute(sa.insert(invitations).values(row))
            about: dict[str, Any] = {"organization_id": organization_id, "target": invitation.user.login}
            record(connection, Action.MEMBER_INVITED, **about, details={"role": invitation.role})

        with conflict_as(f"{invitation.user.login} is already invited"):
            await self._database.write(add)

    async def invitations(self, limit: int, **of: str) -> list[Invitation]:
        newest = _INVITATIONS.order_by(invitations.c.created_at.desc(), *invitations.primary_key)
        rows = await self._database.rows(newest.where(*equal(invitations, **of)).limit(limit))
        return [_invitation(row) for row in rows]

    async def accept_invitation(self, organization_id: str, user_id: str, most: int) -> bool:
        this = equal(invitations, organization_id=organization_id, user_id=user_id)
        taking = sa.delete(invitations).where(*this).returning(invitations.c.role)

        def accept(connection: sa.Connection) -> bool:
            lock_row(connection, organizations, organization_id)  # it can't be removed in the meantime
            role = connection.execute(taking).scalar()
            if role is None:
                return False
            memberships.join(connection, organization_id, user_id, Role(role), most=most)
            return True

        return await self._database.write(accept)


def _record_sign_in(connection: sa.Connection, user_id: str) -> None:
    """Record a sign-in in each organization of the person, or else in their personal one."""
    found = connection.execute(_organizations_of(user_id)).all()
    shared = [row.id for row in found if not row.personal]
    for organization_id in shared or [row.id for row in found]:
        memberships.record_about(connection, Action.SIGNED_IN, organization_id, user_id)


def _organizations_of(user_id: str) -> sa.Select[Any]:
    return (
        sa.select(*_ORGANIZATION, members.c.role)
        .select_from(organizations.join(members))
        .where(members.c.user_id == user_id)
    )


def _invitation(row: Sequence[Any]) -> Invitation:
    split = len(_ORGANIZATION)
    *user, role, invited_by, created_at = row[split:]
    return Invitation(Organization(*row[:split]), User(*user), Role(role), invited_by, created_at)


def _take_login(connection: sa.Connection, user: User) -> None:
    """Rename other users with this login at the same provider: their accounts have been renamed there.

    Otherwise an owner could invite the wrong person. No forge allows a login with a space.
    """
    same = sa.func.lower(users.c.login) == user.login.lower()
    others = sa.update(users).where(users.c.provider == user.provider, same, users.c.id != user.id)
    connection.execute(others.values(login=users.c.login + " (former login)"))


def _add_organization(connection: sa.Connection, organization: Organization, owner_id: str) -> None:
    connection.execute(sa.insert(organizations).values(asdict(organization)))
    owner = {"organization_id": organization.id, "user_id": owner_id, "role": Role.OWNER}
    connection.execute(sa.insert(members).values(owner))
