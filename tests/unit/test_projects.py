"""Projects, their policies and their tokens."""

import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from prshots.contract.errors import InvalidInputError, UnauthorizedError
from prshots.contract.limits import Policy
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.domain.projects.credentials import TOUCH_SECONDS, new_upload_token
from prshots.server.domain.projects.models import MAX_NAME, Access, Trust
from prshots.server.domain.projects.service import MAX_RETAIN_DAYS, Projects
from support.stores_and_records import DAY, NOW, open_database, open_records


class Clock:
    now: float = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def accounts(tmp_path: Path, clock: Clock) -> AsyncIterator[Projects]:
    records = open_records(tmp_path)
    yield Projects(records, records, clock)
    await records.close()


async def test_a_name_is_printable_and_not_too_long(accounts: Projects) -> None:
    for name in ("", " ", " a", "a ", "a\nb", "a\x1b[31m", "\udcff", "x" * (MAX_NAME + 1)):
        with pytest.raises(InvalidInputError, match="printable"):
            await accounts.create_project(name)
    assert await accounts.projects() == []
    for name in ("a", "owner/repo", "größer 日本", "x" * MAX_NAME):
        made = await accounts.create_project(name)
        assert await accounts.project(name) == made
        assert (made.policy, made.retain_days, made.created_at) == (Policy.PR_CLOSE, None, NOW)


class TestPolicies:
    @pytest.mark.parametrize(
        ("policy", "days", "words"),
        [
            *((Policy.MANUAL, days, f"got {days}") for days in (0, -1, MAX_RETAIN_DAYS + 1)),
            (Policy.RETAIN_DAYS, None, "--retain-days N"),
        ],
    )
    async def test_missing_retain_days_and_those_out_of_range_are_refused(
        self, accounts: Projects, policy: Policy, days: int | None, words: str
    ) -> None:
        with pytest.raises(InvalidInputError, match=words):
            await accounts.create_project("web", policy, days)
        web = await accounts.create_project("web")
        with pytest.raises(InvalidInputError, match=words):
            await accounts.change_project(web, policy=policy, retain_days=days)


class TestTokens:
    async def test_the_secret_has_the_documented_format_and_is_not_stored(
        self, accounts: Projects, tmp_path: Path
    ) -> None:
        web = await accounts.create_project("web")
        token, secret = await accounts.create_token(web, "nightly")
        assert re.fullmatch("msr_[0-9a-f]{64}", secret)
        assert await accounts.tokens(web) == [token]
        assert (token.label, token.hint) == ("nightly", f"msr_…{secret[-4:]}")
        assert token.sha256 == hashlib.sha256(secret.encode()).hexdigest()
        everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert token.sha256.encode() in everything
        assert secret[4:].encode() not in everything

    async def test_a_token_with_an_end_date_works_until_then_and_stays_listed(
        self, accounts: Projects, clock: Clock
    ) -> None:
        web = await accounts.create_project("web")
        token, secret = await accounts.create_token(web, expires_days=30)
        assert token.expires_at == NOW + 30 * DAY
        clock.now = last = NOW + 30 * DAY - 1
        assert not (await accounts.authenticate(secret)).is_keyless
        clock.now += 1
        with pytest.raises(UnauthorizedError, match=r"^unauthorized$"):
            await accounts.authenticate(secret)
        assert await accounts.tokens(web) == [replace(token, last_used_at=last)]

    @pytest.mark.parametrize("days", [0, -1, 3651, 10**400])
    async def test_an_impossible_end_date_is_refused(self, accounts: Projects, days: int) -> None:
        web = await accounts.create_project("web")
        with pytest.raises(InvalidInputError, match="expires_days takes 1 to 3,650 days"):
            await accounts.create_token(web, expires_days=days)
        assert await accounts.tokens(web) == []

    async def test_a_keyless_token_works_until_it_expires(
        self, accounts: Projects, clock: Clock, tmp_path: Path
    ) -> None:
        web = await accounts.create_project("web")
        trust = Trust("trust", web.id, "https://ci.test", {"sub": "job"}, NOW)
        token, secret = new_upload_token(web.id, "job", NOW)
        token = replace(token, expires_at=NOW + 900, trust_id=trust.id)
        records, database = open_records(tmp_path), open_database(tmp_path)
        await SqlTrusts(database).add_trust(trust, "sub=job", 9)
        await records.add_token(token)
        clock.now = NOW + 899.9
        access = Access(web, is_keyless=True, token_id=token.id, token_label="job", expires_at=NOW + 900)
        assert await accounts.authenticate(secret) == access
        clock.now = NOW + 900
        with pytest.raises(UnauthorizedError, match=r"^unauthorized$"):
            await accounts.authenticate(secret)
        # No page shows when a short-lived token was last used, so the use is not written.
        assert await records.project_of_token(token.sha256) == (token, web)
        await database.close()
        await records.close()

    async def test_the_last_use_is_recorded_at_most_once_a_minute(
        self, accounts: Projects, clock: Clock
    ) -> None:
        web = await accounts.create_project("web")
        _, secret = await accounts.create_token(web)

        async def noted_after(seconds: int) -> int | None:
            clock.now += seconds
            await accounts.authenticate(secret)
            return (await accounts.tokens(web))[0].last_used_at

        first = NOW + 5
        assert await noted_after(5) == first
        assert await noted_after(TOUCH_SECONDS - 1) == first
        assert await noted_after(1) == first + TOUCH_SECONDS
