"""Samples of stacks: what they name, and what is left out."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiohttp.test_utils import make_mocked_request

from tests.support.answering import answering
from tests.support.waiting import until, until_answered
from vsched.errors import BadInput
from vsched.web.pages.profile import FRAMES_MAX, frame_name, frames_of, profile_route, sample, seconds_of
from vsched.web.serve.routing import Route


@contextmanager
def thread(run: object, *arguments: object) -> Iterator[threading.Event]:
    over = threading.Event()
    started = threading.Thread(target=run, args=(over, *arguments), name="at;work")  # type: ignore[arg-type]
    started.start()
    try:
        yield over
    finally:
        over.set()
        started.join()


def spin(over: threading.Event) -> None:
    while not over.is_set():
        pass


def test_a_thread_at_work_is_seen_and_one_that_waits_is_not() -> None:
    with thread(spin), thread(lambda over: over.wait()):
        found = sample(0.2)
    busy = [stack for stack in found["stacks"] if stack.startswith("at:work;") and "spin (" in stack]
    assert sum(found["stacks"][stack] for stack in busy) > found["samples"] / 2
    assert found["idle"] >= found["samples"]
    assert not any("sample (" in stack for stack in found["stacks"])


def test_frames_are_named_below_their_package_and_bounded() -> None:
    assert frame_name(answering.__wrapped__.__code__).startswith("answering (")  # type: ignore[attr-defined]
    assert frame_name(seconds_of.__code__).startswith("seconds_of (vsched/web/pages/profile.py:")
    assert frame_name(threading.Thread.run.__code__).startswith("Thread.run (threading.py:")

    def deep(left: int) -> list[str]:
        return deep(left - 1) if left else frames_of(sys._getframe())

    assert len(deep(2 * FRAMES_MAX)) == FRAMES_MAX


@pytest.mark.parametrize("text", ["0", "-1", "20.1", "nan", "inf", "long"])
def test_how_long_is_bounded(text: str) -> None:
    with pytest.raises(BadInput):
        seconds_of({"seconds": text})


@pytest.mark.real_time
async def test_while_the_thread_samples_nobody_else_is_answered_even_if_whoever_asked_is_gone() -> None:
    route = profile_route()
    first = asyncio.create_task(asked(route, "0.2"))
    await until(is_sampling)
    first.cancel()
    await asyncio.wait((first,))
    assert first.cancelled()
    assert await asked(route, "0.01") == 503
    await until_answered(lambda: answers(route))


def is_sampling() -> bool:
    return any(frame_name(sample.__code__) in frames_of(frame) for frame in sys._current_frames().values())


async def answers(route: Route) -> bool:
    return await asked(route, "0.01") == 200


async def asked(route: Route, seconds: str) -> int:
    return (await route.answer(make_mocked_request("GET", f"{route.path}?seconds={seconds}"))).status
