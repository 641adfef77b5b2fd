"""Builds the outbox."""

import asyncio

from prshots.server.adapters.forges.delivery import Deliveries
from prshots.server.adapters.forges.forge_opener import ForgeOpener
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.adapters.sql.outbox.outbox import SqlOutbox
from prshots.server.domain.comments.service import Comments
from prshots.server.domain.outbox.models import DeliveryKind
from prshots.server.domain.outbox.service import Outbox
from prshots.server.domain.review.service import Reviews
from prshots.server.observability import metrics


def build_outbox(
    database: Database, forges: ForgeOpener, reviews: Reviews, comments: Comments, woken: asyncio.Event
) -> Outbox:
    return Outbox(
        records=SqlOutbox(database),
        connections=SqlConnections(database),
        forges=Deliveries(forges.open),
        reviews=reviews,
        comments=comments,
        woken=woken,
        on_attempt=_count_attempt,
        on_waiting=metrics.OUTBOX_WAITING.set,
    )


def _count_attempt(kind: DeliveryKind, is_sent: bool) -> None:
    (metrics.OUTBOX_SENT if is_sent else metrics.OUTBOX_FAILED).labels(kind).inc()
