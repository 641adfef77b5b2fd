"""Calls every method of every port on every engine, and compares each result with the type that the port declares.

A method without a call here, or one that never returns anything, fails these tests.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from prshots.contract.limits import Policy
from prshots.contract.object_names import origin_key
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.counters.memory import MemoryCounter
from prshots.server.adapters.counters.redis import RedisCounter
from prshots.server.adapters.keys import FixedKeys, KeyFile
from prshots.server.adapters.objects.cloud import CloudReader, CloudStore
from prshots.server.adapters.objects.disk import DiskReader, DiskStore
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.comparison.models import ComparisonRequest, PlannedShot, ShotResult
from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.models import Place, PutUrl, ShotKey, StagedImage
from prshots.server.domain.images.ports import (
    ObjectStore,
    Overview,
    PutUrlRecords,
    RateCounter,
    StagedRecords,
)
from prshots.server.domain.people.models import LoginState, Session, User
from prshots.server.domain.people.ports import People
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Organization, Role, Trust
from prshots.server.domain.projects.names import ProjectReference
from prshots.server.domain.projects.ports import TrustRecords
from prshots.server.domain.upkeep.ports import Upkeep
from prshots.server.links.ports import FileReader, KeySource, RemoteReader
from prshots.server.links.signing import KeyRing
from support.engine_servers import SeaweedFS, Valkey
from support.port_watch import PortWatch, all_ports, assert_is
from support.stores_and_records import (
    DAY,
    ENGINES,
    NOW,
    Records,
    SqlRecords,
    a_pair,
    a_project,
    a_token,
    an_image,
    opener,
)

ANN = User("ann", "github", "1", "ann", "Ann", "", NOW)
BOB = User("bob", "github", "2", "bob", "Bob", "", NOW)
ACME = Organization("acme", "acme", personal=False, created_at=NOW)
ISSUER = "https://ci.example"
SHA256 = "0" * 64
LATER = 3600

WATCHED_HERE = {
    *(
        "ImageRecords",
        "ProjectRecords",
        "TokenRecords",
        "ProjectOverview",
        "Overview",
        "People",
        "TrustRecords",
        "Upkeep",
        "BaselineRecords",
        "ComparisonRecords",
    ),
    *("StagedRecords", "PutUrlRecords"),
    *("FileReader", "RemoteReader", "ObjectStore", "RateCounter", "KeySource"),
}
WITHOUT_AN_ENGINE = {"RenderThumbnail", "ComparePictures"}
WATCHED_WITH_THEIR_SERVERS = {"Issuers": "test_issuers.py", "LoginProvider": "test_login_providers.py"}
"""Their servers run in tests/http, whose suites watch them in the same way."""


def test_every_port_is_watched() -> None:
    assert set(all_ports()) == WATCHED_HERE | WATCHED_WITH_THEIR_SERVERS.keys() | WITHOUT_AN_ENGINE
    for suite in WATCHED_WITH_THEIR_SERVERS.values():
        assert "PortWatch()" in (Path(__file__).parents[1] / "http" / suite).read_text()


class TestDatabase:
    @pytest.fixture(params=ENGINES)
    def database(self, request: pytest.FixtureRequest, tmp_path: Path) -> Database:
        return opener(request, tmp_path)()

    async def test_every_method_returns_what_its_port_declares(self, database: Database) -> None:
        watch = PortWatch()
        records = watch.over(SqlRecords(database), Records)
        people = watch.over(SqlPeople(database), People)
        await self._sign_in(people)
        await self._use_trusts(records, watch.over(SqlTrusts(database), TrustRecords))
        await self._upload_and_look(records, people, watch.over(SqlOverview(database), Overview))
        await self._compare(
            records,
            watch.over(SqlBaselines(database), BaselineRecords),
            watch.over(SqlComparisons(database), ComparisonRecords),
        )
        await self._stage(records, watch.over(SqlStaged(database), StagedRecords))
        await self._put(records, watch.over(SqlPutUrls(database), PutUrlRecords))
        await self._expire(records)
        await self._look_after(records, watch.over(SqlUpkeep(database), Upkeep))
        await records.close()
        # Only a server has its own clock, and no free space was left by what is above.
        clock = ["Upkeep.time"] if database.engine.dialect.name == "sqlite" else []
        assert watch.unseen == ["Upkeep.reclaim_space", *clock]

    async def _look_after(self, records: Records, upkeep: Upkeep) -> None:
        project = a_project(retain_days=1)
        await records.add_project(project)
        image = an_image(project)
        await records.add_image(image)
        await upkeep.time()
        assert len(await upkeep.installation_id()) == 32
        assert await upkeep.stored()
        assert await upkeep.count_overdue(NOW + 2 * DAY, 10) >= 1
        assert await upkeep.images_by_id("", "g", 1)
        assert await upkeep.active_ids([image.id]) == {image.id}
        assert isinstance(upkeep, SqlUpkeep)
        for broken in ("UPDATE pulls SET images = 0", "UPDATE uploads_by_day SET bytes = 1"):
            await upkeep._database.write(
                lambda connection, broken=broken: connection.execute(text(broken))  # type: ignore[misc]
            )
        (pulls, _), (days, _) = (
            await upkeep.wrong_pulls(project.id, -1),
            await upkeep.wrong_days(project.id, -1),
        )
        assert pulls
        assert days
        assert await upkeep.wrong_projects()
        await upkeep.recompute(pulls[0])
        await upkeep.reclaim_space(1)

    async def _sign_in(self, people: People) -> None:
        for user in (ANN, BOB):
            await people.add_user(user, None)
        await people.update_user(ANN)
        assert await people.user_of_subject("github", "1") == ANN
        assert await people.users_of_login("ANN") == [ANN]
        await people.add_login_state(LoginState(SHA256, "github", NOW))
        assert await people.take_login_state(SHA256)
        await people.add_session(Session(SHA256, ANN.id, NOW, NOW))
        await people.touch_session(SHA256, NOW + 1)
        assert await people.session(SHA256)
        await people.end_session(SHA256)
        await people.add_session(Session(SHA256, ANN.id, NOW, NOW))
        assert await people.discard_old_logins(NOW + 1, NOW + 1, NOW + 1) == 1
        await people.end_sessions_of(ANN.id)
        await people.add_organization(ACME, ANN.id)
        assert await people.organizations_of(ANN.id)
        assert await people.organization_of(ANN.id, ACME.id)
        await people.set_member(ACME.id, BOB.id, Role.MEMBER)
        assert len(await people.members(ACME.id, None, 10)) == 2
        assert await people.remove_member(ACME.id, BOB.id)

    async def _use_trusts(self, records: Records, trusts: TrustRecords) -> None:
        project = a_project()
        await records.add_project(project)
        trust = Trust("t", project.id, ISSUER, {"sub": "x"}, NOW, "ann")
        await trusts.add_trust(trust, "sub=x", 50)
        await trusts.touch_trust(trust.id, NOW)
        assert await trusts.pin_trust(trust.id, {"repository_id": "7"})
        await trusts.note_refused_ids(trust.id, {"repository_id": "8"}, NOW)
        assert await trusts.trusts(project.id)
        assert await trusts.is_trusted(ISSUER)
        assert await trusts.trusts_by_anchor(ISSUER, ["sub=x"], ProjectReference.parse(project.id))
        token = a_token(project, expires_at=NOW + 900, trust_id=trust.id)
        assert await trusts.add_token_of_trust(token)
        assert await records.project_of_token(token.sha256)
        assert await records.discard_expired_tokens(NOW + 900, 10) == 1
        assert await trusts.unpin_trust(trust.id)
        assert await trusts.remove_trust(trust.id)

    async def _upload_and_look(self, records: Records, people: People, overview: Overview) -> None:
        await people.set_member(LOCAL_ORGANIZATION, ANN.id, Role.OWNER)
        project = a_project(name="web")
        await records.add_project(project)
        images = [an_image(project) for _ in range(2)]
        for image in images:
            await records.add_image(image)
        assert await records.set_thumbnail(images[0].id, "made")
        await records.add_token(a_token(project))
        assert await overview.project_of(ANN.id, project.id)
        assert await overview.projects_of(ANN.id, None, 10)
        assert await overview.summary_of(ANN.id, project.id)
        assert await overview.days([project.id], 0)
        assert await overview.pulls(project.id, closed=False, search="cart", before=None, limit=10)
        assert await overview.pull(project.id, 7)
        assert await overview.biggest_pulls(project.id, 10)
        assert await overview.newest_images(project.id, [7], 10)
        assert await overview.shots(project.id, 7, None, 10)
        assert await overview.images_of_shot(
            project.id, 7, ShotKey("checkout/cart", "1280x800", ""), 2**40, 10
        )
        assert await overview.images(project.id, [image.id for image in images])
        assert await overview.tokens(project.id, None, 10)
        due = await overview.would_expire(project.id, Policy.RETAIN_DAYS, 1, NOW + 2 * DAY)
        assert json.dumps(due) == "[2, 2000]"

    async def _compare(
        self, records: Records, baselines: BaselineRecords, comparisons: ComparisonRecords
    ) -> None:
        project = a_project()
        await records.add_project(replace(project, keep_baselines=1))
        hashes = ["1" * 64, "2" * 64, "3" * 64]
        first, base = (
            an_image(project, kind="baseline", sha256=sha256, commit_sha=sha256[:40]) for sha256 in hashes[:2]
        )
        image = an_image(project, sha256=hashes[2])
        for each, branch in ((first, "main"), (base, "main"), (image, "")):
            await records.add_image(each, branch)
        main = (project.id, "main")
        assert await baselines.reuse(*main, base.commit_sha, [(base.shot, hashes[1])], NOW)
        assert await baselines.adopt(an_image(project, kind="baseline", name="home"), "main")
        assert await baselines.complete(*main, base.commit_sha, NOW) == 1
        bases = await baselines.bases(*main, [base.commit_sha], [image.shot])
        assert await baselines.branches(project.id) == ["main"]
        assert await baselines.commits(project.id, None, None, 10)
        assert await baselines.of_commit(*main, base.commit_sha, None, 10)
        assert await baselines.release(NOW, 10) == 1
        request = ComparisonRequest(project.id, 7, image.commit_sha, "main")
        found = ShotResult(Verdict.CHANGED, 1, [(1, 2, 3, 4)])
        plan = [PlannedShot(image.shot, image, bases.by_shot[image.shot])]
        assert await comparisons.images_at(project.id, 7, image.commit_sha)
        after, before = a_pair(project, pr_number=9)
        await records.add_image(after, before=before)
        assert await comparisons.pairs_at(project.id, 9, after.commit_sha)
        assert await comparisons.begin(
            request, "run", plan, state=ComparisonState.RUNNING, base_commit=None, missing=0, now=NOW
        )
        assert not await comparisons.was_complete(project.id, 7, image.commit_sha)
        pair = (hashes[1], hashes[2])
        assert await comparisons.record(
            request, "run", {image.shot: found}, {pair: found}, engine=1, state=None, now=NOW
        )
        assert await comparisons.known_pairs(project.id, [pair], 1)
        assert await comparisons.set_diff(image.id, base.id)
        assert await comparisons.diff_twin(image, base)
        assert await comparisons.shown(project.id, 7)
        assert await comparisons.of_commit(project.id, 7, image.commit_sha)
        await comparisons.record(request, "run", {}, {}, engine=1, state=ComparisonState.COMPARED, now=NOW)
        assert await comparisons.version(project.id, 7)
        assert await comparisons.discard_old_pairs(NOW + 1, 10) == 1
        assert await records.describe_pull(project.id, 7, title="t", source_branch="b", author="a", path="")
        await records.set_repository(project.id, "https://forge.example/acme/shop")

    async def _stage(self, records: Records, staged: StagedRecords) -> None:
        project, place = a_project(), Place("fix", "")
        await records.add_project(project)
        for _ in range(2):
            await staged.add(StagedImage(an_image(project, kind="staged"), place, NOW + 1))
        assert await staged.find(project.id, NOW, limit=10)
        assert await staged.count(project.id, "fix", NOW) == 2
        assert await staged.move(project.id, place, 7, NOW, 1) == 1
        assert await staged.schedule_expired(NOW + 1, 10) == 1

    async def _put(self, records: Records, put_urls: PutUrlRecords) -> None:
        project = a_project()
        await records.add_project(project)
        await records.add_token(token := a_token(project))
        about = ("cart", "0" * 40, "1x1", "", "image/png", NOW + 1)
        put_url = PutUrl(SHA256, project.id, token.id, 7, Place("", ""), *about, before_sha256="1" * 64)
        await put_urls.add(put_url)
        await put_urls.add(replace(put_url, sha256="2" * 64, before_sha256=None))
        assert await put_urls.find(SHA256, NOW)
        assert await put_urls.use_before(put_url, an_image(project, kind="before"))
        assert await put_urls.use(put_url, an_image(project), None)
        assert await put_urls.discard_expired(NOW + 1, 10) == 1

    async def _expire(self, records: Records) -> None:
        project = a_project(retain_days=1)
        await records.add_project(project)
        await records.change_project(project)
        assert await records.project(project.name, LOCAL_ORGANIZATION) == project
        assert await records.projects()
        token = a_token(project)
        await records.add_token(token)
        await records.touch_token(token.id, NOW)
        assert await records.tokens(project.id)
        assert await records.revoke_token(token.id, NOW)
        images = [an_image(project) for _ in range(3)]
        for image in images:
            await records.add_image(image)
        assert await records.image(project.id, images[0].id)
        assert len(await records.befores([images[0].id])) == 1
        assert (await records.images_of_pr(project.id, 7, 2))[0] == 3
        assert (await records.listed_of_pr(project.id, 7, 2))[0] == 3
        assert (await records.newest_of_shots(project.id, 7, 2))[1] == 1
        assert await records.known_ids([images[0].id]) == {images[0].id}
        assert await records.count_signed_with("k1") >= 3
        await records.schedule([images[0].id], NOW)
        assert await records.scheduled("", 10)
        assert await records.remove_images([images[0].id]) == 1
        assert await records.close_pr(project.id, 7, NOW, schedule=False) == 2
        assert await records.is_closed(project.id, 7)
        assert await records.schedule_due(NOW + 2 * DAY, 1) == 1
        assert await records.retire_project(project.id, NOW, 10) == 2
        assert await records.remove_images([image.id for image in images]) == 2
        assert await records.remove_project(project.id)
        await records.check()


class TestStore:
    async def test_on_disk_every_method_returns_what_its_port_declares(self, tmp_path: Path) -> None:
        watch = PortWatch()
        store = watch.over(DiskStore(tmp_path), ObjectStore)
        reader = watch.over(DiskReader(tmp_path), FileReader)
        key = await self._use(store)
        (tmp_path / f".{secrets.token_hex(16)}.new").touch()  # a crash leaves such a file behind
        assert await store.discard_unfinished(time.time() + LATER) == 1
        opened = reader.open(key)
        assert opened
        os.close(opened.fd)
        reader.check()
        await self._delete(store, key)
        assert set(watch.unseen) == {"ObjectStore.delete"}  # it returned no failed keys, see below

    async def test_on_s3_every_method_returns_what_its_port_declares(
        self, seaweedfs: SeaweedFS, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in seaweedfs.credentials.items():
            monkeypatch.setenv(name, value)
        url, watch = seaweedfs.store_url(seaweedfs.new_bucket()), PortWatch()
        store = watch.over(CloudStore(url), ObjectStore)
        reader = watch.over(CloudReader(url), RemoteReader)
        key = await self._use(store)
        await store.discard_unfinished(time.time() + LATER)
        assert await reader.size(key) == 1
        stream = await reader.stream(key)
        assert stream
        async with contextlib.aclosing(stream.chunks) as chunks:
            for chunk in [chunk async for chunk in chunks]:
                assert_is(chunk, bytes, "a chunk")
        await reader.check()
        await self._delete(store, key)
        # S3 itself discards what is unfinished.
        assert set(watch.unseen) == {"ObjectStore.delete", "ObjectStore.discard_unfinished"}

    @pytest.mark.parametrize("kind", ["disk", "s3"])
    async def test_a_delete_that_fails_returns_the_keys(self, kind: str, tmp_path: Path) -> None:
        watch, key = PortWatch(), origin_key(secrets.token_hex(16), "png")
        if kind == "disk":
            (tmp_path / key).mkdir(parents=True)  # a folder cannot be deleted as a file
            store: ObjectStore = watch.over(DiskStore(tmp_path), ObjectStore)
        else:
            nowhere = "s3://bucket?endpoint=http://127.0.0.1:9&region=us-east-1"
            store = watch.over(CloudStore(nowhere), ObjectStore)
        assert await store.delete([key]) == {key}
        assert "ObjectStore.delete" not in watch.unseen
        store.close()

    async def _use(self, store: ObjectStore) -> str:
        key = origin_key(secrets.token_hex(16), "png")
        await store.check()
        await store.put(key, [b"x"])
        assert await store.read(key) == b"x"
        assert await store.exists(key)
        assert await store.time()
        assert await store.owner("me") == "me"
        async for batch in store.stored_before(time.time() + LATER):
            assert_is(batch, list[str], "a batch of stored_before")
        assert await store.sizes(key[:2]) == {key: 1}
        return key

    async def _delete(self, store: ObjectStore, key: str) -> None:
        assert await store.delete([key]) == set()
        store.close()


@pytest.mark.parametrize("kind", ["memory", "valkey"])
async def test_every_method_of_a_counter_returns_what_its_port_declares(kind: str, valkey: Valkey) -> None:
    watch = PortWatch()
    counter: RateCounter = (
        MemoryCounter(1) if kind == "memory" else RedisCounter(valkey.url, 1, patience=[60])
    )
    watch.over(counter, RateCounter)
    project = secrets.token_hex(8)
    assert [(await counter.hit(project)).is_counted for _ in range(2)] == [True, False]
    await counter.check()
    await counter.close()
    assert watch.unseen == []


@pytest.mark.parametrize("kind", ["file", "setting"])
def test_every_method_of_a_key_source_returns_what_its_port_declares(kind: str, tmp_path: Path) -> None:
    ring = KeyRing.parse(f"k1:{'ab' * 32}")
    (tmp_path / "keys").write_text(ring.format())
    sources: dict[str, Callable[[], KeySource]] = {
        "file": lambda: KeyFile(tmp_path / "keys"),
        "setting": lambda: FixedKeys(ring),
    }
    watch = PortWatch()
    keys = watch.over(sources[kind](), KeySource)
    assert keys.ring().keys == keys.fresh_ring().keys
    assert watch.unseen == []


@pytest.mark.parametrize("wrong", [1.0, "1", True, None])
def test_a_result_of_another_type_is_found(wrong: object) -> None:
    image = an_image(a_project())
    assert_is([image], list[type(image)], "images")  # type: ignore[misc]
    with pytest.raises(AssertionError, match=r"images\[\]\.size is"):
        assert_is([image._replace(size=wrong)], list[type(image)], "images")  # type: ignore[misc, arg-type]
