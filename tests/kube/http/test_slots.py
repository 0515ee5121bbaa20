"""Slots that are taken and given back, by tasks that may be cancelled at any moment."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.examples import LEAST, seeds
from vsched.kube.http.slots import Slots
from vsched.together import together


async def test_there_are_so_many_and_no_more() -> None:
    slots = Slots(2)
    assert [slots.take_now() for _ in range(3)] == [True, True, False]
    slots.give()
    assert [slots.take_now() for _ in range(2)] == [True, False]


async def test_those_that_wait_get_them_in_turn_and_before_others() -> None:
    slots, had = Slots(1), list[int]()

    async def take(number: int) -> None:
        await slots.take()
        had.append(number)

    await slots.take()
    waiting = [asyncio.ensure_future(take(number)) for number in range(3)]
    await asyncio.sleep(0)
    for _ in waiting:
        slots.give()
        assert not slots.take_now()
        await asyncio.sleep(0)
    assert had == [0, 1, 2]


async def test_one_that_is_cancelled_while_it_waits_is_passed_over() -> None:
    slots = Slots(1)
    await slots.take()
    waiting = [asyncio.ensure_future(slots.take()) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    slots.give()
    await waiting[1]
    assert not slots.take_now()


async def test_one_that_is_cancelled_as_its_slot_comes_gives_it_back() -> None:
    slots = Slots(1)
    await slots.take()
    waiting = asyncio.ensure_future(slots.take())
    await asyncio.sleep(0)
    slots.give()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert slots.take_now()


@pytest.mark.parametrize("seed", seeds(LEAST, "slots"))
async def test_whoever_is_cancelled_no_slot_is_lost_or_had_twice(seed: int) -> None:
    draw, slots, taken = random.Random(seed), Slots(3), 0

    async def work() -> None:
        nonlocal taken
        await slots.take()
        taken += 1
        assert taken <= 3
        try:
            for _ in range(draw.randrange(3)):
                await asyncio.sleep(0)
        finally:
            taken -= 1
            slots.give()

    tasks = [asyncio.ensure_future(work()) for _ in range(40)]
    for task in tasks:
        if draw.random() < 0.4:
            task.cancel()
        if draw.random() < 0.6:
            await asyncio.sleep(0)
    await asyncio.wait(tasks)
    await together(*(slots.take() for _ in range(3)))
    assert not slots.take_now()
