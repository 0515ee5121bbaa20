"""Sessions that are held when they are asked for, and at no other time."""

from __future__ import annotations

import asyncio

from vsched.daemon.loop.stepping import Steps


async def sessions(steps: Steps, held: list[int]) -> None:
    while True:
        await steps.next()
        held.append(len(held))
        await asyncio.sleep(0)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_changes_start_no_session_and_a_step_starts_one() -> None:
    steps, held = Steps(), list[int]()
    task = asyncio.create_task(sessions(steps, held))
    for _ in range(5):
        steps.pull()
    await turns()
    assert held == []
    await steps.step()
    await turns()
    assert held == [0]
    await steps.step()
    assert held == [0, 1]
    task.cancel()


async def test_a_step_before_the_first_session_waits_for_it() -> None:
    steps, held = Steps(), list[int]()
    step = asyncio.create_task(steps.step())
    await turns()
    assert not step.done()
    task = asyncio.create_task(sessions(steps, held))
    await step
    assert held == [0]
    task.cancel()


async def test_once_released_sessions_need_not_be_asked_for() -> None:
    steps, held = Steps(), list[int]()
    task = asyncio.create_task(sessions(steps, held))
    await turns()
    steps.release()
    await turns()
    assert len(held) > 1
    task.cancel()
