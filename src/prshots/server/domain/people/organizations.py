"""Organizations, their members, and the permissions of each role.

Members see and use an organization's projects. Owners also manage its members and delete its projects. To
everyone else, the organization and its projects don't appear to exist.
"""

import secrets
import time

from prshots.contract.errors import ConflictError, ForbiddenError, NotFoundError
from prshots.server.domain.people.allow_list import split_provider
from prshots.server.domain.people.models import Member, User
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.models import Organization, Project, Role, check_organization_name
from prshots.server.domain.projects.ports import ProjectOverview


class Organizations:
    def __init__(self, people: People, overview: ProjectOverview) -> None:
        self._people = people
        self._overview = overview

    async def of(self, user: User) -> list[tuple[Organization, Role]]:
        return await self._people.organizations_of(user.id)

    async def find(self, user: User, organization_id: str) -> tuple[Organization, Role]:
        """Return the organization and the user's role. Raises NotFoundError for anyone but a member."""
        found = await self._people.organization_of(user.id, organization_id)
        if found is None:
            raise NotFoundError("not found")
        return found

    async def project(self, user: User, project_id: str, *, to_delete: bool = False) -> Project:
        """Return a project that the user may use or, `to_delete` it, delete.

        Raises NotFoundError, even for other people's projects, and ForbiddenError.
        """
        found = await self._overview.project_of(user.id, project_id)
        if found is None:
            raise NotFoundError("not found")
        project, role = found
        if to_delete:
            _require_owner(role)
        return project

    async def create(self, user: User, name: str) -> Organization:
        """Create an organization that the user owns. Raises InvalidInputError, ConflictError."""
        check_organization_name(name)
        organization = Organization(secrets.token_hex(8), name, personal=False, created_at=int(time.time()))
        await self._people.add_organization(organization, user.id)
        return organization

    async def members(
        self, user: User, organization_id: str, after: tuple[str, str] | None, limit: int
    ) -> list[Member]:
        organization, _ = await self.find(user, organization_id)
        return await self._people.members(organization.id, after, limit)

    async def add_member(self, user: User, organization_id: str, login: str, role: Role) -> Member:
        """Add a member by `[provider:]login`. Raises NotFoundError, ForbiddenError, ConflictError."""
        organization = await self._find_owned(user, organization_id)
        added = await self._user_of_login(login)
        if await self._people.organization_of(added.id, organization.id):
            raise ConflictError(f"{added.login} is already a member")
        await self._people.set_member(organization.id, added.id, role)
        return Member(added, role)

    async def change_role(self, user: User, organization_id: str, member_id: str, role: Role) -> None:
        """Change a role. Raises NotFoundError, ForbiddenError, or ConflictError for the last owner."""
        organization = await self._find_owned(user, organization_id)
        if await self._people.organization_of(member_id, organization.id) is None:
            raise NotFoundError("not found")
        await self._people.set_member(organization.id, member_id, role)

    async def remove_member(self, user: User, organization_id: str, member_id: str) -> None:
        """Remove a member. Members may remove themselves. Raises the same errors as `change_role`."""
        organization, role = await self.find(user, organization_id)
        if member_id != user.id:
            _require_owner(role)
        if not await self._people.remove_member(organization.id, member_id):
            raise NotFoundError("not found")

    async def _find_owned(self, user: User, organization_id: str) -> Organization:
        organization, role = await self.find(user, organization_id)
        _require_owner(role)
        return organization

    async def _user_of_login(self, login: str) -> User:
        provider, name = split_provider(login.strip())
        found = await self._people.users_of_login(name)
        if provider:
            found = [user for user in found if user.provider == provider]
        if not found:
            raise NotFoundError(f"no one called {name!r} has signed in here yet: ask them to sign in once")
        if len(found) > 1:
            names = " or ".join(f"{user.provider}:{user.login}" for user in found)
            raise ConflictError(f"more than one person is called {name!r}: use {names}")
        return found[0]


def _require_owner(role: Role) -> None:
    if role is not Role.OWNER:
        raise ForbiddenError("only an owner of the organization may do this")
