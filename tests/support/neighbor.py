"""A second project beside the one that a test works on: same pull requests, branches, commits and shots.

A query that forgets its project finds the neighbor's rows too, and a change that does so alters them. Nothing of the
neighbor's is ever due: it expires nothing by itself, so its rows must be the same after the test.
"""

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, insert, text

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.adapters.sql.database import schema
from prshots.server.adapters.sql.database.database import open_sqlite
from prshots.server.domain.images.models import NO_PULL_REQUEST, ImageKind

ID = "neighbor"
NOW = 1_800_000_000
LONG_AGO, NEVER = NOW - 900 * 86_400, NOW + 9000 * 86_400
UNSEEN = "0123456789abcdef0123456789abcdef01234567"
COMMITS = [
    UNSEEN,
    *(digit * 40 for digit in "0abc"),
    *(hashlib.sha1(name, usedforsecurity=False).hexdigest() for name in (b"1", b"2", b"3", b"4")),
]
NAMES = ["checkout/cart", "cart", "home"]
HASHES = ["0" * 64, "1" * 64, *(hashlib.sha256(shown).hexdigest() for shown in (b"same", b"a", b"1"))]
OPEN_PULLS, CLOSED_PULL = [1, 2, 3, 7, 8], 9
BRANCHES = ["main", "next", "release"]
STAGED = [(branch, repository) for branch in ("fix", "other") for repository in ("", "acme/shop", "eve/shop")]
SHOT = {"viewport": "1280x800", "theme": ""}
OWNED = {
    "organizations": "id",
    "projects": "id",
    "users": "id",
    "members": "user_id",
    "invitations": "organization_id",
    "organization_groups": "organization_id",
    "user_groups": "user_id",
    "invitation_links": "organization_id",
    "sessions": "user_id",
    **{table.name: "project_id" for table in schema.metadata.sorted_tables if "project_id" in table.c},
}
"""The column of each table that tells which rows are the neighbor's."""

TOTALS = (
    (
        "INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit, closed_at, title) "
        "SELECT project_id, pr_number, sum(CASE WHEN kind = 'before' THEN 0 ELSE 1 END), sum(size), "
        "max(uploaded_at), max(commit_sha), max(closed_at), 'Neighbor' "
        "FROM images WHERE project_id = 'neighbor' GROUP BY project_id, pr_number"
    ),
    (
        "INSERT INTO uploads_by_day (project_id, day, uploads, bytes) "
        "SELECT project_id, uploaded_at / 86400, count(*), sum(size) FROM images "
        "WHERE project_id = 'neighbor' AND pr_number > 0 GROUP BY project_id, uploaded_at / 86400"
    ),
    (
        "INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at) "
        "SELECT project_id, sum(images), sum(bytes), "
        "sum(CASE WHEN closed_at IS NULL AND pr_number > 0 THEN 1 ELSE 0 END), max(last_upload_at) "
        "FROM pulls WHERE project_id = 'neighbor' GROUP BY project_id"
    ),
)

Rows = dict[str, list[Any]]


Connection = Any
"""Of the driver of SQLite or PostgreSQL."""


@contextlib.contextmanager
def beside(file: Path) -> Iterator[None]:
    """Add the neighbor to the SQLite file of a running service, and assert that it is never touched."""
    engine = open_sqlite(file)
    fill(engine)
    engine.dispose()
    with unchanged(lambda: sqlite3.connect(file)):
        yield


@contextlib.contextmanager
def unchanged(connect: Callable[[], Connection]) -> Iterator[None]:
    """Assert that what happens leaves the neighbor as it is."""
    with contextlib.closing(connect()) as connection:
        before = found(connection)
    assert all(before.values()), before
    yield
    with contextlib.closing(connect()) as connection:
        after = found(connection)
    changed = [table for table in before if after[table] != before[table]]
    assert {table: after[table] for table in changed} == {table: before[table] for table in changed}


def fill(engine: Engine) -> None:
    """Add the neighbor to a database that does not have it yet."""
    with engine.begin() as connection:
        for table, rows in _rows().items():
            connection.execute(insert(schema.metadata.tables[table]), rows)
        for statement in TOTALS:
            connection.execute(text(statement))


def found(connection: Connection) -> Rows:
    """Return everything that the database has of the neighbor."""
    return {
        table: sorted(
            connection.execute(f"SELECT * FROM {table} WHERE {column} = '{ID}'").fetchall(), key=repr
        )
        for table, column in OWNED.items()
    }


def _rows() -> Rows:
    owner = {"organization_id": ID, "user_id": ID, "role": "owner"}
    user = {"provider": "github", "subject": ID, "login": ID, "name": ID, "avatar_url": ""}
    project = {"organization_id": ID, "name": ID, "policy": "manual", "repository": "https://forge.test/n/n"}
    trust = {"issuer": "https://n.example", "claims": "{}", "anchor": "repository=n", "created_by": ID}
    put_url = {"sha256": ID, "project_id": ID, "token_id": "lasting", "pr_number": 7, **SHOT}
    put_url |= {"name": "cart", "commit_sha": "0" * 40, "content_type": "image/png", "expires_at": NEVER}
    put_url |= {"branch": "fix", "repository": "acme/shop"}
    token = {"label": "ci", "hint": "msr_…", "project_id": ID, "created_at": NOW}
    return {
        "organizations": [{"id": ID, "name": ID, "created_at": NOW}],
        "users": [{"id": ID, "created_at": NOW, **user}],
        "members": [owner],
        "invitations": [owner | {"user_id": "invited", "invited_by": ID, "created_at": NOW}],
        "sessions": [{"sha256": ID, "user_id": ID, "created_at": NEVER, "last_seen_at": NEVER}],
        "projects": [{"id": ID, "created_at": NOW, **project}],
        "trusts": [{"id": ID, "project_id": ID, "created_at": NOW, **trust}],
        "tokens": [
            {"id": "lasting", "sha256": "lasting", "expires_at": None, "trust_id": None, **token},
            {"id": "short", "sha256": "short", "expires_at": NEVER, "trust_id": ID, **token},
        ],
        **_images_and_baselines(),
        **_comparisons(),
        "put_urls": [put_url],
        "upload_keys": [{"project_id": ID, "key": ID, "reply": "{}", "created_at": NEVER}],
        **_review(),
        **_company(),
    }


def _company() -> Rows:
    by, link = {"created_by": ID, "created_at": NEVER}, {"id": ID, "sha256": ID, "expires_at": NEVER}
    actor = {"actor_kind": "person", "actor_id": ID, "actor": ID, "address": "192.0.2.1"}
    act = {"organization_id": ID, "action": "token.created", "target": "ci", "details": "{}"}
    goes_to = {"url": "https://n.example", "format": "standard", "events": "compared", "kid": "k9"}
    delivery = {"id": "msg_n", "webhook_id": ID, "organization_id": ID, "project_id": ID, "pr_number": 7}
    return {
        "audit_log": [{"at": NEVER, "project_id": ID, "project": ID, **actor, **act}],
        "organization_groups": [
            {"organization_id": ID, "provider": "github", "name": ID, "role": "viewer", **by}
        ],
        "user_groups": [{"user_id": ID, "name": ID}],
        "invitation_links": [{"organization_id": ID, "role": "viewer", **link, **by}],
        "share_links": [{"project_id": ID, "pr_number": 7, **link, **by}],
        "webhooks": [{"id": ID, "organization_id": ID, "project_id": ID, "secret": "s", **goes_to, **by}],
        "webhook_deliveries": [
            {**delivery, "event": "compared", "cause": "{}", "created_at": NEVER, "first_due_at": NEVER}
        ],
        "usage_by_day": [{"project_id": ID, "day": 99_999, "kind": "images", "files": 1, "bytes": 1}],
    }


def _review() -> Rows:
    of_pull, by = {"project_id": ID, "pr_number": 7}, {"created_by": ID, "created_at": NEVER}
    shot = {"project_id": ID, "name": "cart", "viewport": "1280x800", "theme": ""}
    pair = {"pixels_before": HASHES[0], "pixels_after": HASHES[1]}
    said = {"decision": "approved", "by": ID, "user_id": ID, "at": NEVER, "note": ""}
    said |= {"is_newest": True, "boxes": '{"regions":[[0,0,9,9]],"gone":[]}'}
    forge = {"forge": "github", "api_url": "https://n.example", "repository": "n/n", "kid": "k9"}
    return {
        "decisions": [{**of_pull, **shot, **pair, **said}],
        "asked_pairs": [{**of_pull, "pair": HASHES[0], "after_decision": 1}],
        "quarantines": [{"id": ID, **shot, **by, "reason": "flaky", "until": NEVER}],
        "quarantined_commits": [{**of_pull, "quarantine_id": ID, "commit_sha": COMMITS[0], "differed": 1}],
        "branch_pixels": [
            {**shot, "branch": "main", "commit_sha": COMMITS[0], "image_id": ID, "pixels": HASHES[0]}
            | {"created_at": NEVER}
        ],
        "connections": [{"project_id": ID, **by, **forge, "secret": "secret"}],
        "outbox": [{**of_pull, "kind": "status", "version": 1, "first_due_at": NEVER}],
    }


def _images_and_baselines() -> Rows:
    ids = (f"{number:032x}" for number in count(1))
    hashes = (HASHES[number % len(HASHES)] for number in count(1))

    def image(pull: int | ImageKind, name: str, commit: str, **changes: object) -> dict[str, object]:
        is_of_pull = isinstance(pull, int)
        place = {"project_id": ID, "pr_number": pull if is_of_pull else NO_PULL_REQUEST}
        kind = "pull_request" if is_of_pull else pull
        about = {"id": next(ids), "kind": kind, "name": name, "commit_sha": commit, "sha256": next(hashes)}
        kept = {"size": 1000, "uploaded_at": NOW, "kid": "k9", "ext": "png"}
        return {**place, **about, **SHOT, **kept, "closed_at": None, "before_id": None, **changes}

    closed = {"uploaded_at": LONG_AGO, "closed_at": LONG_AGO}
    before = image("before", "cart", UNSEEN)
    of_pulls = [
        before,
        image(7, "cart", UNSEEN, before_id=before["id"]),
        *(image(7, "checkout/cart", commit) for commit in COMMITS),
        *(image(number, name, UNSEEN) for number in OPEN_PULLS for name in NAMES),
        *(image(CLOSED_PULL, name, UNSEEN, **closed) for name in NAMES),
    ]
    waiting = [image("staged", "cart", UNSEEN) for _ in STAGED]
    shown = [(branch, commit, name) for branch in BRANCHES for commit in COMMITS for name in NAMES]
    built = [(branch, image("baseline", name, commit)) for branch, commit, name in shown]
    at = {"project_id": ID, "created_at": NOW}
    return {
        "images": [*of_pulls, *waiting, *(each for _, each in built)],
        "baseline_commits": [
            {"branch": branch, "commit_sha": commit, "complete": 1, **at}
            for branch in BRANCHES
            for commit in COMMITS
        ],
        "baselines": [
            {"branch": branch, "own": 1, "image_id": each["id"], **at, **SHOT}
            | {column: each[column] for column in ("commit_sha", "name")}
            for branch, each in built
        ],
        "staged": [
            {"image_id": each["id"], "project_id": ID, "branch": branch, "repository": repository}
            | {"expires_at": NEVER}
            for each, (branch, repository) in zip(waiting, STAGED, strict=True)
        ],
    }


def _comparisons() -> Rows:
    of_pulls = [
        {"project_id": ID, "pr_number": number, "commit_sha": commit}
        for number in (7, 8)
        for commit in COMMITS
    ]
    comparison = {"branch": "main", "commits": "[]", "complete": 1, "run": ID, "missing": 0}
    times = {"first_seq": 10**9, "started_at": NOW, "seen_at": NOW, "state": ComparisonState.COMPARED}
    result = {"verdict": Verdict.REMOVED, "pixels": 1, "reason": "", "difference": ""}
    pair = {"project_id": ID, "engine": 1, "created_at": NEVER}
    return {
        "comparisons": [each | comparison | times for each in of_pulls],
        "compared_shots": [
            {**each, **SHOT, **result, "name": name, "ancestor": 0} for each in of_pulls for name in NAMES
        ],
        "pair_results": [
            {"before_sha256": before, "after_sha256": after, **pair, **result}
            for before in HASHES
            for after in HASHES
        ],
    }


IMAGES = sum(image["kind"] != "before" for image in _rows()["images"])
BYTES = sum(image["size"] for image in _rows()["images"])
LAST_IMAGE = max(image["id"] for image in _rows()["images"])
