"""The contract of `WebhookRecords` and `WebhookQueues`: who may send, in which order, and what stays."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from prshots.contract.errors import ConflictError, NotFoundError
from prshots.server.adapters.forges.token_encryption import decrypt, encrypt, encrypt_again
from prshots.server.adapters.sql.outbox.causes import note_event
from prshots.server.domain.audit.models import AuditFilter
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION
from prshots.server.domain.webhooks.models import (
    ClaimedMessage,
    Event,
    Format,
    QueueKey,
    Receipt,
    Webhook,
    WebhookSecret,
)
from prshots.server.links import KeyRing
from support import neighbor
from support.contract_stores import Stores
from support.stores_and_records import NOW, ONE_KEY, a_project

BOTH = KeyRing.parse(f"k2:{'ab' * 32},k1:{'0' * 64}")
NEW = KeyRing.parse(f"k2:{'ab' * 32}")
LEASE = 30
LATER = 4_000_000_000  # causes get the time of the clock
ARRIVED = Receipt(204)
SECRET = "whsec_c2VjcmV0"
EVENTS = tuple(event for event in Event if event is not Event.TEST)


def a_webhook(webhook_id: str = "w1", project_id: str = "", events: tuple[Event, ...] = EVENTS) -> Webhook:
    secret = encrypt(WebhookSecret(webhook_id), SECRET, ONE_KEY)
    place = (webhook_id, LOCAL_ORGANIZATION, project_id)
    return Webhook(*place, "https://a.example/hook", Format.STANDARD, events, (secret,), "ann", NOW)


@pytest.fixture
async def here(stores: Stores) -> AsyncIterator[Stores]:
    """Return stores with a webhook for all projects."""
    await stores.webhooks.add(a_webhook(), 20)
    yield stores
    for each in await stores.webhooks.webhooks(LOCAL_ORGANIZATION):
        await stores.webhooks.remove(each)


async def cause(here: Stores, event: Event = Event.DECIDED, pr_number: int = 7, **told: object) -> None:
    project_id = here.project.id
    await here.database.write(
        lambda connection: note_event(
            connection, event, project_id=project_id, pr_number=pr_number, cause=told
        )
    )


def queue(here: Stores, pr_number: int = 7, webhook_id: str = "w1") -> QueueKey:
    return QueueKey(LOCAL_ORGANIZATION, webhook_id, here.project.id, pr_number)


async def claim(
    here: Stores, holder: str = "one", now: int = LATER, pr_number: int = 7
) -> ClaimedMessage | None:
    return await here.queues.claim(queue(here, pr_number), holder, now, now + LEASE)


async def claimed(here: Stores, holder: str = "one", now: int = LATER) -> ClaimedMessage:
    found = await claim(here, holder, now)
    assert found
    return found


async def due(here: Stores, now: int = LATER, busy: tuple[str, ...] = ()) -> list[int]:
    found = await here.queues.due(now, busy, 10)
    return [each.pr_number for each in found if each.project_id == here.project.id]


async def finish(
    here: Stores,
    claim: ClaimedMessage,
    receipt: Receipt = ARRIVED,
    next_at: int | None = None,
    now: int = LATER,
) -> None:
    await here.queues.finish(claim, receipt, next_at, now)


async def test_messages_of_a_pull_request_are_sent_one_after_the_other(here: Stores) -> None:
    await cause(here, number=1)
    await cause(here, number=2)
    await cause(here, pr_number=8)
    assert sorted(await due(here)) == [7, 8]
    first = await claimed(here)
    assert first.message.cause == {"number": 1}
    assert await claim(here, "two") is None
    assert await due(here) == [8]
    assert await due(here, busy=("w1",)) == await due(here, busy=(LOCAL_ORGANIZATION,)) == []
    await finish(here, first, Receipt(500, "", "refused"), next_at=LATER + 60)
    assert await due(here, LATER + 59) == [8]  # the second waits for the first
    again = await claimed(here, now=LATER + 60)
    assert (again.message.id, again.message.attempts) == (first.message.id, 2)
    await finish(here, again, now=LATER + 61)
    assert (await claimed(here, now=LATER + 61)).message.cause == {"number": 2}


async def test_only_one_of_many_claims_at_once_gets_the_message(here: Stores) -> None:
    await cause(here)
    found = await asyncio.gather(*(claim(here, f"holder {number}") for number in range(8)))
    assert len([each for each in found if each]) == 1


async def test_a_message_is_due_again_when_its_lease_ends_and_keeps_its_body(here: Stores) -> None:
    await cause(here)
    dead = await claimed(here)
    assert await here.queues.keep_body(dead, "the body", "")
    assert await due(here, LATER + LEASE - 1) == []
    second = await claimed(here, "two", LATER + LEASE)
    assert (second.message.id, second.message.body) == (dead.message.id, "the body")
    assert not await here.queues.keep_body(dead, "another body", "")
    await finish(here, dead)  # too late
    (listed,) = await here.webhooks.deliveries("w1", None, 10)
    assert (listed.sent_at, listed.attempts) == (None, 2)
    await finish(here, second)
    assert (await here.webhooks.deliveries("w1", None, 10))[0].sent_at == LATER
    webhook = await here.webhooks.find(LOCAL_ORGANIZATION, "w1")
    await here.webhooks.send_again(webhook, second.message.id, LATER)
    assert (await claimed(here)).message.body == "the body"
    assert await here.webhooks.body("w1", second.message.id) == "the body"
    assert await here.queues.count_waiting() > 0
    await here.webhooks.send_test(webhook, NOW)
    (test,) = await here.webhooks.deliveries("w1", None, 1)
    assert test.event is Event.TEST
    await here.webhooks.send_test(webhook, NOW + 5)
    assert (await here.webhooks.deliveries("w1", None, 1))[0] == test._replace(due_at=NOW + 5)
    entries = await here.audit.entries(LOCAL_ORGANIZATION, AuditFilter(action="webhook"), None, 10)
    about = {"id": "w1"}
    assert [(entry.action, entry.details) for entry in entries[:3]] == [
        ("webhook.tested", about),
        ("webhook.tested", about),
        ("webhook.redelivered", about | {"message": second.message.id}),
    ]


async def test_the_gate_that_arrived_last_is_known(here: Stores) -> None:
    for state, error in (("waiting", ""), ("passed", "refused")):
        await cause(here, Event.GATE)
        sending = await claimed(here)
        assert sending.sent_gate in {"", "waiting"}
        await here.queues.keep_body(sending, "{}", state)
        await finish(here, sending, Receipt(200, "", error))
    await cause(here, Event.GATE)
    last = await claimed(here)
    assert last.sent_gate == "waiting"  # the other one never arrived
    await here.queues.discard(last)
    assert await due(here) == []


async def test_a_receiver_that_is_gone_gets_nothing_until_a_change(here: Stores) -> None:
    await cause(here)
    await cause(here)
    sending = await claimed(here)
    await finish(here, sending, Receipt(410, "", "gone", is_gone=True))
    webhook = await here.webhooks.find(LOCAL_ORGANIZATION, "w1")
    assert (webhook.disabled_at, webhook.failing_since) == (LATER, LATER)
    assert await due(here) == []
    await cause(here)
    assert len(await here.webhooks.deliveries("w1", None, 10)) == 2
    await here.webhooks.send_again(webhook, sending.message.id, LATER)
    assert await claim(here) is None  # still disabled
    await here.webhooks.change(webhook)
    await cause(here)
    assert await due(here) == [7]


async def test_a_changed_address_is_not_disabled_by_the_old_receiver(here: Stores) -> None:
    await cause(here)
    await cause(here)
    sending = await claimed(here)
    moved = replace(a_webhook(), url="https://new.example/hook")
    await here.webhooks.change(moved)
    await finish(here, sending, Receipt(410, "", "gone", is_gone=True))
    assert (await here.webhooks.find(LOCAL_ORGANIZATION, "w1")).disabled_at is None
    again = await claimed(here)
    assert (again.message.id, again.webhook.url) == (sending.message.id, moved.url)


async def test_events_go_to_the_webhooks_that_chose_them_in_their_place(here: Stores) -> None:
    other = await here.add_project()
    await here.webhooks.add(a_webhook("w2", here.project.id, (Event.DECIDED,)), 20)
    await here.webhooks.add(a_webhook("w3", other.id), 20)
    await cause(here)
    await cause(here, Event.EXPIRED)
    await here.database.write(
        lambda connection: note_event(connection, Event.QUOTA, organization_id=LOCAL_ORGANIZATION)
    )
    found = {
        name: [each.event for each in await here.webhooks.deliveries(name, None, 10)]
        for name in ("w1", "w2", "w3", neighbor.ID)
    }
    assert found["w1"] == [Event.QUOTA, Event.EXPIRED, Event.DECIDED]
    assert found["w2"] == [Event.DECIDED]
    assert found["w3"] == []


async def test_a_project_takes_its_webhooks_and_messages_along(here: Stores) -> None:
    other = await here.add_project()
    await here.webhooks.add(a_webhook("w2", other.id), 20)
    await here.database.write(lambda connection: note_event(connection, Event.QUOTA, project_id=other.id))
    assert await here.records.remove_project(other.id)
    assert [each.id for each in await here.webhooks.webhooks(LOCAL_ORGANIZATION)] == ["w1"]
    for name in ("w1", "w2"):
        assert await here.webhooks.deliveries(name, None, 10) == []
    with pytest.raises(NotFoundError):
        await here.webhooks.add(a_webhook("w4", a_project().id), 20)


async def test_concurrent_additions_do_not_exceed_the_limit(here: Stores) -> None:
    added = await asyncio.gather(
        *(here.webhooks.add(a_webhook(f"w{number}"), 3) for number in range(2, 8)), return_exceptions=True
    )
    assert [type(each) for each in added].count(ConflictError) == 4
    assert len(await here.webhooks.webhooks(LOCAL_ORGANIZATION)) == 3


async def test_secrets_are_encrypted_again_and_the_one_before_is_kept(here: Stores) -> None:
    webhook = await here.webhooks.find(LOCAL_ORGANIZATION, "w1")
    new = encrypt(WebhookSecret("w1"), "whsec_bmV3", ONE_KEY)
    await here.webhooks.rotate(webhook, new, LATER)
    await encrypt_again(here.webhooks, lambda: BOTH)
    found = (await here.webhooks.find(LOCAL_ORGANIZATION, "w1")).secrets
    assert [(decrypt(each, NEW), each.is_old) for each in found] == [("whsec_bmV3", False), (SECRET, True)]


async def test_old_messages_are_discarded_unless_they_wait(here: Stores) -> None:
    await cause(here)
    sending = await claimed(here)
    now = int(time.time()) + 60
    while await here.queues.discard_old(now, 100):
        pass
    assert len(await here.webhooks.deliveries("w1", None, 10)) == 1
    await finish(here, sending)
    assert await here.queues.discard_old(now, 100) >= 1
    assert await here.webhooks.deliveries("w1", None, 10) == []
