"""Coalescing: the latest value of a key, when it is due, at a bounded rate."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.waiting import PATIENCE_SECONDS, until
from vsched.writes.limits import Attempts, TokenBucket
from vsched.writes.workqueue import AT_ONCE, Workqueue, WorkqueueSettings

FAST = WorkqueueSettings(workers=2, per_second=1e6, burst=1e6)


class Wrote:
    """What a lane wrote, and a door it may be kept waiting at."""

    def __init__(self) -> None:
        self.values: list[tuple[str, int]] = []
        self.door = asyncio.Event()
        self.door.set()

    async def __call__(self, key: str, value: int) -> None:
        self.values.append((key, value))
        await self.door.wait()


@asynccontextmanager
async def lane_of(settings: WorkqueueSettings = FAST) -> AsyncIterator[tuple[Workqueue[str, int], Wrote]]:
    wrote = Wrote()
    workqueue: Workqueue[str, int] = Workqueue(settings, wrote, asyncio.get_running_loop().time)
    task = asyncio.create_task(workqueue.run())
    try:
        yield workqueue, wrote
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def test_the_latest_value_is_written_once() -> None:
    async with lane_of() as (workqueue, wrote):
        for value in range(5):
            workqueue.put("a", value, 0.02)
        await until(lambda: not workqueue.busy)
        assert wrote.values == [("a", 4)]


async def test_a_value_waits_until_it_is_due_and_a_later_one_does_not_put_it_off() -> None:
    async with lane_of() as (workqueue, wrote):
        workqueue.put("a", 1, 1.0)
        workqueue.put("a", 2, 10.0)
        await asyncio.sleep(0.99)
        assert wrote.values == []
        await asyncio.sleep(0.02)
        assert wrote.values == [("a", 2)]


async def test_a_value_that_is_due_sooner_hurries_the_one_that_waits() -> None:
    async with lane_of() as (workqueue, wrote):
        workqueue.put("a", 1, 10.0)
        workqueue.put("a", 2, 1.0)
        await asyncio.sleep(1.01)
        assert wrote.values == [("a", 2)]
        assert not workqueue.busy


async def test_what_changes_while_it_is_written_is_written_again_and_never_at_once() -> None:
    async with lane_of() as (workqueue, wrote):
        wrote.door.clear()
        workqueue.put("a", 1)
        await until(lambda: wrote.values)
        workqueue.put("a", 2)
        workqueue.put("a", 3)
        workqueue.put("b", 1)
        await until(lambda: len(wrote.values) == 2)
        assert wrote.values == [("a", 1), ("b", 1)]
        wrote.door.set()
        await until(lambda: not workqueue.busy)
        assert wrote.values[2:] == [("a", 3)]


async def test_what_is_discarded_is_not_written() -> None:
    async with lane_of() as (workqueue, wrote):
        workqueue.put("a", 1, 0.01)
        workqueue.put("b", 1, 0.01)
        workqueue.discard("a")
        await until(lambda: not workqueue.busy)
        assert wrote.values == [("b", 1)]


@pytest.mark.parametrize("discarded", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
@pytest.mark.parametrize("hurried", [False, True])
async def test_what_is_left_behind_many_that_were_discarded_is_written(discarded: int, hurried: bool) -> None:
    async with lane_of() as (workqueue, wrote):
        wait_seconds = 1000.0 if hurried else 0.01
        for number in range(discarded):
            workqueue.put(f"gone {number}", number, wait_seconds)
        workqueue.put("left", 1, wait_seconds)
        for number in range(discarded):
            workqueue.discard(f"gone {number}")
        if hurried:
            assert await workqueue.drain(PATIENCE_SECONDS) == 0
        await until(lambda: not workqueue.busy)
        assert wrote.values == [("left", 1)]
        workqueue.put("next", 2)
        await until(lambda: not workqueue.busy)
        assert wrote.values == [("left", 1), ("next", 2)]


async def test_a_full_lane_turns_new_keys_away_but_takes_news_of_old_ones() -> None:
    workqueue: Workqueue[str, int] = Workqueue(WorkqueueSettings(1, 1.0, 1.0, limit=1), Wrote())
    assert workqueue.put("a", 1)
    assert not workqueue.put("b", 1)
    assert workqueue.put("a", 2)
    assert (workqueue.get("a"), workqueue.get("b"), workqueue.refused, len(workqueue)) == (2, None, 1, 1)


async def test_the_rate_is_kept() -> None:
    async with lane_of(WorkqueueSettings(workers=4, per_second=1.0, burst=2.0)) as (workqueue, wrote):
        for number in range(8):
            workqueue.put(f"k{number}", number)
        written = []
        for _ in range(4):
            await asyncio.sleep(0.5)
            written.append(len(wrote.values))
            await asyncio.sleep(0.5)
        assert written == [2, 3, 4, 5]


async def test_draining_writes_what_is_not_due_yet() -> None:
    async with lane_of(WorkqueueSettings(workers=2, per_second=1.0, burst=1.0)) as (workqueue, wrote):
        for number in range(10):
            workqueue.put(f"k{number}", number, 60.0)
        assert await workqueue.drain(2.0) == 0
        assert len(wrote.values) == 10


async def test_draining_gives_up_at_the_deadline() -> None:
    async with lane_of() as (workqueue, wrote):
        wrote.door.clear()
        for number in range(5):
            workqueue.put(f"k{number}", number)
        assert await workqueue.drain(0.02) == 5
        wrote.door.set()


def test_a_bucket_gives_its_burst_then_its_rate() -> None:
    now = 0.0
    bucket = TokenBucket(10.0, 3.0, lambda: now)
    assert [bucket.try_take() for _ in range(4)] == [True, True, True, False]
    now = 0.1
    assert [bucket.try_take() for _ in range(2)] == [True, False]


@given(
    failures=st.integers(1, 60),
    asked=st.floats(0, 1e6),
    ceiling=st.floats(0.1, 100.0),
)
def test_a_back_off_never_exceeds_its_bounds(failures: int, asked: float, ceiling: float) -> None:
    back_off = Attempts(first_seconds=0.05, ceiling_seconds=ceiling).back_off()
    for _ in range(failures):
        assert 0.025 <= back_off.next_seconds(asked) <= 5.0 * ceiling
