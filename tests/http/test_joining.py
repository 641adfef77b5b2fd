"""Links and groups that let people join an organization, over HTTP."""

import secrets
from collections.abc import Iterator

import pytest

from support.service import Service
from support.signed_in_people import Person, sign_in

GONE = {
    "error": "this link was used or revoked, or is older than 7 days: ask an owner of the organization for another"
}


@pytest.fixture(scope="module")
def ann(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service, groups=["acme", "acme/web"]) as person:
        yield person


@pytest.fixture(scope="module")
def eve(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service, groups=["elsewhere"]) as person:
        yield person


def a_link(owner: Person, organization: str, role: str = "reviewer") -> tuple[str, str]:
    """Create a link. Return its id and its secret."""
    made = owner.ask("POST", f"/organizations/{organization}/invitation-links", role=role)
    assert made.status_code == 201, made.text
    url, _, secret = made.json()["url"].partition("#")
    assert url == f"{owner.base_url}/join".replace("//join", "/join")
    assert len(secret) == 43
    return made.json()["link"]["id"], secret


def test_a_link_shows_what_it_offers_and_lets_one_person_join(ann: Person, eve: Person) -> None:
    organization = ann.organization()
    link_id, code = a_link(ann, organization)
    path = f"/organizations/{organization}/invitation-links"
    (listed,) = ann.get_json(path)["links"]
    assert (listed["id"], listed["created_by"]) == (link_id, ann.login)
    assert listed["expires_at"] == listed["created_at"] + 7 * 86_400
    assert code not in ann.ask("GET", path).text
    offer = eve.ask("POST", "/join/offer", code=code).json()
    assert (offer["organization"]["id"], offer["role"], offer["is_member"]) == (
        organization,
        "reviewer",
        False,
    )
    assert organization not in eve.ask("GET", "/me").text
    assert eve.ask("POST", "/join", code=code).json()["is_member"] is True
    assert {each["id"]: each["role"] for each in eve.get_json("/me")["organizations"]}[
        organization
    ] == "reviewer"
    for where in ("/join/offer", "/join"):
        again = eve.ask("POST", where, code=code)
        assert (again.status_code, again.json()) == (404, GONE)


def test_a_member_keeps_the_link_and_their_role(ann: Person) -> None:
    _, code = a_link(ann, ann.organization(), "viewer")
    assert ann.ask("POST", "/join/offer", code=code).json()["is_member"] is True
    reply = ann.ask("POST", "/join", code=code)
    assert (reply.status_code, "you are already a member of" in reply.json()["error"]) == (409, True)
    assert ann.ask("POST", "/join/offer", code=code).status_code == 200


def test_a_revoked_or_unknown_link_gets_the_same_reply(ann: Person, eve: Person) -> None:
    organization = ann.organization()
    link_id, code = a_link(ann, organization)
    path = f"/organizations/{organization}/invitation-links/{link_id}"
    elsewhere = path.replace(organization, eve.organization())
    assert eve.ask("DELETE", elsewhere).status_code == 404  # only under its own organization
    assert ann.ask("DELETE", path).json() == {"ok": True}
    for given in (code, secrets.token_urlsafe(32), "", "x", "\u0130" * 43, "x" * 50_000):
        reply = eve.ask("POST", "/join", code=given)
        assert (reply.status_code, reply.json()) == (404, GONE)


def test_a_personal_organization_has_no_links_and_groups(ann: Person) -> None:
    path = f"/organizations/{ann.organization_id}"
    for reply in (
        ann.ask("POST", f"{path}/invitation-links", role="viewer"),
        ann.ask("POST", f"{path}/groups", name="acme", role="viewer"),
    ):
        assert (reply.status_code, "has no other members" in reply.json()["error"]) == (409, True)


def test_an_owner_names_a_group_and_its_people_join_at_sign_in(ann: Person, shared_service: Service) -> None:
    organization = ann.organization()
    path = f"/organizations/{organization}/groups"
    assert ann.get_json(path) == {"groups": [], "yours": ["acme", "acme/web"]}
    named = ann.ask("POST", path, name=" ACME/Web ", role="maintainer")
    assert (named.status_code, named.json()["name"]) == (201, "acme/web")
    with (
        sign_in(shared_service, groups=["acme/web"]) as joined,
        sign_in(shared_service, groups=["web"]) as other,
    ):
        roles = {each["id"]: each["role"] for each in joined.get_json("/me")["organizations"]}
        assert roles[organization] == "maintainer"
        assert organization not in other.ask("GET", "/me").text
        members = ann.get_json(f"/organizations/{organization}/members")["members"]
        assert {each["id"]: each["from_group"] for each in members} == {
            ann.user_id: False,
            joined.user_id: True,
        }
    assert ann.ask("DELETE", f"{path}?provider=github&name=acme%2Fweb").json() == {"ok": True}
    assert ann.ask("DELETE", f"{path}?provider=github&name=acme%2Fweb").status_code == 404


@pytest.mark.parametrize("name", ["other", "acm", "acme/web/x", "", "*", "github:acme", "\u212acme"])
def test_an_owner_cannot_name_a_group_that_they_are_not_in(ann: Person, name: str) -> None:
    """Anyone can create an organization: it must not pull in strangers."""
    reply = ann.ask("POST", f"/organizations/{ann.organization()}/groups", name=name, role="viewer")
    assert (reply.status_code, "sign out and in again" in reply.json()["error"]) == (403, True)
