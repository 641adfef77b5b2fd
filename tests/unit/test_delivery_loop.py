"""Whose message is sent next."""

import asyncio
from collections.abc import Collection

from prshots.server.domain.outbox.delivery_loop import DeliveryLoop

MOST = 4


async def test_organizations_with_slow_receivers_leave_slots_to_others() -> None:
    waiting = [f"slow {number}" for number in range(100)]
    sent: list[str] = []
    hang = asyncio.Event()

    async def due(_: int, busy: Collection[str], limit: int) -> list[str]:
        return [queue for queue in waiting if queue.split()[0] not in busy][:limit]

    async def send(queue: str) -> None:
        waiting.remove(queue)
        sent.append(queue)
        if queue.startswith("slow"):
            await hang.wait()

    async def count_waiting() -> int:
        return len(waiting)

    loop = DeliveryLoop(
        due=due,
        send=send,
        limits=lambda queue: {queue.split()[0]: MOST},
        most=MOST,
        count_waiting=count_waiting,
        on_waiting=lambda _: None,
        woken=asyncio.Event(),
    )
    loop._used.add("slow", 30)
    await loop._send_due()
    await asyncio.sleep(0)
    assert sent == ["slow 0", "slow 1", "slow 2"]
    waiting.append("fair 0")
    await loop._send_due()
    await asyncio.sleep(0)
    assert sent[3:] == ["fair 0"]
    hang.set()
    await loop.close()
