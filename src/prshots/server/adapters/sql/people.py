"""Users, organizations and sign-ins, in the same database as the records."""

from dataclasses import asdict, fields
from typing import Any

import sqlalchemy as sa

from prshots.contract.errors import ConflictError
from prshots.server.adapters.sql.columns import USER, conflict_as, equal
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import login_states, members, organizations, sessions, users
from prshots.server.domain.people.models import LoginState, Member, Session, User
from prshots.server.domain.projects.models import Organization, Role

_ORGANIZATION = [organizations.c[field.name] for field in fields(Organization)]
_STATE = [login_states.c[field.name] for field in fields(LoginState)]
_SESSION = [sessions.c[field.name] for field in fields(Session)]
_USER_OF_SESSION = Prepared(
    sa.select(*_SESSION, *USER)
    .select_from(sessions.join(users))
    .where(sessions.c.sha256 == sa.bindparam("sha256"))
)
# The same SQL for SQLite and PostgreSQL. Adding a person twice at the same time isn't an error.
_SET_MEMBER = sa.text(
    "INSERT INTO members (organization_id, user_id, role) VALUES (:organization_id, :user_id, :role) "
    "ON CONFLICT (organization_id, user_id) DO UPDATE SET role = excluded.role"
)


class SqlPeople:
    def __init__(self, database: Database) -> None:
        self._database = database

    # Sign-in links and used states

    async def add_login_state(self, state: LoginState) -> None:
        with conflict_as("the login state already exists"):
            await self._database.execute(sa.insert(login_states).values(asdict(state)))

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
        await self._database.execute(updating)

    # Sessions

    async def add_session(self, session: Session) -> None:
        await self._database.execute(sa.insert(sessions).values(asdict(session)))

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

    async def discard_old_logins(self, states: int, sessions_made: int, unseen: int) -> int:
        old_states = sa.delete(login_states).where(login_states.c.created_at < states)
        old_sessions = sa.delete(sessions).where(
            (sessions.c.created_at < sessions_made) | (sessions.c.last_seen_at < unseen)
        )
        return await self._database.execute(old_states) + await self._database.execute(old_sessions)

    # Organizations

    async def add_organization(self, organization: Organization, owner_id: str) -> None:
        with conflict_as(f"organization {organization.name!r} already exists"):
            await self._database.write(
                lambda connection: _add_organization(connection, organization, owner_id)
            )

    async def organizations_of(self, user_id: str) -> list[tuple[Organization, Role]]:
        query = _organizations_of(user_id).order_by(
            organizations.c.personal.desc(), organizations.c.name, organizations.c.id
        )
        return [(Organization(*row[:-1]), Role(row[-1])) for row in await self._database.rows(query)]

    async def organization_of(self, user_id: str, organization_id: str) -> tuple[Organization, Role] | None:
        query = _organizations_of(user_id).where(organizations.c.id == organization_id)
        row = await self._database.first(query)
        return (Organization(*row[:-1]), Role(row[-1])) if row else None

    # Members

    async def members(self, organization_id: str, after: tuple[str, str] | None, limit: int) -> list[Member]:
        query = (
            sa.select(*USER, members.c.role)
            .select_from(members.join(users))
            .where(members.c.organization_id == organization_id)
            .order_by(users.c.login, users.c.id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(sa.tuple_(users.c.login, users.c.id) > sa.tuple_(*after))
        return [Member(User(*row[:-1]), Role(row[-1])) for row in await self._database.rows(query)]

    async def set_member(self, organization_id: str, user_id: str, role: Role) -> None:
        changing = {"organization_id": organization_id, "user_id": user_id, "role": role}

        def change(connection: sa.Connection) -> None:
            if role is not Role.OWNER:
                _keep_an_owner(connection, organization_id, user_id)
            connection.execute(_SET_MEMBER, changing)

        await self._database.write(change)

    async def remove_member(self, organization_id: str, user_id: str) -> bool:
        removing = sa.delete(members).where(*equal(members, organization_id=organization_id, user_id=user_id))

        def remove(connection: sa.Connection) -> bool:
            _keep_an_owner(connection, organization_id, user_id)
            return connection.execute(removing).rowcount > 0

        return await self._database.write(remove)


def _organizations_of(user_id: str) -> sa.Select[Any]:
    return (
        sa.select(*_ORGANIZATION, members.c.role)
        .select_from(organizations.join(members))
        .where(members.c.user_id == user_id)
    )


def _add_organization(connection: sa.Connection, organization: Organization, owner_id: str) -> None:
    connection.execute(sa.insert(organizations).values(asdict(organization)))
    owner = {"organization_id": organization.id, "user_id": owner_id, "role": Role.OWNER}
    connection.execute(sa.insert(members).values(owner))


def _keep_an_owner(connection: sa.Connection, organization_id: str, leaving: str) -> None:
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
