"""The contract of every `TrustRecords` adapter, including short-lived tokens."""

import asyncio
import secrets
from dataclasses import replace

import pytest

from prshots.contract.errors import ConflictError
from prshots.server.config.values import MAX_ISSUER
from prshots.server.domain.projects.claims import MAX_CLAIMS, MAX_NAME, MAX_VALUE
from prshots.server.domain.projects.models import Project, ProjectReference, Trust, UploadToken
from support.contract_stores import Stores
from support.stores_and_records import NOW, a_project, a_token

ISSUER, ANCHOR = "https://ci.example", "repository=octo/app"
UNNAMED = ProjectReference.parse("")


async def trusted(
    stores: Stores, project: Project | None = None, anchor: str = ANCHOR, **changes: object
) -> Trust:
    trust = a_trust(project or stores.project, **changes)
    await stores.trusts.add_trust(trust, anchor, 50)
    return trust


def a_trust(project: Project, **changes: object) -> Trust:
    claims = {"repository": "octo/app", "ref": "refs/heads/größer-*"}
    plain = Trust(secrets.token_hex(6), project.id, ISSUER, claims, NOW, "ann")
    return replace(plain, **changes)


def a_token_of(trust: Trust, **changes: object) -> UploadToken:
    plain = a_token(a_project(), project_id=trust.project_id, expires_at=NOW + 900, trust_id=trust.id)
    return replace(plain, **changes)


class TestTrusts:
    async def test_are_listed_unchanged_and_newest_first(self, stores: Stores) -> None:
        project = stores.project
        first = await trusted(stores, project)
        second = await trusted(stores, project, claims={"sub": "repo:octo/app:*"}, created_at=NOW + 1)
        assert await stores.trusts.trusts(project.id) == [second, first]
        await stores.trusts.touch_trust(first.id, NOW + 60)
        assert await stores.trusts.trusts(project.id) == [second, replace(first, last_used_at=NOW + 60)]

    async def test_a_duplicate_is_a_conflict(self, stores: Stores) -> None:
        first = await trusted(stores)
        turned_round = dict(reversed(first.claims.items()))
        with pytest.raises(ConflictError, match="already"):
            await trusted(stores, claims=turned_round)
        await trusted(stores, issuer="https://other.example")
        await trusted(stores, await stores.add_project())

    async def test_concurrent_adds_stay_within_the_limit(self, stores: Stores) -> None:
        trusts = [a_trust(stores.project, claims={"sub": str(number)}) for number in range(6)]
        adding = (stores.trusts.add_trust(trust, ANCHOR, 3) for trust in trusts)
        outcomes = await asyncio.gather(*adding, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes if outcome] == [ConflictError] * 3
        assert len(await stores.trusts.trusts(stores.project.id)) == 3

    async def test_the_longest_allowed_trust_can_be_stored(self, stores: Stores) -> None:
        """Use random characters of four bytes each, because they do not compress."""
        project, issuer = stores.project, f"https://{secrets.token_hex(MAX_ISSUER)}"[:MAX_ISSUER]
        value = "".join(chr(0x20000 + secrets.randbelow(0xA000)) for _ in range(MAX_VALUE))
        anchor = f"{secrets.token_hex(MAX_NAME // 2)}={value}"
        claims = {f"{number:0{MAX_NAME}}": value for number in range(MAX_CLAIMS)}
        trust = await trusted(stores, project, anchor, issuer=issuer, claims=claims)
        assert await stores.trusts.trusts_by_anchor(issuer, [anchor], UNNAMED) == [(trust, project)]


class TestPins:
    async def test_the_first_pins_stay_until_they_are_reset(self, stores: Stores) -> None:
        project, other = stores.project, await stores.add_project()
        trust = await trusted(stores, project)
        assert await stores.trusts.pin_trust(trust.id, {"repository_id": "7"}) == {"repository_id": "7"}
        assert await stores.trusts.pin_trust(trust.id, {"repository_id": "8"}) == {"repository_id": "7"}
        await stores.trusts.note_refused_ids(trust.id, {"repository_id": "8"}, NOW)
        pinned = replace(
            trust, pins={"repository_id": "7"}, refused_ids={"repository_id": "8"}, refused_at=NOW
        )
        assert await stores.trusts.trusts(project.id) == [pinned]
        assert await stores.trusts.trusts_by_anchor(ISSUER, [ANCHOR], UNNAMED) == [(pinned, project)]
        assert not await stores.trusts.unpin_trust(trust.id, other.id)
        assert not await stores.trusts.unpin_trust("nobody")
        assert await stores.trusts.trusts(project.id) == [pinned]
        assert await stores.trusts.unpin_trust(trust.id, project.id)
        assert await stores.trusts.trusts(project.id) == [trust]
        assert await stores.trusts.pin_trust("nobody", {"repository_id": "7"}) is None

    async def test_concurrent_first_jobs_agree_on_one_pin(self, stores: Stores) -> None:
        trust = await trusted(stores)
        pinning = (stores.trusts.pin_trust(trust.id, {"repository_id": str(number)}) for number in range(8))
        in_force = await asyncio.gather(*pinning)
        assert in_force == [in_force[0]] * 8


class TestFindingTrusts:
    async def test_matches_issuer_anchor_and_project(self, stores: Stores) -> None:
        project, other = stores.project, await stores.add_project()
        exact = await trusted(stores, project)
        wide = await trusted(stores, other, "repository=octo/", created_at=NOW + 1)
        await trusted(stores, other, "repository=other/app", claims={"repository": "other/app"})
        await trusted(stores, other, issuer="https://other.example")
        asked = ["repository=octo/", ANCHOR, "sub=repo:"]
        assert await stores.trusts.trusts_by_anchor(ISSUER, asked, UNNAMED) == [
            (exact, project),
            (wide, other),
        ]
        for name in (other.name, other.id, f"local/{other.name}"):
            asked_for = ProjectReference.parse(name)
            assert await stores.trusts.trusts_by_anchor(ISSUER, asked, asked_for) == [(wide, other)]
        for name in ("nobody", f"nobody/{other.name}", f"local/{other.id}"):
            assert await stores.trusts.trusts_by_anchor(ISSUER, asked, ProjectReference.parse(name)) == []
        assert await stores.trusts.trusts_by_anchor(ISSUER, [], UNNAMED) == []

    async def test_an_issuer_is_trusted_while_a_trust_names_it(self, stores: Stores) -> None:
        assert not await stores.trusts.is_trusted(ISSUER)
        trust = await trusted(stores)
        assert await stores.trusts.is_trusted(ISSUER)
        assert not await stores.trusts.is_trusted(ISSUER + "/")
        await stores.trusts.remove_trust(trust.id)
        assert not await stores.trusts.is_trusted(ISSUER)


class TestShortLivedTokens:
    async def test_find_their_project_but_are_not_listed(self, stores: Stores) -> None:
        project = stores.project
        lasting, short = a_token(project), a_token_of(await trusted(stores, project))
        await stores.records.add_token(lasting)
        of_pr = a_token_of(await trusted(stores, project, claims={"sub": "x"}), pr_number=7)
        for token in (short, of_pr):
            assert await stores.trusts.add_token_of_trust(token)
            assert await stores.records.project_of_token(token.sha256) == (token, project)
        assert await stores.records.tokens(project.id) == [lasting]
        assert await stores.overview.tokens(project.id, None, 60) == [lasting]

    async def test_are_removed_with_their_trust_only(self, stores: Stores) -> None:
        project, other = stores.project, await stores.add_project()
        trust, kept = await trusted(stores, project), await trusted(stores, other)
        tokens = [a_token_of(trust), a_token_of(trust), a_token_of(kept), a_token(project)]
        for token in tokens:
            await stores.records.add_token(token)
        assert not await stores.trusts.remove_trust(trust.id, other.id)
        assert await stores.trusts.remove_trust(trust.id, project.id)
        assert not await stores.trusts.remove_trust(trust.id)
        found = [await stores.records.project_of_token(token.sha256) for token in tokens]
        assert [bool(one) for one in found] == [False, False, True, True]
        assert not await stores.trusts.add_token_of_trust(a_token_of(trust))

    async def test_do_not_outlive_a_trust_that_is_removed_meanwhile(self, stores: Stores) -> None:
        for _ in range(5):
            trust = await trusted(stores)
            tokens = [a_token_of(trust) for _ in range(4)]
            adding = [stores.trusts.add_token_of_trust(token) for token in tokens]
            outcomes = await asyncio.gather(*adding[:2], stores.trusts.remove_trust(trust.id), *adding[2:])
            assert outcomes[2] is True
            for token in tokens:
                assert await stores.records.project_of_token(token.sha256) is None

    async def test_are_discarded_in_batches_after_they_expire(self, stores: Stores) -> None:
        project = stores.project
        trust = await trusted(stores, project)
        tokens = [a_token_of(trust, expires_at=NOW + second) for second in (-2, -1, 0, 1)]
        for token in [*tokens, a_token(project), a_token(project, expires_at=NOW - 9)]:
            await stores.records.add_token(token)
        assert await stores.records.discard_expired_tokens(NOW, 2) == 2
        assert await stores.records.project_of_token(tokens[2].sha256)
        assert await stores.records.discard_expired_tokens(NOW, 2) == 1
        assert await stores.records.discard_expired_tokens(NOW, 2) == 0
        assert await stores.records.project_of_token(tokens[3].sha256)
        assert len(await stores.records.tokens(project.id)) == 2  # those that people created


class TestRemovingAProject:
    async def test_disables_its_trusts_and_tokens_immediately(self, stores: Stores) -> None:
        project, other = stores.project, await stores.add_project()
        trust, kept = await trusted(stores, project), await trusted(stores, other)
        token = a_token_of(trust)
        await stores.records.add_token(token)
        image = await stores.add(project)
        assert await stores.records.retire_project(project.id, NOW, 10) == 1
        assert await stores.records.project_of_token(token.sha256) is None
        assert await stores.trusts.trusts_by_anchor(ISSUER, [ANCHOR], UNNAMED) == [(kept, other)]
        await stores.records.remove_images([image.id])
        assert await stores.records.remove_project(project.id)
        assert await stores.trusts.trusts(project.id) == []

    async def test_also_removes_a_trust_added_meanwhile(self, stores: Stores) -> None:
        assert await stores.records.retire_project(stores.project.id, NOW, 10) == 0
        await stores.records.add_token(a_token_of(await trusted(stores)))
        assert await stores.records.remove_project(stores.project.id)
        assert not await stores.trusts.is_trusted(ISSUER)
