"""Ways to join an organization without an invitation by login: links, and groups of the login provider.

Anyone can create an organization. So that it can't pull in strangers, an owner can only name groups that they
were in at their last sign-in.
"""

import secrets
import time

from prshots.contract.errors import ForbiddenError, NotFoundError
from prshots.server.domain.images.models import SECONDS_PER_DAY
from prshots.server.domain.people.allow_list import fold_case
from prshots.server.domain.people.login_flow import is_secret, new_secret
from prshots.server.domain.people.models import Group, InvitationLink, User
from prshots.server.domain.people.organizations import MAX_ORGANIZATIONS
from prshots.server.domain.people.ports import Groups, InvitationLinkRecords
from prshots.server.domain.projects.credentials import hash_of
from prshots.server.domain.projects.models import Organization, Role

LINK_SECONDS = 7 * SECONDS_PER_DAY
MAX_LINKS, MAX_GROUPS = 100, 100

_NO_LINK = (
    "this link was used or revoked, or is older than 7 days: ask an owner of the organization for another"
)


class Joining:
    """The callers check that the user is an owner."""

    def __init__(self, links: InvitationLinkRecords, groups: Groups) -> None:
        self._links = links
        self._groups = groups

    async def links(self, organization: Organization) -> list[InvitationLink]:
        return await self._links.links(organization.id, int(time.time()))

    async def create_link(
        self, user: User, organization: Organization, role: Role
    ) -> tuple[InvitationLink, str]:
        """Create a link. Return it with its secret. Raises NotFoundError, ConflictError."""
        organization.require_shared()
        secret, now = new_secret(), int(time.time())
        about = (organization, hash_of(secret), role, user.login, now, now + LINK_SECONDS)
        link = InvitationLink(secrets.token_hex(6), *about)
        await self._links.add_link(link, MAX_LINKS, by=user.id)
        return link, secret

    async def revoke_link(self, organization: Organization, link_id: str) -> None:
        if not await self._links.revoke_link(organization.id, link_id):
            raise NotFoundError("not found")

    async def link(self, secret: str) -> InvitationLink:
        """Return the link with this secret. Raises NotFoundError, the same for every unusable link."""
        link = await self._links.link(hash_of(secret), int(time.time())) if is_secret(secret) else None
        if link is None:
            raise NotFoundError(_NO_LINK)
        return link

    async def use_link(self, user: User, secret: str) -> InvitationLink:
        """Let the user join. Raises NotFoundError, or ConflictError if they already are a member."""
        link = await self.link(secret)
        if not await self._links.use_link(link, user.id, int(time.time()), MAX_ORGANIZATIONS):
            raise NotFoundError(_NO_LINK)
        return link

    async def groups(self, user: User, organization: Organization) -> tuple[list[Group], list[str]]:
        """Return the groups that the organization names, and the names of the user's own groups."""
        found = await self._groups.groups(organization.id)
        return found, await self._groups.groups_of_user(user.id)

    async def name_group(self, user: User, organization: Organization, name: str, role: Role) -> Group:
        """Name a group of the owner's login provider. Raises NotFoundError, ForbiddenError, ConflictError."""
        organization.require_shared()
        name = fold_case(name.strip())
        if name not in await self._groups.groups_of_user(user.id):
            raise ForbiddenError(
                "you can only add a group that you were in when you last signed in: "
                "if you are in it, sign out and in again"
            )
        group = Group(organization.id, user.provider, name, role, user.login, int(time.time()))
        await self._groups.put_group(group, MAX_GROUPS, by=user.id)
        return group

    async def remove_group(self, organization: Organization, provider: str, name: str) -> None:
        """Remove a group. Its members leave at their next sign-in. Raises NotFoundError."""
        found = await self._groups.groups(organization.id)
        named = [group for group in found if (group.provider, group.name) == (provider, name)]
        if not named or not await self._groups.remove_group(named[0]):
            raise NotFoundError("not found")
