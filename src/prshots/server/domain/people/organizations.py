"""Organizations, their members, and the permissions of each role.

`Role` says what members may do. To everyone else, the organization and its projects don't appear to exist.
Nobody becomes a member without accepting an invitation or opening a link: otherwise a stranger's organization
could appear among a user's own. The exception is a group that they share with one of its owners.
"""

import secrets
import time

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.domain.people.allow_list import split_provider
from prshots.server.domain.people.models import Invitation, Member, User
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.models import (
    LOCAL_ORGANIZATION,
    Organization,
    Project,
    Role,
    UploadToken,
    check_organization_name,
)
from prshots.server.domain.projects.ports import ProjectOverview

MAX_ORGANIZATIONS = 100
"""How many organizations a user can be in. They are all in one reply, which open pages poll."""

MAX_INVITATIONS, SHOWN_INVITATIONS, SHOWN_TOKENS = 100, 20, 100


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

    async def find_for(self, user: User, organization_id: str, needed: Role) -> Organization:
        """Return the organization if the user has this role. Raises NotFoundError, ForbiddenError."""
        organization, role = await self.find(user, organization_id)
        role.require(needed)
        return organization

    async def project(self, user: User, project_id: str, needed: Role) -> Project:
        """Return a project in which the user has this role.

        Raises NotFoundError, even for other people's projects, and ForbiddenError.
        """
        found = await self._overview.project_of(user.id, project_id)
        if found is None:
            raise NotFoundError("not found")
        project, role = found
        role.require(needed)
        return project

    async def create(self, user: User, name: str) -> Organization:
        """Create an organization that the user owns. Raises InvalidInputError, ConflictError."""
        check_organization_name(name)
        organization = Organization(secrets.token_hex(8), name, personal=False, created_at=int(time.time()))
        await self._people.add_organization(organization, user.id, MAX_ORGANIZATIONS)
        return organization

    async def delete(self, user: User, organization_id: str) -> None:
        """Delete an organization. Raises NotFoundError, ForbiddenError, ConflictError if it has projects."""
        organization = await self.find_for(user, organization_id, Role.OWNER)
        if organization.personal or organization.id == LOCAL_ORGANIZATION:
            raise ConflictError(f"personal organizations and {LOCAL_ORGANIZATION!r} cannot be deleted")
        await self._people.remove_organization(organization.id)

    async def members(
        self, user: User, organization_id: str, after: tuple[str, str] | None, limit: int
    ) -> list[Member]:
        organization, _ = await self.find(user, organization_id)
        return await self._people.members(organization.id, after, limit)

    async def invite(self, user: User, organization_id: str, login: str, role: Role) -> Invitation:
        """Invite a person by `[provider:]login`. Raises NotFoundError, ForbiddenError, ConflictError."""
        organization = await self.find_for(user, organization_id, Role.OWNER)
        organization.require_shared()
        invited = await self._user_of_login(login)
        if await self._people.organization_of(invited.id, organization.id):
            raise ConflictError(f"{invited.login} is already a member")
        invitation = Invitation(organization, invited, role, user.login, int(time.time()))
        await self._people.add_invitation(invitation, MAX_INVITATIONS, by=user.id)
        return invitation

    async def invitations_to(self, user: User, organization_id: str) -> list[Invitation]:
        organization, _ = await self.find(user, organization_id)
        return await self._people.invitations(MAX_INVITATIONS, organization_id=organization.id)

    async def invitations_of(self, user: User) -> list[Invitation]:
        return await self._people.invitations(SHOWN_INVITATIONS, user_id=user.id)

    async def join(self, user: User, organization_id: str) -> None:
        """Accept the user's invitation. Raises NotFoundError, ConflictError."""
        if not await self._people.accept_invitation(organization_id, user.id, MAX_ORGANIZATIONS):
            raise NotFoundError("not found")

    async def change_role(self, user: User, organization_id: str, member_id: str, role: Role) -> None:
        """Change a role. Raises NotFoundError, ForbiddenError, or ConflictError for the last owner."""
        await self._people.set_member(organization_id, member_id, role, by=user.id)

    async def tokens_of_member(
        self, user: User, organization_id: str, member_id: str
    ) -> list[tuple[UploadToken, str]]:
        """Return the tokens that would be revoked with the member's removal, with their projects' names."""
        organization, role = await self.find(user, organization_id)
        if member_id != user.id:
            role.require(Role.OWNER)
        return await self._overview.tokens_of_member(
            organization.id, member_id, int(time.time()), SHOWN_TOKENS
        )

    async def remove_member(
        self, user: User, organization_id: str, member_id: str, *, keep_tokens: bool
    ) -> None:
        """Remove a member and their tokens, or an invitation. Raises the same errors as `change_role`.

        Users may leave and decline, but only an owner may keep the tokens.
        """
        by = user.id if member_id != user.id or keep_tokens else ""
        revoke_tokens_at = None if keep_tokens else int(time.time())
        if not await self._people.remove_member(
            organization_id, member_id, revoke_tokens_at, user.login, by=by
        ):
            raise NotFoundError("not found")

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
