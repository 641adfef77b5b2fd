"""The contract of links and groups that let people join organizations."""

import asyncio
import secrets
import time
from dataclasses import replace

import pytest

from prshots.contract.errors import ConflictError, ForbiddenError, NotFoundError
from prshots.server.domain.audit.models import ActorKind, AuditFilter, act_as
from prshots.server.domain.people.models import Group, Invitation, InvitationLink, Session, User
from prshots.server.domain.projects.models import Organization, Project, Role
from prshots.server.domain.review.models import ShareLink
from support.contract_stores import Stores
from support.stores_and_records import ENGINES, NOW, a_project, a_token

pytestmark = pytest.mark.parametrize("stores", ENGINES, indirect=True)  # no partitions: they have no images


class Here:
    """An organization with an owner, and the people who join it."""

    owner: User

    def __init__(self, stores: Stores, acme: Organization) -> None:
        self.stores, self.people, self.acme = stores, stores.people, acme
        self.links, self.groups = stores.links, stores.groups

    async def user(self, provider: str = "github") -> User:
        identity = secrets.token_hex(8)
        user = User(identity, provider, f"subject-{identity}", f"user-{identity}", "", "", NOW)
        await self.people.add_user(user, Organization(secrets.token_hex(8), user.login, True, NOW))
        return user

    async def link(self, role: Role = Role.REVIEWER, **changes: object) -> InvitationLink:
        link = InvitationLink(
            secrets.token_hex(6), self.acme, secrets.token_hex(32), role, self.owner.login, NOW, NOW + 60
        )
        await self.links.add_link(link := replace(link, **changes), most=9)
        return link

    async def name(self, name: str, role: Role, **changes: object) -> Group:
        group = Group(self.acme.id, "github", name, role, self.owner.login, NOW)
        await self.groups.put_group(group := replace(group, **changes), most=9)
        return group

    async def sign_in(self, user: User, *groups: str, most: int = 9) -> None:
        session = Session(secrets.token_hex(32), user.id, NOW + 5, NOW + 5)
        await self.people.add_session(session, groups, most)

    async def share(self, login: str, project: Project | None = None) -> ShareLink:
        if project is None:
            project = await self.stores.add_project(replace(a_project(), organization_id=self.acme.id))
        await self.stores.add(project)
        now = int(time.time())  # a demotion ends active links only
        link = ShareLink(
            secrets.token_hex(6), project.id, 7, secrets.token_hex(32), login, now, now + 9 * 86_400
        )
        await self.stores.share_links.add(link, 9)
        return link

    async def is_shared(self, link: ShareLink) -> bool:
        return await self.stores.share_links.find(link.sha256, link.created_at) is not None

    async def role(self, user: User) -> Role | None:
        found = await self.people.organization_of(user.id, self.acme.id)
        return found[1] if found else None

    async def acts(self, action: str) -> list[tuple[str, object]]:
        found = await self.stores.audit.entries(self.acme.id, AuditFilter(action=action), None, 50)
        return [(entry.target, entry.details) for entry in reversed(found)]


@pytest.fixture
async def here(stores: Stores) -> Here:
    acme = Organization(secrets.token_hex(8), f"acme-{secrets.token_hex(4)}", personal=False, created_at=NOW)
    here = Here(stores, acme)
    here.owner = await here.user()
    await stores.people.add_organization(acme, here.owner.id, most=9)
    return here


class TestLinks:
    async def test_let_one_person_join(self, here: Here) -> None:
        (one, two), link = (await here.user(), await here.user()), await here.link()
        assert await here.links.link(link.sha256, NOW) == link
        assert await here.links.links(here.acme.id, NOW) == [link]
        used = await asyncio.gather(*(here.links.use_link(link, who.id, NOW, 9) for who in (one, two)))
        assert sorted(used) == [False, True]
        assert sorted([str(await here.role(one)), str(await here.role(two))]) == ["None", "reviewer"]
        assert await here.links.link(link.sha256, NOW) is None
        joined = one if used[0] else two
        assert await here.acts("member.joined") == [
            (joined.login, {"role": "reviewer", "link": link.id}),
        ]

    async def test_do_not_work_after_their_end_or_once_revoked(self, here: Here) -> None:
        user, link = await here.user(), await here.link()
        assert not await here.links.use_link(link, user.id, NOW + 60, 9)
        assert await here.links.link(link.sha256, NOW + 60) is None
        assert await here.links.links(here.acme.id, NOW + 60) == []
        assert not await here.links.revoke_link("elsewhere", link.id)
        assert await here.links.revoke_link(here.acme.id, link.id)
        assert not await here.links.revoke_link(here.acme.id, link.id)
        assert not await here.links.use_link(link, user.id, NOW, 9)
        assert await here.role(user) is None
        old = await here.link(expires_at=NOW + 9)
        assert await here.people.discard_old_logins(0, 0, 0, NOW + 9) == 1
        assert await here.links.link(old.sha256, NOW) is None

    async def test_stay_unused_if_the_person_cannot_join(self, here: Here) -> None:
        user, link = await here.user(), await here.link(Role.VIEWER)
        with pytest.raises(ConflictError, match="already a member of acme"):
            await here.links.use_link(link, here.owner.id, NOW, 9)
        with pytest.raises(ConflictError, match="you are in 1 organizations"):
            await here.links.use_link(link, user.id, NOW, 1)
        assert await here.role(here.owner) is Role.OWNER
        assert await here.links.use_link(link, user.id, NOW, 2)

    async def test_are_limited_in_number_even_with_concurrent_requests(self, here: Here) -> None:
        await here.link(expires_at=NOW)  # has ended, so it doesn't count
        wanted = (
            InvitationLink(
                secrets.token_hex(6), here.acme, secrets.token_hex(32), Role.VIEWER, "o", NOW, NOW + 9
            )
            for _ in range(6)
        )
        outcomes = await asyncio.gather(
            *(here.links.add_link(link, most=3) for link in wanted), return_exceptions=True
        )
        assert [str(outcome) for outcome in outcomes if outcome] == [
            "3 invitation links are open: revoke one first"
        ] * 3

    async def test_end_with_their_organization(self, here: Here) -> None:
        user, link = await here.user(), await here.link()
        await here.people.remove_organization(here.acme.id)
        assert await here.links.link(link.sha256, NOW) is None
        assert not await here.links.use_link(link, user.id, NOW, 9)
        with pytest.raises(NotFoundError):
            await here.link()

    @pytest.mark.parametrize("change", ["demote", "remove", "rename"])
    async def test_end_with_the_invitations_of_an_owner_who_is_no_longer_one(
        self, here: Here, change: str
    ) -> None:
        second, third = await here.user(), await here.user()
        await here.people.set_member(here.acme.id, second.id, Role.OWNER)
        theirs, kept = await here.link(Role.OWNER, created_by=second.login), await here.link()
        shared = [await here.share(second.login), await here.share(here.owner.login)]
        await here.people.add_invitation(Invitation(here.acme, third, Role.OWNER, second.login, NOW), 9)
        if change == "rename":
            await here.people.update_user(replace(second, login=f"{second.login}-renamed"))
        if change == "demote":
            await here.people.set_member(here.acme.id, second.id, Role.MAINTAINER)
        else:
            await here.people.remove_member(here.acme.id, second.id)
        assert await here.links.links(here.acme.id, NOW) == [kept]
        assert not await here.links.use_link(theirs, third.id, NOW, 9)
        assert not await here.people.accept_invitation(here.acme.id, third.id, 9)
        assert await here.acts("invitation.withdrawn") == [(third.login, {})]
        ended = {"role": "owner", "created_by": second.login}
        assert await here.acts("invitation_link.revoked") == [(theirs.id, ended)]
        kept_share = change == "demote"  # a maintainer may share
        assert [await here.is_shared(link) for link in shared] == [kept_share, True]
        assert await here.acts("share_link.revoked") == ([] if kept_share else [("#7", {"id": shared[0].id})])

    async def test_share_links_end_with_the_role_of_the_maintainer_who_made_them(self, here: Here) -> None:
        maintainer = await here.user()
        await here.people.set_member(here.acme.id, maintainer.id, Role.MAINTAINER)
        theirs, owners = await here.share(maintainer.login), await here.share(here.owner.login)
        elsewhere = await here.share(maintainer.login, await here.stores.add_project())
        act_as(ActorKind.PERSON, here.owner.id, here.owner.login)
        await here.people.set_member(here.acme.id, maintainer.id, Role.REVIEWER)
        await here.people.remove_member(here.acme.id, maintainer.id)  # ends nothing a second time
        shown = [await here.is_shared(link) for link in (theirs, owners, elsewhere)]
        assert shown == [False, True, True]
        assert await here.acts("share_link.revoked") == [("#7", {"id": theirs.id})]
        listed = await here.stores.share_links.of_pull(theirs.project_id, 7, NOW, 9)
        assert [link.ended_by for link in listed] == [here.owner.login]


class TestOwners:
    async def test_who_were_removed_in_the_meantime_change_nothing(self, here: Here) -> None:
        """The caller has checked their role before, but not in the same transaction."""
        people, acme, member = here.people, here.acme, await here.user()
        await people.set_member(acme.id, member.id, Role.VIEWER)
        link = await here.link()
        group = Group(acme.id, "github", "acme", Role.OWNER, here.owner.login, NOW)
        invitation = Invitation(acme, await here.user(), Role.OWNER, here.owner.login, NOW)
        for by, refusal in ((member, ForbiddenError), (await here.user(), NotFoundError)):
            for change in (
                here.links.add_link(replace(link, id="new", sha256="new"), 9, by=by.id),
                here.groups.put_group(group, 9, by=by.id),
                people.add_invitation(invitation, 9, by=by.id),
                people.set_member(acme.id, member.id, Role.OWNER, by=by.id),
                people.remove_member(acme.id, here.owner.id, by=by.id),
            ):
                with pytest.raises(refusal):
                    await change
        assert (await here.role(member), await here.role(here.owner)) == (Role.VIEWER, Role.OWNER)
        assert await here.links.links(acme.id, NOW) == [link]
        assert await here.groups.groups(acme.id) == []
        assert await people.invitations(9, organization_id=acme.id) == []

    async def test_cannot_bring_back_a_member_by_changing_their_role(self, here: Here) -> None:
        for _ in range(5):
            member = await here.user()
            await here.people.set_member(here.acme.id, member.id, Role.MAINTAINER)
            await asyncio.gather(
                here.people.remove_member(here.acme.id, member.id, by=here.owner.id),
                here.people.set_member(here.acme.id, member.id, Role.OWNER, by=here.owner.id),
                return_exceptions=True,
            )
            assert await here.role(member) is None


class TestGroups:
    async def test_are_listed_changed_and_removed(self, here: Here) -> None:
        web, acme = await here.name("acme/web", Role.VIEWER), await here.name("acme", Role.VIEWER)
        web = await here.name("acme/web", Role.REVIEWER)
        assert await here.groups.groups(here.acme.id) == [acme, web]
        with pytest.raises(ConflictError, match="the organization has 2 groups: remove one first"):
            await here.groups.put_group(replace(web, name="third"), most=2)
        assert await here.groups.remove_group(web)
        assert not await here.groups.remove_group(web)
        assert not await here.groups.remove_group(replace(acme, provider="gitlab"))
        await here.people.remove_organization(here.acme.id)
        assert await here.groups.groups(here.acme.id) == []
        with pytest.raises(NotFoundError):
            await here.name("acme", Role.VIEWER)

    async def test_people_join_at_sign_in_with_the_highest_role_and_leave_with_the_group(
        self, here: Here
    ) -> None:
        user, elsewhere = await here.user(), await here.user("gitlab")
        await here.name("acme", Role.VIEWER)
        await here.name("acme/web", Role.MAINTAINER)
        for who in (user, elsewhere):
            await here.sign_in(who, "acme", "acme/web", "other")
        assert (await here.role(user), await here.role(elsewhere)) == (Role.MAINTAINER, None)
        assert await here.groups.groups_of_user(user.id) == ["acme", "acme/web", "other"]
        listed = await here.people.members(here.acme.id, None, 9)
        assert {(member.user.id, member.from_group) for member in listed} == {
            (here.owner.id, False),
            (user.id, True),
        }
        await here.sign_in(user, "acme")
        assert await here.role(user) is Role.VIEWER
        await here.people.add_session(Session(secrets.token_hex(32), user.id, NOW, NOW))  # says nothing
        assert await here.role(user) is Role.VIEWER
        await here.sign_in(user)
        assert await here.role(user) is None
        assert [act for act in await here.acts("member") if act[0] == user.login] == [
            (user.login, {"role": "maintainer", "group": "github:acme/web"}),
            (user.login, {"role": ["maintainer", "viewer"], "group": "github:acme"}),
            (user.login, {"revoked_tokens": 0, "left_group": True}),
        ]

    async def test_each_sign_in_is_recorded_in_the_organizations_of_the_person(self, here: Here) -> None:
        user = await here.user()
        await here.sign_in(user)
        assert await here.acts("person") == []
        await here.name("acme", Role.VIEWER)
        await here.sign_in(user, "acme")
        assert await here.acts("person") == [(user.login, {})]
        [(personal, _), _] = await here.people.organizations_of(user.id)
        entries = await here.stores.audit.entries(personal.id, AuditFilter(action="person"), None, 9)
        assert [entry.target for entry in entries] == [user.login]

    async def test_who_leaves_with_a_group_loses_their_tokens_there(self, here: Here) -> None:
        user = await here.user()
        await here.name("acme", Role.MAINTAINER)
        await here.sign_in(user, "acme")
        project = await here.stores.add_project(replace(a_project(), organization_id=here.acme.id))
        theirs = a_token(project, creator_id=user.id, expires_at=NOW + 90 * 86_400)
        kept = a_token(project, creator_id=here.owner.id)
        for token in (theirs, kept):
            await here.stores.records.add_token(token)
        await here.sign_in(user, "other")
        listed = {token.id: token for token in await here.stores.records.tokens(project.id)}
        assert listed[theirs.id] == replace(theirs, revoked_at=NOW + 5, revoked_by=user.login)
        assert listed[kept.id] == kept

    async def test_members_whom_people_added_stay_as_they_are(self, here: Here) -> None:
        invited, changed = await here.user(), await here.user()
        await here.name("acme", Role.MAINTAINER)
        await here.people.set_member(here.acme.id, invited.id, Role.VIEWER)
        await here.sign_in(changed, "acme")
        await here.people.set_member(here.acme.id, changed.id, Role.REVIEWER)
        for groups in (["acme"], []):
            for who in (invited, changed):
                await here.sign_in(who, *groups)
            assert (await here.role(invited), await here.role(changed)) == (Role.VIEWER, Role.REVIEWER)

    async def test_the_last_owner_stays_without_the_group(self, here: Here) -> None:
        user = await here.user()
        owners = await here.name("owners", Role.OWNER)
        await here.sign_in(user, "owners")
        await here.people.remove_member(here.acme.id, here.owner.id)
        await here.sign_in(user)
        assert await here.role(user) is Role.OWNER
        await here.groups.put_group(replace(owners, role=Role.VIEWER), most=9)
        await here.sign_in(user, "owners")
        assert await here.role(user) is Role.OWNER

    async def test_nobody_joins_more_organizations_than_allowed(self, here: Here) -> None:
        user = await here.user()
        await here.name("acme", Role.VIEWER)
        await here.sign_in(user, "acme", most=1)
        assert await here.role(user) is None

    async def test_an_invitation_keeps_a_member_through_a_group_but_never_lowers_their_role(
        self, here: Here
    ) -> None:
        user = await here.user()
        await here.name("acme", Role.MAINTAINER)
        await here.people.add_invitation(Invitation(here.acme, user, Role.VIEWER, here.owner.login, NOW), 9)
        await here.sign_in(user, "acme")
        assert await here.people.accept_invitation(here.acme.id, user.id, 9)
        assert await here.role(user) is Role.MAINTAINER
        await here.people.add_invitation(Invitation(here.acme, user, Role.MAINTAINER, "ann", NOW), 9)
        assert await here.people.accept_invitation(here.acme.id, user.id, 9)
        await here.sign_in(user)
        assert await here.role(user) is Role.MAINTAINER
        await here.people.add_invitation(Invitation(here.acme, user, Role.OWNER, here.owner.login, NOW), 9)
        assert await here.people.accept_invitation(here.acme.id, user.id, 9)
        await here.sign_in(user)
        assert await here.role(user) is Role.OWNER

    async def test_concurrent_sign_ins_and_changes_leave_one_owner_and_no_error(self, here: Here) -> None:
        users = [await here.user() for _ in range(3)]
        await here.name("owners", Role.OWNER)
        await here.people.set_member(here.acme.id, users[0].id, Role.OWNER)
        await asyncio.gather(
            *(
                here.sign_in(user, *groups)
                for user in users
                for groups in (["owners"], ["a", "b"], ["owners"])
            ),
            here.people.remove_member(here.acme.id, here.owner.id),
            here.name("a", Role.VIEWER),
            here.link(),
        )
        listed = await here.people.members(here.acme.id, None, 9)
        assert Role.OWNER in [member.role for member in listed]
