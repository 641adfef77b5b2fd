"""The contract of every `People` adapter."""

import asyncio
import secrets
from dataclasses import replace

import pytest
import sqlalchemy as sa

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.sql.database.schema import invitations, members
from prshots.server.domain.people import organizations
from prshots.server.domain.people.models import Invitation, LoginState, Session, User
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Organization, Role
from support.contract_stores import Stores
from support.stores_and_records import ENGINES, NOW, a_project, a_token

pytestmark = pytest.mark.parametrize("stores", ENGINES, indirect=True)  # no partitions: they have no images


@pytest.fixture
def people(stores: Stores) -> People:
    return stores.people


def a_user(login: str = "", provider: str = "github") -> User:
    identity = secrets.token_hex(8)
    login = login or f"user-{identity}"
    return User(identity, provider, f"subject-{identity}", login, login.title(), "", NOW)


def an_organization(name: str = "", *, personal: bool = False) -> Organization:
    identity = secrets.token_hex(8)
    return Organization(identity, name or f"organization-{identity}", personal, NOW)


async def added(people: People, login: str = "") -> tuple[User, Organization]:
    user = a_user(login)
    organization = an_organization(user.login, personal=True)
    await people.add_user(user, organization)
    return user, organization


def an_invitation(
    organization: Organization, user: User, role: Role = Role.MAINTAINER, created_at: int = NOW
) -> Invitation:
    return Invitation(organization, user, role, "ann", created_at)


def a_state(**changes: object) -> LoginState:
    plain = LoginState(secrets.token_hex(32), "github", NOW)
    return replace(plain, **changes)


def a_session(user: User, created_at: int = NOW, last_seen_at: int = NOW) -> Session:
    return Session(secrets.token_hex(32), user.id, created_at, last_seen_at)


class TestLoginStates:
    async def test_a_login_state_can_be_used_once(self, people: People) -> None:
        state, other = a_state(), a_state()
        await people.add_login_state(state)
        await people.add_login_state(other)
        with pytest.raises(ConflictError):
            await people.add_login_state(state)
        assert await people.take_login_state(state.sha256) == state
        assert await people.take_login_state(state.sha256) is None
        assert await people.take_login_state(other.sha256) == other

    async def test_only_one_of_many_concurrent_requests_gets_a_login_state(self, people: People) -> None:
        state = a_state()
        await people.add_login_state(state)
        taken = await asyncio.gather(*(people.take_login_state(state.sha256) for _ in range(8)))
        assert sorted(taken, key=bool) == [None] * 7 + [state]


class TestUsers:
    async def test_a_stored_user_and_later_changes_are_read_back(self, people: People) -> None:
        user, _ = await added(people)
        assert await people.user_of_subject("github", user.subject) == user
        assert await people.user_of_subject("gitlab", user.subject) is None
        renamed = replace(user, login="new", name="New", avatar_url="https://pictures.test/1")
        await people.update_user(renamed)
        assert await people.user_of_subject("github", user.subject) == renamed

    async def test_a_known_subject_or_taken_organization_name_is_a_conflict_and_stores_nothing(
        self, people: People
    ) -> None:
        known, own = await added(people)
        organization = an_organization("another")
        with pytest.raises(ConflictError):
            await people.add_user(replace(known, id="other"), organization)
        assert await people.organization_of("other", organization.id) is None
        new = a_user()
        with pytest.raises(ConflictError):
            await people.add_user(new, an_organization(own.name))
        assert await people.user_of_subject("github", new.subject) is None
        for name in (own.name, LOCAL_ORGANIZATION):
            with pytest.raises(ConflictError, match=name):
                await people.add_organization(an_organization(name), known.id, most=9)

    async def test_a_login_that_passes_to_another_account_no_longer_finds_the_former_one(
        self, people: People
    ) -> None:
        (first, _), elsewhere = await added(people, "Mona"), a_user("mona", "gitlab")
        await people.add_user(elsewhere, an_organization("mona-gitlab"))
        second = a_user("mona")
        await people.add_user(second, an_organization("mona-github"))
        assert await people.users_of_login("mona") == [second, elsewhere]
        renamed = await people.user_of_subject("github", first.subject)
        assert renamed == replace(first, login="Mona (former login)")
        await people.update_user(first)
        assert await people.users_of_login("mona") == [first, elsewhere]

    async def test_are_found_by_login_ignoring_case(self, people: People) -> None:
        ann, _ = await added(people, "Ann")
        other = a_user("ann", "gitlab")
        await people.add_user(other, an_organization("ann-gitlab"))
        await added(people, "anna")
        assert await people.users_of_login("aNN") == [ann, other]
        assert await people.users_of_login("nobody") == []


class TestSessions:
    async def test_return_their_user_until_they_end(self, people: People) -> None:
        (user, _), (other, _) = await added(people), await added(people)
        sessions = [a_session(user) for _ in range(3)]
        kept = a_session(other)
        for session in [*sessions, kept]:
            await people.add_session(session)
        assert await people.session(sessions[0].sha256) == (sessions[0], user)
        await people.touch_session(sessions[0].sha256, NOW + 9)
        assert await people.session(sessions[0].sha256) == (replace(sessions[0], last_seen_at=NOW + 9), user)
        await people.end_session(sessions[0].sha256)
        assert await people.session(sessions[0].sha256) is None
        assert await people.session(sessions[1].sha256) == (sessions[1], user)
        await people.end_sessions_of(user.id)
        assert [await people.session(session.sha256) for session in sessions] == [None] * 3
        assert await people.session(kept.sha256) == (kept, other)

    async def test_old_sessions_and_login_states_are_discarded(self, people: People) -> None:
        user, _ = await added(people)
        kept = a_session(user, NOW - 30, NOW - 7)
        for session in (kept, a_session(user, NOW - 31, NOW), a_session(user, NOW - 30, NOW - 8)):
            await people.add_session(session)
        old, new = a_state(created_at=NOW - 11), a_state(created_at=NOW - 10)
        await people.add_login_state(old)
        await people.add_login_state(new)
        assert await people.discard_old_logins(NOW - 10, NOW - 30, NOW - 7, NOW) == 3
        assert await people.session(kept.sha256) == (kept, user)
        assert await people.take_login_state(old.sha256) is None
        assert await people.take_login_state(new.sha256) == new


class TestOrganizations:
    async def test_the_personal_organization_is_listed_first(self, people: People) -> None:
        user, own = await added(people, "mona")
        acme, zoo = an_organization("acme"), an_organization("zoo")
        await people.add_organization(zoo, user.id, most=9)
        await people.add_organization(acme, user.id, most=9)
        listed = await people.organizations_of(user.id)
        assert listed == [(organization, Role.OWNER) for organization in (own, acme, zoo)]

    async def test_a_user_can_be_in_a_limited_number_even_with_concurrent_requests(
        self, people: People
    ) -> None:
        user, _ = await added(people)
        adding = (people.add_organization(an_organization(), user.id, most=3) for _ in range(6))
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        assert [str(outcome) for outcome in outcomes if outcome] == [
            "you are in 3 organizations, which is the limit: leave or delete one first"
        ] * 4
        assert len(await people.organizations_of(user.id)) == 3

    async def test_the_service_limits_memberships_and_invitations(
        self, stores: Stores, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(organizations, "MAX_ORGANIZATIONS", 2)
        monkeypatch.setattr(organizations, "MAX_INVITATIONS", 1)
        service = organizations.Organizations(stores.people, stores.overview)
        (owner, _), *invited = [await added(stores.people) for _ in range(3)]
        acme = await service.create(owner, "acme")
        with pytest.raises(ConflictError, match="you are in 2 organizations"):
            await service.create(owner, "zoo")
        await service.invite(owner, acme.id, invited[0][0].login, Role.MAINTAINER)
        with pytest.raises(ConflictError, match="1 invitations are open"):
            await service.invite(owner, acme.id, invited[1][0].login, Role.MAINTAINER)
        await service.create(invited[0][0], "zoo")
        with pytest.raises(ConflictError, match="you are in 2 organizations"):
            await service.join(invited[0][0], acme.id)

    async def test_can_be_removed_only_without_projects(self, stores: Stores, people: People) -> None:
        (owner, _), (invited, _), acme = await added(people), await added(people), an_organization()
        await people.add_organization(acme, owner.id, most=9)
        await people.add_invitation(an_invitation(acme, invited), most=9)
        project = await stores.add_project(replace(a_project(), organization_id=acme.id))
        with pytest.raises(ConflictError, match="still has projects: delete them first"):
            await people.remove_organization(acme.id)
        assert await people.organization_of(owner.id, acme.id) == (acme, Role.OWNER)
        await stores.records.remove_project(project.id)
        await people.remove_organization(acme.id)
        assert await people.organization_of(owner.id, acme.id) is None
        assert not await people.accept_invitation(acme.id, invited.id, most=9)
        with pytest.raises(NotFoundError):
            await people.add_invitation(an_invitation(acme, invited), most=9)
        await people.add_organization(acme, owner.id, most=9)


class TestMembers:
    async def test_are_paged_by_login(self, people: People) -> None:
        _, organization = await added(people, "m")
        for login in ("z", "a", "b"):
            user, _ = await added(people, login)
            await people.set_member(organization.id, user.id, Role.MAINTAINER)
        first = await people.members(organization.id, None, 3)
        assert [(member.user.login, member.role) for member in first] == [
            ("a", Role.MAINTAINER),
            ("b", Role.MAINTAINER),
            ("m", Role.OWNER),
        ]
        last = first[-1].user
        rest = await people.members(organization.id, (last.login, last.id), 3)
        assert [member.user.login for member in rest] == ["z"]

    async def test_see_the_organization_in_their_role_until_they_are_removed(self, people: People) -> None:
        (owner, organization), (user, _) = await added(people), await added(people)
        assert await people.organization_of(owner.id, organization.id) == (organization, Role.OWNER)
        for identity in (organization.id, "nobody's"):
            assert await people.organization_of(user.id, identity) is None
        await people.set_member(organization.id, user.id, Role.MAINTAINER)
        assert await people.organization_of(user.id, organization.id) == (organization, Role.MAINTAINER)
        await people.set_member(organization.id, user.id, Role.OWNER)
        assert await people.organization_of(user.id, organization.id) == (organization, Role.OWNER)
        assert await people.remove_member(organization.id, owner.id)
        assert await people.organization_of(owner.id, organization.id) is None
        assert not await people.remove_member(organization.id, owner.id)

    async def test_maintainers_are_stored_under_the_name_that_the_previous_version_knows(
        self, stores: Stores, people: People
    ) -> None:
        """Its processes run on the same rows during an upgrade, and fail for roles that they don't know."""
        (_, organization), (user, _), (invited, _) = [await added(people) for _ in range(3)]
        await people.set_member(organization.id, user.id, Role.MAINTAINER)
        await people.add_invitation(an_invitation(organization, invited), most=9)
        for table, who in ((members, user), (invitations, invited)):
            this = (table.c.organization_id == organization.id, table.c.user_id == who.id)
            assert await stores.database.value(sa.select(table.c.role).where(*this)) == "member"

    async def test_members_that_the_previous_version_adds_are_maintainers_by_hand(
        self, stores: Stores, people: People
    ) -> None:
        (_, organization), (user, _) = await added(people), await added(people)
        adding = (
            "INSERT INTO members (organization_id, user_id, role) VALUES (:organization, :user, 'member')"
        )
        by_hand = sa.text(adding).bindparams(organization=organization.id, user=user.id)
        await stores.database.execute(by_hand)
        (found,) = (m for m in await people.members(organization.id, None, 9) if m.user == user)
        assert (found.role, found.from_group) == (Role.MAINTAINER, False)

    async def test_the_last_owner_cannot_be_removed_or_demoted(self, people: People) -> None:
        (owner, organization), (user, _) = await added(people), await added(people)
        await people.set_member(organization.id, user.id, Role.MAINTAINER)
        with pytest.raises(ConflictError, match="needs an owner"):
            await people.remove_member(organization.id, owner.id)
        with pytest.raises(ConflictError, match="needs an owner"):
            await people.set_member(organization.id, owner.id, Role.MAINTAINER)
        assert await people.organization_of(owner.id, organization.id) == (organization, Role.OWNER)

    async def test_removing_a_member_revokes_their_tokens_in_this_organization_if_requested(
        self, stores: Stores, people: People
    ) -> None:
        (owner, _), (user, _), acme = await added(people), await added(people), an_organization()
        await people.add_organization(acme, owner.id, most=9)
        await people.set_member(acme.id, user.id, Role.MAINTAINER)
        project = await stores.add_project(replace(a_project(), organization_id=acme.id))
        theirs, revoked = (a_token(project, creator_id=user.id, created_at=NOW + at) for at in (1, 2))
        others = [
            a_token(stores.project, creator_id=user.id),
            a_token(project, creator_id=owner.id),
            a_token(project),
        ]
        for token in (theirs, revoked, *others):
            await stores.records.add_token(token)
        await stores.records.revoke_token(revoked.id, NOW + 3)
        assert await stores.overview.tokens_of_member(acme.id, user.id, NOW, 9) == [(theirs, project.name)]
        assert await stores.overview.tokens_of_member(acme.id, user.id, NOW, 0) == []
        assert await people.remove_member(acme.id, user.id)
        assert await stores.records.project_of_token(theirs.sha256)
        await people.set_member(acme.id, user.id, Role.MAINTAINER)
        assert await people.remove_member(acme.id, user.id, revoke_tokens_at=NOW + 9)
        assert await stores.overview.tokens_of_member(acme.id, user.id, NOW, 9) == []
        revoked_at = {token.id: token.revoked_at for token in await stores.records.tokens(project.id)}
        assert (revoked_at[theirs.id], revoked_at[revoked.id]) == (NOW + 9, NOW + 3)
        for token in others:
            assert await stores.records.project_of_token(token.sha256)

    async def test_two_owners_cannot_remove_each_other_at_once(self, people: People) -> None:
        (one, organization), (two, _) = await added(people), await added(people)
        await people.set_member(organization.id, two.id, Role.OWNER)
        outcomes = await asyncio.gather(
            people.remove_member(organization.id, one.id),
            people.remove_member(organization.id, two.id),
            return_exceptions=True,
        )
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConflictError", "bool"]
        assert len(await people.members(organization.id, None, 9)) == 1


class TestInvitations:
    async def test_make_a_member_only_when_accepted(self, people: People) -> None:
        (owner, _), (user, _), acme = await added(people), await added(people), an_organization()
        await people.add_organization(acme, owner.id, most=9)
        invitation = an_invitation(acme, user, Role.OWNER)
        await people.add_invitation(invitation, most=9)
        assert await people.invitations(9, organization_id=acme.id) == [invitation]
        assert await people.invitations(9, user_id=user.id) == [invitation]
        assert await people.invitations(9, user_id=owner.id) == []
        assert await people.organization_of(user.id, acme.id) is None
        assert not await people.accept_invitation(acme.id, owner.id, most=9)
        with pytest.raises(ConflictError, match="you are in 1 organizations"):
            await people.accept_invitation(acme.id, user.id, most=1)
        accepted = await asyncio.gather(*(people.accept_invitation(acme.id, user.id, most=9) for _ in "ab"))
        assert sorted(accepted) == [False, True]
        assert await people.organization_of(user.id, acme.id) == (acme, Role.OWNER)
        assert await people.invitations(9, organization_id=acme.id) == []

    async def test_are_limited_in_number_and_can_be_removed(self, people: People) -> None:
        (owner, _), acme = await added(people), an_organization()
        await people.add_organization(acme, owner.id, most=9)
        users = [(await added(people))[0] for _ in range(3)]
        await people.add_invitation(an_invitation(acme, users[0]), most=2)
        with pytest.raises(ConflictError, match=f"{users[0].login} is already invited"):
            await people.add_invitation(an_invitation(acme, users[0]), most=2)
        newest = an_invitation(acme, users[1], created_at=NOW + 1)
        await people.add_invitation(newest, most=2)
        with pytest.raises(ConflictError, match="2 invitations are open: withdraw one first"):
            await people.add_invitation(an_invitation(acme, users[2]), most=2)
        assert await people.invitations(1, organization_id=acme.id) == [newest]
        assert await people.remove_member(acme.id, users[0].id)
        assert not await people.remove_member(acme.id, users[0].id)
        await people.add_invitation(an_invitation(acme, users[2]), most=2)
        assert not await people.accept_invitation(acme.id, users[0].id, most=9)
