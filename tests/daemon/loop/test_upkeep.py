"""What is done often and what in calm moments, while things change and while nothing does."""

from __future__ import annotations

import asyncio

from tests.support.virtual_time import in_virtual_time
from vsched.daemon.loop.upkeep import BUSY_SECONDS, CALM_LOOKS, IDLE_SECONDS, Upkeep


class Process:
    """Notes when it was looked after."""

    def __init__(self) -> None:
        self.changes = 0
        self.often: list[float] = []
        self.calm: list[float] = []

    async def looked_after(self, seconds: float, change_seconds: float = 1e9) -> None:
        now = asyncio.get_running_loop().time
        upkeep = Upkeep(lambda: self.changes, lambda: self.often.append(now()), lambda: self.calm.append(now()))
        running = asyncio.create_task(upkeep.run())
        end = now() + seconds
        while now() < end:
            await asyncio.sleep(min(change_seconds, end - now()))
            self.changes += 1
        running.cancel()
        await asyncio.wait((running,))


@in_virtual_time
async def test_while_things_change_it_is_looked_after_often_and_never_thoroughly() -> None:
    process = Process()
    await process.looked_after(30.0, change_seconds=BUSY_SECONDS / 2)
    assert len(process.often) >= 30.0 / BUSY_SECONDS - 2
    assert not process.calm


@in_virtual_time
async def test_where_nothing_changes_it_is_looked_after_seldom_and_now_and_then_thoroughly() -> None:
    process = Process()
    await process.looked_after(60.0)
    assert len(process.often) <= 60.0 / IDLE_SECONDS + 1
    first, second = process.calm[:2]
    assert first > (CALM_LOOKS - 1) * IDLE_SECONDS
    assert second - first > (CALM_LOOKS - 2) * IDLE_SECONDS
