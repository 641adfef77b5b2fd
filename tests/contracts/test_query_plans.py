"""No query scans a whole table that grows. Checked with the plans that PostgreSQL actually used.

The server reports them for every statement of the stores and for its own foreign key checks.
"""

import asyncio
import json
import os
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from sqlalchemy import event

from prshots.contract.limits import Policy
from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.database.migrate import migrate
from prshots.server.adapters.sql.database.postgresql import open_postgresql
from prshots.server.adapters.sql.review.decisions import SqlReviews
from prshots.server.domain.comparison.models import (
    ComparisonRequest,
    PlannedShot,
    ShotBase,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.images.models import Image, ShotKey
from prshots.server.domain.outbox.models import Attempt
from prshots.server.domain.people.models import Session
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project, ProjectReference, Trust
from prshots.server.domain.review.models import Decision, NewDecision
from prshots.server.domain.review.noise import Quarantine
from prshots.server.domain.storage.models import Limit
from prshots.server.domain.upkeep.sweep import sweep
from support.contract_stores import Stores
from support.stores_and_records import a_project, a_token, an_image, engines_of

if TYPE_CHECKING:
    from support.engine_servers import PostgreSQL

pytestmark = pytest.mark.slow

IMAGES = int(os.environ.get("QUERY_PLAN_IMAGES", "200000"))
PROJECTS = 100
FILL = Path(__file__).parents[2] / "bench" / "measurements" / "growth.sql"
GROWN = {"images", "pulls", "tokens", "trusts", "sessions", "uploads_by_day", "decisions", "asked_pairs"} | {
    "outbox",
    "branch_pixels",
    "organization_groups",
    "user_groups",
    "invitation_links",
}
# A fifth is the big project's. Some rows are due, some failed, and few are due to be removed.
OUTBOX = """
INSERT INTO connections VALUES ('growth-1', 'gitea', '', 'acme/shop', '', '', '', 0);
INSERT INTO outbox (project_id, pr_number, kind, version, first_due_at, due_at, error)
SELECT 'growth-' || CASE WHEN n % 5 = 0 THEN 1 ELSE 2 + n % 99 END, n, kind, 1,
       extract(epoch FROM now())::bigint - CASE WHEN n % 500 = 1 THEN 40 * 86400 ELSE 0 END,
       CASE WHEN n % 500 = 0 THEN extract(epoch FROM now())::bigint - 3600 END, CASE WHEN n % 500 = 5 THEN 'refused' ELSE '' END
FROM generate_series(1, 50000) AS n, (VALUES ('status'), ('comment')) AS kinds (kind)
"""
GROUPS = """
INSERT INTO user_groups SELECT 'growth-' || n % 2000, 'group-' || n FROM generate_series(1, 40000) AS n;
INSERT INTO organization_groups
SELECT 'growth-' || n % 5000, 'github', 'group-' || n, 'viewer', 'ann', 0 FROM generate_series(1, 20000) AS n;
INSERT INTO invitation_links SELECT 'link-' || n, 'growth-' || n % 5000, n::text, 'viewer', 'ann', 0, 4e9
FROM generate_series(1, 20000) AS n
"""
DUE = 1000
MOST_ROWS = 500
"""How many rows a statement may read: a few for each row that a page shows or, in a sweep, each row that is due."""

NOW = int(time.time())
CHANGES = f"""
INSERT INTO branch_pixels (project_id, branch, commit_sha, name, viewport, theme, image_id, pixels, created_at)
SELECT 'growth-' || number % {PROJECTS}, 'main', number / {DUE}, 'screen-' || number % {DUE}, '1280x800', '',
number, number % 2, {NOW} FROM generate_series(1, {IMAGES // 4}) AS number
"""
BIG = Project("growth-1", "growth-000001", "local", "local", Policy.RETAIN_DAYS, 30, 0)
USER = "growth-1"
GITHUB = "https://token.actions.githubusercontent.com"
REVIEWED = """
    INSERT INTO decisions (project_id, pr_number, name, viewport, theme, pixels_before, pixels_after, decision, by,
                           user_id, at, note, is_newest)
    SELECT 'growth-' || greatest(1, (n - 10000) % 100), n % 1000, 'screen-' || n, '1280x800', '', 'before', 'after',
           'approved', 'ann', 'ann', 0, '', true
    FROM generate_series(1, 20000) AS n;
    INSERT INTO asked_pairs (project_id, pr_number, pair, after_decision)
    SELECT 'growth-' || greatest(1, (n - 100000) % 100), n % 100, md5(n::text), n / 10
    FROM generate_series(1, 120000) AS n;
"""
"""A big project with 10,000 decisions in 1,000 pull requests and 100,000 pairs in 100, among others."""

OLD_SESSIONS = "DELETE FROM sessions WHERE sessions.created_at <"
EXPLAINING = {
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_nested_statements": "on",
    "auto_explain.log_format": "json",
    "auto_explain.log_level": "notice",
}


@dataclass
class Plans:
    """The plans of all statements since the last check."""

    told: list[dict[str, Any]] = field(default_factory=list)

    def hear(self, notice: psycopg.errors.Diagnostic) -> None:
        _, is_plan, plan = (notice.message_primary or "").partition("plan:\n")
        if is_plan:
            self.told.append(json.loads(plan))

    def faults(self, most_rows: float = MOST_ROWS) -> list[str]:
        return [fault for told in self.told for fault in _faults(told, most_rows)]


def _faults(told: dict[str, Any], most_rows: float) -> Iterator[str]:
    for node in _nodes(told["Plan"]):
        table = node.get("Relation Name")
        if node["Node Type"] == "Seq Scan" and table in GROWN:
            yield f"reads all of {table}: {told['Query Text']}"
        elif (rows := _rows_looked_at(node)) > most_rows:
            yield f"looks at {rows} rows of {table}: {told['Query Text']}"


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


def _rows_looked_at(node: dict[str, Any]) -> float:
    if "Scan" not in node["Node Type"]:
        return 0
    looked_at = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    return sum(node.get(name, 0) for name in looked_at) * node.get("Actual Loops", 1)


@pytest.fixture(scope="module")
def filled(postgresql: "PostgreSQL") -> str:
    """Return the address of a database with a lot of data."""
    url = postgresql.new_database()
    engine = open_postgresql(url).engine
    migrate(engine)
    engine.dispose()
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT set_config('growth.images', %s, true), set_config('growth.projects', %s, true)",
            [str(IMAGES), str(PROJECTS)],
        )
        connection.execute(FILL.read_bytes())
        connection.execute(CHANGES)
        connection.execute(REVIEWED)
        connection.execute(OUTBOX)
        connection.execute(GROUPS)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    return url


@pytest.fixture
def plans() -> Plans:
    return Plans()


@pytest.fixture
async def stores(plan_cache_mode: str, filled: str, plans: Plans) -> AsyncIterator[Stores]:
    settings = EXPLAINING | {"plan_cache_mode": plan_cache_mode}
    options = "%20".join(f"-c%20{name}%3D{value}" for name, value in settings.items())
    database = open_postgresql(f"{filled}?options={options}")

    @event.listens_for(database.engine, "connect")
    def listen(connection: "psycopg.Connection[Any]", _: object) -> None:
        connection.add_notice_handler(plans.hear)

    stores = Stores("postgresql", lambda: database)
    stores.project = BIG
    yield stores
    await stores.close()


async def upload_and_delete(stores: Stores) -> None:
    image = await stores.add(uploaded_at=NOW)
    assert await stores.image(image.id)
    assert await stores.records.branches_of(image.id) == set()
    await stores.records.schedule([image.id], NOW)
    assert await stores.records.remove_images([image.id]) == 1


async def refer_to_known_images(stores: Stores) -> None:
    source = await stores.add(uploaded_at=NOW, sha256="0" * 64)
    known = [(source.shot, "0" * 64)]
    added = await stores.records.add_references(BIG.id, source.pr_number, "d" * 40, known, NOW)
    assert added == [True]
    (reference,) = await stores.records.references_to(source.id)
    await stores.records.schedule([source.id], NOW)
    assert await stores.records.remove_images([source.id, reference.id]) == 2


async def show_a_pair(stores: Stores) -> None:
    after, before = await stores.add_pair(uploaded_at=NOW)
    pairs = await stores.comparisons.pairs_at(BIG.id, after.pr_number, after.commit_sha)
    assert pairs[-1][0].id == after.id
    assert await stores.records.before_images([before.id])
    await stores.records.schedule([after.id], NOW)
    assert await stores.records.remove_images([after.id, before.id]) == 1


async def review_noise(stores: Stores) -> None:
    """Review a pull request whose shots alternate on main, and quarantine one of them."""
    name, number = "screen-1", secrets.randbelow(10**9)
    base = await stores.add(branch="main", kind="baseline", name=name, commit_sha="b" * 40, uploaded_at=NOW)
    known = await stores.baselines.reuse(BIG.id, "main", "b" * 40, [(ShotKey(name, "1280x800", ""), "")], NOW)
    assert known == [None]
    image = await stores.add(name=name, pr_number=number, uploaded_at=NOW)
    await stores.comparisons.identify({image.id: "1"})
    result = ShotResult(Verdict.CHANGED, pixels_before="0", pixels_after="1")
    shot = PlannedShot(image.shot, image, ShotBase(base, "b" * 40, is_listed=True), result)
    request = ComparisonRequest(BIG.id, number, image.commit_sha, "main")
    begun = StoredComparison(request, "run", ComparisonState.COMPARED, None, 0, NOW, [shot])
    assert await stores.comparisons.begin(begun)
    assert (await stores.reviews.facts(BIG.id, {number: [image.shot]}, NOW))[number].histories
    quarantine = Quarantine(secrets.token_hex(6), BIG.id, *image.shot, "flaky", "ann", NOW, NOW + 60)
    assert await stores.noise.quarantine(quarantine, 1000)
    assert await stores.noise.end_quarantine(BIG.id, quarantine.id, NOW)
    assert await stores.noise.discard_old(NOW, 500) == 0
    await stores.records.schedule([base.id], NOW)
    await stores.records.close_pr(BIG.id, number, NOW, schedule=True)
    assert await stores.records.remove_images([image.id, base.id]) == 2


async def close(stores: Stores) -> None:
    image = await stores.add(pr_number=secrets.randbelow(10**9))
    await stores.records.close_pr(BIG.id, image.pr_number, NOW, schedule=True, deleted_by="ann")
    assert await stores.records.close_pr(BIG.id, image.pr_number, NOW, schedule=True) == 1
    assert await stores.records.next_scheduled("", 500, BIG.id, image.pr_number)
    assert await stores.records.remove_images([image.id]) == 1


async def look_at_token(stores: Stores) -> None:
    token = a_token(BIG)
    await stores.records.add_token(token)
    assert await stores.records.project_of_token(token.sha256)
    await stores.records.touch_token(token.id, NOW)
    assert await stores.records.revoke_token(token.id, NOW, "ann", BIG.id)
    assert await stores.records.tokens(BIG.id)


async def exchange_token(stores: Stores) -> None:
    """Exchange a token in a project with 20,000 short-lived tokens, among the trusts of all other projects."""
    trust = Trust(secrets.token_hex(6), BIG.id, GITHUB, {"repository": secrets.token_hex(8)}, NOW)
    await stores.trusts.add_trust(trust, anchor := f"repository={trust.id}", 50)
    assert await stores.trusts.is_trusted(GITHUB)
    assert not await stores.trusts.is_trusted("https://ci.example")
    for project, found in (("", 1), (BIG.name, 1), (BIG.id, 1), (f"local/{BIG.name}", 1), ("nobody/x", 0)):
        asked, named = [anchor, "repository=growth/", "sub=repo:"], ProjectReference.parse(project)
        assert len(await stores.trusts.trusts_by_anchor(GITHUB, asked, named)) == found
    short = a_token(BIG, expires_at=NOW - 1, trust_id=trust.id)
    assert await stores.trusts.add_token_of_trust(short)
    await stores.trusts.touch_trust(trust.id, NOW)
    assert await stores.records.project_of_token(short.sha256)
    assert len(await stores.trusts.trusts(BIG.id)) == 21
    assert await stores.records.discard_expired_tokens(NOW, 4000) == 1
    assert await stores.trusts.add_token_of_trust(short)
    assert await stores.trusts.remove_trust(trust.id, BIG.id)


async def join(stores: Stores) -> None:
    """Sign in with groups, and look for a link."""
    session = Session(secrets.token_hex(32), USER, NOW, NOW)
    await stores.people.add_session(session, [f"group-{number}" for number in range(1, 101)], most=0)
    await stores.people.add_session(replace(session, sha256=secrets.token_hex(32)), ["group-1"], most=0)
    assert await stores.links.link("7", NOW)
    assert len(await stores.links.links("growth-7", NOW)) == 4
    assert len(await stores.groups.groups("growth-7")) == 4


async def sign_in(stores: Stores) -> None:
    assert await stores.people.session("0" * 64) is None
    await stores.people.touch_session("0" * 64, NOW)
    await stores.people.end_session("0" * 64)
    await stores.people.end_sessions_of("growth-1000")


async def list_projects(stores: Stores) -> None:
    first = await stores.overview.projects_of(USER, None, 24)
    last = first[-1].project
    assert await stores.overview.projects_of(USER, (last.name, last.id), 24)
    assert await stores.overview.days([summary.project.id for summary in first], NOW // 86_400 - 30)
    assert await stores.overview.project_of(USER, BIG.id)
    assert await stores.overview.summary_of(USER, BIG.id)


async def list_pulls(stores: Stores) -> None:
    for closed in (None, False, True):
        page = await stores.overview.pulls(BIG.id, closed=closed, search="", before=None, limit=30)
        before = (page[-1].last_upload_at, page[-1].pr_number)
        assert await stores.overview.pulls(BIG.id, closed=closed, search="", before=before, limit=30)
        numbers = [pull.pr_number for pull in page]
        assert await stores.comparisons.summaries(BIG.id, numbers) == {}
    assert await stores.overview.biggest_pulls(BIG.id, 10)
    assert await stores.overview.pull(BIG.id, 1)


async def list_images(stores: Stores) -> None:
    page = await stores.overview.shots(BIG.id, 1, None, 10)
    place = page[-1].newest.shot
    assert await stores.overview.shots(BIG.id, 1, place, 10)
    images = await stores.overview.images_of_shot(BIG.id, 1, place, 2**62, 60)
    assert await stores.overview.images(BIG.id, [image.id for image in images])
    assert await stores.overview.tokens(BIG.id, None, 60)
    assert len(await stores.records.images_of_pr(BIG.id, 1, 20)) == 20
    assert (await stores.records.comment_entries(BIG.id, 1, 20))[0] == 50


async def review(stores: Stores) -> None:
    """Ask about a pair in a pull request with 10 decisions and 1,000 pairs, among those of others."""
    pull, reviews = {"pr_number": 50, "uploaded_at": NOW - 20 * 86_400}, SqlReviews(stores.database)
    image, base = await stores.add(**pull), await stores.add(branch="main", kind="baseline")
    changed = ShotResult(Verdict.CHANGED, pixels_before="before", pixels_after=secrets.token_hex(32))
    shot = PlannedShot(image.shot, image, ShotBase(base, base.commit_sha, is_listed=True), changed)
    request = ComparisonRequest(BIG.id, 50, image.commit_sha, "main", (base.commit_sha,))
    state = ComparisonState.COMPARED
    assert await stores.comparisons.begin(StoredComparison(request, "run", state, None, 0, NOW, [shot]))
    assert await reviews.notice(BIG.id, 50) >= 9900
    assert len((await reviews.facts(BIG.id, {50: [image.shot]}, NOW))[50].decisions) == 10
    await stores.records.schedule([image.id, base.id], NOW)
    assert await stores.records.remove_images([image.id, base.id]) == 2


async def sweep_with_due(stores: Stores) -> None:
    """Run a sweep of real images, a third of them due for each of the three reasons.

    The big project gets one due image too. Column statistics alone would predict many more there.
    """
    projects = [a_project(Policy.PR_CLOSE), a_project(Policy.RETAIN_DAYS, 7), a_project(Policy.MANUAL)]
    images = [
        an_image(projects[number % 3], pr_number=number % 9, uploaded_at=NOW - 8 * 86_400)
        for number in range(DUE)
    ]
    for project in projects:
        await stores.add_project(project)
    await _add_all(stores, [*images, an_image(BIG, uploaded_at=NOW - 31 * 86_400)])
    for number in range(9):
        await stores.records.close_pr(projects[0].id, number, NOW, schedule=False)
    await stores.records.schedule([image.id for image in images if image.project_id == projects[2].id], NOW)
    known = (
        await stores.overview.images_of_shot(BIG.id, 1, ShotKey("area-0/screen-0", "1280x800", ""), 2**62, 1)
    )[0]
    with tempfile.TemporaryDirectory() as folder:
        disk = DiskStore(Path(folder))
        for key in (known.key, f"ff/{'f' * 32}.png"):
            await disk.put(key, [b"bytes"])
            os.utime(disk.root / key, (NOW - 7200, NOW - 7200))
        report = await sweep(engines_of(stores.records, disk))
        disk.close()
    assert (report.expired, report.failed, report.orphans) == (DUE + 1, 0, 1)
    assert await stores.records.schedule_due(NOW, DUE) == 0
    assert await stores.records.known_ids({known.id} | {secrets.token_hex(16) for _ in range(DUE)}) == {
        known.id
    }


async def remove_project(stores: Stores) -> None:
    project = await stores.add_project()
    images = [an_image(project) for _ in range(20)]
    await _add_all(stores, images)
    assert await stores.records.retire_project(project.id, NOW, 500) == 20
    assert len(await stores.records.next_scheduled("", 500, project.id)) == 20
    await stores.records.remove_images([image.id for image in images])
    assert await stores.records.retire_project(project.id, NOW, 500) == 0
    assert await stores.records.remove_project(project.id)


async def look_after(stores: Stores) -> None:
    """Run the queries of the sweep and `prshots check`, except for sums over all pull requests."""
    upkeep = stores.upkeep
    page = await upkeep.images_by_id("8", "g", 50)
    assert len(page) == 50
    assert len(await upkeep.active_ids([image.id for image in page])) <= 50
    assert (await upkeep.stored())[0] > 0
    assert await upkeep.count_overdue(NOW - 86_400, 100) <= 100


async def review_and_send(stores: Stores) -> None:
    """Decide, and send what that causes, among 10,000 decisions and 100,000 rows of the outbox."""
    image = await stores.add(pr_number=(number := secrets.randbelow(10**9)), uploaded_at=NOW)
    request = ComparisonRequest(BIG.id, number, image.commit_sha, "main", (), is_complete=True)
    shots = [PlannedShot(image.shot, image, None, ShotResult(Verdict.NEW, pixels_after="1" * 64))]
    state = ComparisonState.COMPARED
    assert await stores.comparisons.begin(StoredComparison(request, "run", state, None, 0, NOW, shots))
    decision = NewDecision(Decision.APPROVED, frozenset({shots[0].pair.key}), "ann")
    reviews = SqlReviews(stores.database)
    assert await reviews.decide(BIG.id, number, decision, NOW)
    facts = await reviews.facts(BIG.id, {pull: [] for pull in (*range(30), number)}, NOW)
    assert len(facts[number].decisions) == 1

    outbox = stores.outbox
    assert len(await outbox.due(NOW, [], 20)) == 20
    claimed = await outbox.claim(BIG.id, number, "one", NOW, NOW + 30)
    assert claimed
    await outbox.finish(claimed, [Attempt(each, error="refused", next_at=NOW) for each in claimed.due], NOW)
    assert await outbox.newer_commit(BIG.id, number) is None
    assert await outbox.count_waiting() >= 200
    assert len((await outbox.failing(BIG.id, 20))[0]) == 20
    assert await outbox.of_pull(BIG.id, number)
    assert await outbox.discard_old(NOW - 30 * 86_400, 50) == 50
    await stores.records.close_pr(BIG.id, number, NOW, schedule=True)
    assert await stores.records.remove_images([image.id]) == 1


async def upload_within_quotas(stores: Stores) -> None:
    limits = [Limit("project", BIG.id, 2**60), Limit("organization", LOCAL_ORGANIZATION, 2**60)]
    image = an_image(BIG, uploaded_at=NOW)
    assert await stores.records.add_image(image, limits=limits)
    assert [await stores.quotas.stored(limit) > 0 for limit in limits] == [True, True]
    assert await stores.usage.owners([image.id])
    assert await stores.usage.of_project(BIG.id, 0) == []
    await stores.usage.discard_days(0)
    assert await stores.records.remove_images([image.id]) == 1


WORK = (
    upload_within_quotas,
    review_and_send,
    upload_and_delete,
    show_a_pair,
    refer_to_known_images,
    review_noise,
    close,
    look_at_token,
    exchange_token,
    sign_in,
    join,
    list_projects,
    list_pulls,
    list_images,
    review,
    sweep_with_due,
    remove_project,
    look_after,
)


async def _add_all(stores: Stores, images: list[Image]) -> None:
    """Add the images in one transaction, as concurrent uploads do."""
    await asyncio.gather(*(stores.records.add_image(image) for image in images))


@pytest.mark.parametrize("plan_cache_mode", ["force_custom_plan", "force_generic_plan"])
@pytest.mark.parametrize("work", WORK)
async def test_no_statement_scans_a_whole_growing_table(
    stores: Stores, plans: Plans, work: Callable[[Stores], Awaitable[object]], plan_cache_mode: str
) -> None:
    """Check both custom plans, made for the given parameters, and generic plans, made for any parameters.

    The driver prepares a statement after a few runs. The server may then plan it only once.
    """
    await work(stores)
    assert plans.told, "the server told no plan"
    for_any_time = OLD_SESSIONS if plan_cache_mode == "force_generic_plan" else "nothing"
    most_rows = 5 * DUE if work is sweep_with_due else MOST_ROWS
    assert [fault for fault in plans.faults(most_rows) if for_any_time not in fault] == []


@pytest.mark.parametrize("plan_cache_mode", ["force_custom_plan", "force_generic_plan"])
async def test_a_search_reads_only_rows_of_its_own_project(stores: Stores, plans: Plans) -> None:
    """A search reads the names of many images, but only those of its own project."""
    for text in ("nothing of that name", "screen-3", "12"):
        await stores.overview.pulls(BIG.id, closed=None, search=text, before=None, limit=30)
    assert len(plans.told) == 3
    assert plans.faults(most_rows=IMAGES / 4) == []


@pytest.mark.parametrize("plan_cache_mode", ["auto"])
async def test_discarding_old_sessions_does_not_scan_the_whole_table(stores: Stores, plans: Plans) -> None:
    """The generic plan reads the whole table. In `auto` mode, the server finds that planning each time is cheaper."""
    for _ in range(15):
        assert await stores.people.discard_old_logins(NOW - 86_400, NOW - 86_400, NOW - 86_400, NOW) == 0
    assert sum(OLD_SESSIONS in told["Query Text"] for told in plans.told) == 15
    assert plans.faults() == []
