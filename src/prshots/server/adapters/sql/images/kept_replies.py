"""The replies to uploads with an `Idempotency-Key`. A repeated upload gets the first reply again."""

import json
from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Connection, select, text

from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import upload_keys
from prshots.server.domain.images.models import KEPT_REPLY_SECONDS, KeptReply

FIND = Prepared(
    select(upload_keys.c.reply, upload_keys.c.created_at).where(*given(upload_keys, "project_id", "key"))
)
# The same SQL for SQLite and PostgreSQL, where SQLAlchemy has two different constructs. It waits for another
# transaction that is adding the same key. An old reply, which the sweep hasn't removed yet, is replaced.
_KEEP = text(
    "INSERT INTO upload_keys (project_id, key, reply, created_at) "
    "VALUES (:project_id, :key, :reply, :created_at) ON CONFLICT (project_id, key) DO UPDATE SET "
    "reply = excluded.reply, created_at = excluded.created_at WHERE upload_keys.created_at <= :too_old"
)


def keep_replies(connection: Connection, replies: Iterable[KeptReply]) -> list[KeptReply]:
    """Keep these replies. Return those whose key already has one.

    Locks the keys in their order, before any other row.
    """
    in_order = sorted(replies, key=lambda kept: (kept.project_id, kept.key))
    return [kept for kept in in_order if not connection.execute(_KEEP, _row(kept)).rowcount]


def _row(kept: KeptReply) -> dict[str, object]:
    reply = {name: value for name, value in asdict(kept.reply).items() if value is not None}
    return {
        "project_id": kept.project_id,
        "key": kept.key,
        "reply": json.dumps(reply),
        "created_at": kept.created_at,
        # A minute less than a day: a reply that is too young to replace can still be found afterwards.
        "too_old": kept.created_at - KEPT_REPLY_SECONDS + 60,
    }
