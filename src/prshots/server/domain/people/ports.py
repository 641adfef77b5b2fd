"""The ports for people, with the errors that each call raises."""

from collections.abc import Collection
from typing import Protocol

from prshots.server.domain.people.models import (
    Group,
    Identity,
    Invitation,
    InvitationLink,
    LoginState,
    Member,
    Session,
    User,
)
from prshots.server.domain.projects.models import Organization, Role


class People(Protocol):
    """Users, sessions and organizations. Raises RecordsError. Writing also raises RecordsFullError.

    Here and in the next ports, `by` is the id of a user who must still be an owner of the organization then.
    If they aren't, the call raises NotFoundError or ForbiddenError.
    """

    async def add_login_state(self, state: LoginState, link_for: str = "") -> None:
        """Add a login state. Raises ConflictError if it exists.

        With `link_for`, record that a sign-in link was created for this login.
        """

    async def take_login_state(self, sha256: str) -> LoginState | None:
        """Remove and return a login state. Only one of two concurrent calls gets it."""

    async def user_of_subject(self, provider: str, subject: str) -> User | None: ...

    async def users_of_login(self, login: str) -> list[User]:
        """Return the users with this login at any provider. Ignores case."""

    async def add_user(self, user: User, organization: Organization | None) -> None:
        """Add a user and their personal organization. Raises ConflictError if either exists."""

    async def update_user(self, user: User) -> None:
        """Update login, name and avatar. Here and in `add_user`, another user with this login loses it."""

    async def add_session(
        self, session: Session, groups: Collection[str] | None = None, most: int = 0
    ) -> None:
        """Add a session and record the sign-in.

        With `groups`, the names at the login provider in lower case, the user joins the organizations that
        name one of them, unless they are in `most`, and leaves those they joined that way but no longer
        belong to. Members whom people added and last owners stay.
        """

    async def session(self, sha256: str) -> tuple[Session, User] | None: ...

    async def touch_session(self, sha256: str, now: int) -> None: ...

    async def end_session(self, sha256: str) -> None: ...

    async def end_sessions_of(self, user_id: str) -> None: ...

    async def discard_old_logins(self, states: int, sessions: int, unseen: int, now: int) -> int:
        """Remove states and sessions from before these times, or unseen since `unseen`. Return how many.

        This includes invitation links that have expired.
        """

    async def add_organization(self, organization: Organization, owner_id: str, most: int) -> None:
        """Add an organization. Raises ConflictError if the name is taken, or if the owner is in `most`."""

    async def remove_organization(self, organization_id: str) -> None:
        """Remove an organization, its members and invitations. Raises ConflictError if it has projects."""

    async def organizations_of(self, user_id: str) -> list[tuple[Organization, Role]]:
        """Return the user's organizations by name, with the personal one first."""

    async def organization_of(self, user_id: str, organization_id: str) -> tuple[Organization, Role] | None:
        """Find an organization by its id. Return None if the user isn't a member."""

    async def members(self, organization_id: str, after: tuple[str, str] | None, limit: int) -> list[Member]:
        """Return a page of members, ordered by (login, id)."""

    async def set_member(self, organization_id: str, user_id: str, role: Role, by: str = "") -> None:
        """Add a member or change their role. Raises ConflictError instead of demoting the last owner.

        With `by`, raises NotFoundError instead of adding a member. From then on, they aren't a member through
        a group. A former owner's invitations and links end, here and in `remove_member`.
        """

    async def remove_member(
        self,
        organization_id: str,
        user_id: str,
        revoke_tokens_at: int | None = None,
        revoked_by: str = "",
        by: str = "",
    ) -> bool:
        """Remove a member or an invitation. Return False if there is none.

        Raises ConflictError for the last owner. With a time, revoke the tokens that the member created in the
        organization's projects.
        """

    async def add_invitation(self, invitation: Invitation, most: int, by: str = "") -> None:
        """Add an invitation. Raises NotFoundError if the organization no longer exists.

        Raises ConflictError if the user is already invited, or if `most` invitations are open.
        """

    async def invitations(self, limit: int, **of: str) -> list[Invitation]:
        """Return the newest open invitations `of` this `organization_id` or `user_id`."""

    async def accept_invitation(self, organization_id: str, user_id: str, most: int) -> bool:
        """Make the invited user a member. Return False if there is no invitation. A higher role stays.

        Raises ConflictError if the user is already in `most` organizations.
        """


class Groups(Protocol):
    """The groups that organizations name. Raises RecordsError. Writing also raises RecordsFullError."""

    async def groups(self, organization_id: str) -> list[Group]:
        """Return the groups ordered by provider and name."""

    async def groups_of_user(self, user_id: str) -> list[str]:
        """Return the names of the user's groups at their last sign-in."""

    async def put_group(self, group: Group, most: int, by: str = "") -> None:
        """Add a group or change its role. Raises NotFoundError if the organization no longer exists.

        Raises ConflictError if the organization already names `most` others.
        """

    async def remove_group(self, group: Group) -> bool:
        """Remove a group. Return False if the organization doesn't name it."""


class InvitationLinkRecords(Protocol):
    """Links to join an organization. Raises RecordsError. Writing also raises RecordsFullError."""

    async def add_link(self, link: InvitationLink, most: int, by: str = "") -> None:
        """Add a link. Raises NotFoundError if the organization no longer exists.

        Raises ConflictError if `most` links are open.
        """

    async def links(self, organization_id: str, now: int) -> list[InvitationLink]:
        """Return the open links, newest first."""

    async def link(self, sha256: str, now: int) -> InvitationLink | None: ...

    async def revoke_link(self, organization_id: str, link_id: str) -> bool:
        """Revoke a link. Return False if it doesn't exist."""

    async def use_link(self, link: InvitationLink, user_id: str, now: int, most: int) -> bool:
        """Make the user a member, and remove the link and their invitation. Return False if it is gone.

        Raises ConflictError, and keeps the link, if they already are a member or in `most` organizations.
        """


class LoginProvider(Protocol):
    """A forge or OpenID issuer that people sign in with, using the OAuth 2.0 code flow with PKCE."""

    @property
    def id(self) -> str: ...

    @property
    def label(self) -> str:
        """The name on the sign-in button."""

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        """Return the URL to send the browser to. Raises ProviderError."""

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        """Exchange the code. Raises ProviderError, or SignInRefusedError for a used or expired code."""
