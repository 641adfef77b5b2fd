"""References: images of a pull request that have the bytes of another image of their shot.

The other image, the source, belongs to the same pull request, or is the image of a baseline. A reference is
never a source. `due.py` schedules the references of a scheduled source in the same transaction.
"""

import secrets
from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, func, select, update

from prshots.server.adapters.sql.columns import ACTIVE, ACTIVE_OF_PR, IMAGE, OF_BASELINES, given, in_batches
from prshots.server.adapters.sql.database.row_locks import lock_pull
from prshots.server.adapters.sql.database.schema import images
from prshots.server.adapters.sql.images.totals import add_images
from prshots.server.domain.images.models import Image, ShotKey

_NAMED = images.c.name.in_(bindparam("names", expanding=True))
_WITH_BYTES = (
    select(*IMAGE)
    .where(
        *given(images, "project_id"),
        _NAMED,
        images.c.sha256.in_(bindparam("hashes", expanding=True)),
        images.c.source_id.is_(None),
        ACTIVE,
    )
    .order_by(images.c.id)
    .with_for_update(read=True)  # otherwise an expiry could schedule an image that we are about to refer to
)
# The last image found is the source. A baseline's image outlives the pull request's own images.
_SOURCES = (_WITH_BYTES.where(*given(images, "pr_number")), _WITH_BYTES.where(OF_BASELINES))
_AT_COMMIT = (
    select(*IMAGE)
    .where(*ACTIVE_OF_PR, _NAMED, func.lower(images.c.commit_sha) == bindparam("commit_sha"))
    .order_by(images.c.seq)
)
_REOPEN = (
    update(images).where(images.c.id.in_(bindparam("source_ids", expanding=True))).values(closed_at=None)
)


def add_references(
    connection: Connection,
    project_id: str,
    pr_number: int,
    commit_sha: str,
    shots: Sequence[tuple[ShotKey, str]],
    *,
    now: int,
) -> list[bool]:
    """Give a commit the images whose bytes are known. Return whether those of each shot are."""
    lock_pull(connection, project_id, pr_number)
    asked = {"project_id": project_id, "pr_number": pr_number, "commit_sha": commit_sha.lower()}
    sources: dict[tuple[ShotKey, str | None], Image] = {}
    newest: dict[ShotKey, Image] = {}
    for some in in_batches(shots):
        named = asked | {"names": sorted({shot.name for shot, _ in some})}
        wanted = named | {"hashes": sorted({sha256 for _, sha256 in some})}
        for query in _SOURCES:
            for row in connection.execute(query, wanted):
                source = Image(*row)
                sources[source.shot, source.sha256] = source
        for row in connection.execute(_AT_COMMIT, named):
            image = Image(*row)
            newest[image.shot] = image
    wanted_last = {shot: sha256 for shot, sha256 in shots if (shot, sha256) in sources}
    added = [
        sources[shot, sha256]
        for shot, sha256 in wanted_last.items()
        if not _is_shown(newest.get(shot), sha256)
    ]
    if added:
        add_images(connection, [_reference(source, pr_number, commit_sha, now) for source in added], {})
    # Otherwise the policy for closed pull requests would delete a source of one that is open again.
    if closed := [source.id for source in added if source.closed_at is not None]:
        connection.execute(_REOPEN, {"source_ids": closed})
    return [known in sources for known in shots]


def _is_shown(newest: Image | None, sha256: str) -> bool:
    """Return whether the commit already has these bytes. Images of a closed pull request don't reopen it."""
    return newest is not None and newest.sha256 == sha256 and newest.closed_at is None


def _reference(source: Image, pr_number: int, commit_sha: str, now: int) -> Image:
    return source._replace(
        id=secrets.token_hex(16),
        pr_number=pr_number,
        kind="pull_request",
        commit_sha=commit_sha,
        size=0,
        uploaded_at=now,
        before_id=None,
        source_id=source.id,
    )
