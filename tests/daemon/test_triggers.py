"""How long a change waits for others; when sessions start at all is tested with the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from vsched.daemon.triggers import CALM_SECONDS, LOOKS, STREAM_SECONDS, WIDEST, Reason, Trigger

WINDOW_SECONDS = 0.2


@asynccontextmanager
async def changing(trigger: Trigger) -> AsyncIterator[None]:
    """Something changes again and again while the block runs."""

    async def change() -> None:
        while True:
            trigger.pull()
            await asyncio.sleep(WINDOW_SECONDS / 40)

    task = asyncio.create_task(change())
    try:
        yield
    finally:
        task.cancel()


def now() -> float:
    return asyncio.get_running_loop().time()


async def seconds_until_session(trigger: Trigger, busy_seconds: float = 0.0) -> float:
    began = now()
    assert await trigger.next(busy_seconds) is Reason.CHANGE
    return now() - began


async def test_a_lone_change_does_not_wait_the_window_out() -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)
    trigger.pull()
    assert await seconds_until_session(trigger) < WINDOW_SECONDS * 0.9


@pytest.mark.parametrize(
    ("busy_seconds", "rest_seconds", "waits"),
    [
        pytest.param(0.0, 1.5 * WINDOW_SECONDS, False, id="a window without one is a rest"),
        pytest.param(0.0, 0.5 * WINDOW_SECONDS, True, id="half a window is none"),
        pytest.param(WINDOW_SECONDS, 1.5 * WINDOW_SECONDS, True, id="nor is less than twice the time of the last one"),
    ],
)
async def test_after_a_rest_the_first_change_starts_a_session_at_once_and_those_that_follow_are_gathered(
    busy_seconds: float, rest_seconds: float, waits: bool
) -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)
    asyncio.get_running_loop().call_later(rest_seconds, trigger.pull)
    waited = await seconds_until_session(trigger, busy_seconds) - rest_seconds
    assert (waited >= WINDOW_SECONDS / LOOKS) is waits
    assert waits or waited == pytest.approx(0.0, abs=1e-6)
    async with changing(trigger):
        assert await seconds_until_session(trigger) >= WINDOW_SECONDS * 0.9


async def test_changes_that_keep_coming_are_gathered_until_the_window_is_over() -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)
    async with changing(trigger):
        assert WINDOW_SECONDS * 0.9 <= await seconds_until_session(trigger) < WINDOW_SECONDS * 3


@pytest.mark.parametrize(
    ("busy_seconds", "windows"),
    [
        pytest.param(0.0, 1 / LOOKS, id="one that costs nothing, for one look"),
        pytest.param(WINDOW_SECONDS / 2, 1 / 4, id="one that costs half a window, for half of that"),
        pytest.param(WINDOW_SECONDS * 2, 1.0, id="one that costs two of them, for one"),
    ],
)
async def test_the_costlier_a_session_the_longer_it_waits_for_company_even_if_none_comes(
    busy_seconds: float, windows: float
) -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)
    trigger.pull()
    assert await seconds_until_session(trigger, busy_seconds) == pytest.approx(windows * WINDOW_SECONDS)


async def test_a_session_comes_when_the_last_one_said() -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)
    began = now()

    assert await trigger.next(0.0, WINDOW_SECONDS) is Reason.TIMER
    assert WINDOW_SECONDS * 0.9 <= now() - began < 30.0


async def test_windows_are_longer_while_changes_stream_in_and_short_again_afterwards() -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)

    async def stream() -> None:
        while True:
            trigger.pull()
            await asyncio.sleep(WINDOW_SECONDS / 100)

    trigger.pull()
    streaming = asyncio.create_task(stream())
    waits = [await seconds_until_session(trigger) for _ in range(6)]
    streaming.cancel()
    assert [round(wait / WINDOW_SECONDS, 1) for wait in waits] == [1.0, 2.0, 4.0, WIDEST, WIDEST, WIDEST]
    await asyncio.sleep(3 * WIDEST * WINDOW_SECONDS)
    trigger.pull()
    assert await seconds_until_session(trigger) < WINDOW_SECONDS


async def test_who_waits_for_each_binding_before_the_next_pod_does_not_wait_for_company_however_quick_it_is() -> None:
    trigger = Trigger(60.0, STREAM_SECONDS / 10)
    pause = STREAM_SECONDS / 20
    waits = []
    for _ in range(40):
        asyncio.get_running_loop().call_later(pause, trigger.pull)
        waits.append(await seconds_until_session(trigger) - pause)
    assert max(waits) == pytest.approx(STREAM_SECONDS / 10 / LOOKS, abs=1e-5)


async def test_pods_that_come_while_sessions_last_are_gathered_also_where_they_are_no_flood() -> None:
    trigger, sessions, busy_seconds = Trigger(60.0, STREAM_SECONDS / 10), 0, STREAM_SECONDS / 20

    async def create() -> None:
        for _ in range(100):
            trigger.pull()
            await asyncio.sleep(STREAM_SECONDS / 15)

    creating = asyncio.create_task(create())
    while not creating.done():
        await trigger.next(busy_seconds)
        await asyncio.sleep(busy_seconds)
        sessions += 1
    assert sessions < 30


async def test_a_stream_that_pauses_for_a_usual_window_is_waited_for_no_longer() -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)

    async def stream() -> None:
        while True:
            trigger.pull()
            await asyncio.sleep(WINDOW_SECONDS / 100)

    streaming = asyncio.create_task(stream())
    waits = [await seconds_until_session(trigger) for _ in range(4)]
    assert round(waits[-1] / WINDOW_SECONDS, 1) == WIDEST
    streaming.cancel()
    trigger.pull()
    assert await seconds_until_session(trigger) <= 2 * WINDOW_SECONDS


async def test_a_costly_session_waits_longer_for_company_while_changes_stream_in_and_never_for_long() -> None:
    trigger = Trigger(60.0, STREAM_SECONDS / 20)

    async def stream() -> None:
        while True:
            trigger.pull()
            await asyncio.sleep(0.001)

    streaming = asyncio.create_task(stream())
    await asyncio.sleep(STREAM_SECONDS)
    waits = [await seconds_until_session(trigger, busy) for busy in (0.008, 0.008, 0.08)]
    streaming.cancel()
    assert [round(wait, 2) for wait in waits] == [0.08, 0.08, STREAM_SECONDS]


async def test_what_is_only_to_be_told_waits_for_the_next_session_or_a_little_while() -> None:
    trigger = Trigger(60.0, WINDOW_SECONDS)
    trigger.pull_later()
    trigger.pull_later()
    assert CALM_SECONDS <= await seconds_until_session(trigger) < CALM_SECONDS + WINDOW_SECONDS
    trigger.pull_later()
    trigger.pull()
    assert await seconds_until_session(trigger) < CALM_SECONDS + WINDOW_SECONDS
    assert await trigger.next(due_seconds=30.0) is Reason.TIMER, "that session has told it"
