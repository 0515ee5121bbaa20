"""Tests of how long something waits: on a loop whose clock jumps to what comes next, and so is never late."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from random import Random
from typing import ParamSpec

from vsched.clock import CLOCK
from vsched.lab.soak.bottle.loop import BottleLoop

P = ParamSpec("P")
EPOCH = 1.78e9
"""When the clock of each loop begins, in seconds."""


class LoopClock:
    """The time of a loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.monotonic = loop.time

    def now(self) -> float:
        return EPOCH + self.monotonic()


def in_virtual_time(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """The test, run at once: what it sleeps passes only on the clock of its loop, which is all that anybody asks."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=lambda: BottleLoop(Random(0), turn_seconds=0.0)) as runner:
            context = copy_context()
            context.run(CLOCK.set, LoopClock(runner.get_loop()))
            runner.run(test(*args, **kwargs), context=context)

    return run
