"""The work queue: each key once, now or later, and never too many."""

from __future__ import annotations

import asyncio

from vsched.sim.controllers.queue import WorkQueue


async def test_a_key_that_waits_already_is_not_added_again() -> None:
    queue = WorkQueue()
    for key in ("a", "b", "a"):
        queue.add(key)
    assert await queue.take(10) == ["a", "b"]
    queue.add("a")
    assert await queue.take(10) == ["a"]


async def test_take_waits_for_work() -> None:
    queue = WorkQueue()
    waiting = asyncio.create_task(queue.take(1))
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.add("a")
    assert await asyncio.wait_for(waiting, 30) == ["a"]


async def test_delayed_keys_come_in_the_order_of_their_times() -> None:
    queue = WorkQueue()
    queue.add_after("late", 0.03)
    queue.add_after("soon", 0.01)
    queue.add_after("now", 0)
    found = [(await asyncio.wait_for(queue.take(1), 30))[0] for _ in range(3)]
    assert found == ["now", "soon", "late"]
    assert queue.delayed == 0


async def test_of_two_times_the_earlier_one_counts() -> None:
    queue = WorkQueue()
    queue.add_after("a", 60)
    queue.add_after("a", 0.01)
    queue.add_after("a", 60)
    assert await asyncio.wait_for(queue.take(1), 30) == ["a"]
    assert queue.delayed == 0
    queue.close()


async def test_a_forgotten_key_does_not_come() -> None:
    queue = WorkQueue()
    queue.add_after("gone", 0.005)
    queue.add_after("b", 0.01)
    queue.forget("gone")
    assert await asyncio.wait_for(queue.take(2), 30) == ["b"]


async def test_outdated_timers_do_not_pile_up() -> None:
    queue = WorkQueue()
    for number in range(20_000):
        queue.add_after(f"k{number}", 60)
        queue.forget(f"k{number}")
    assert len(queue._heap) < 5_000
    queue.close()


async def test_a_full_queue_drops_keys_and_says_so() -> None:
    queue = WorkQueue(limit=2)
    for key in "abc":
        queue.add(key)
    assert queue.overflowed
    assert await queue.take(10) == ["a", "b"]
