"""Tests of how long something waits: on a loop whose clock jumps to what comes next, and so is never late."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from random import Random
from typing import ParamSpec

from vsched.lab.soak.bottle.loop import BottleLoop

P = ParamSpec("P")


def in_virtual_time(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """The test, run at once: what it sleeps passes only on the clock of its loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with asyncio.Runner(loop_factory=lambda: BottleLoop(Random(0), turn_seconds=0.0)) as runner:
            runner.run(test(*args, **kwargs))

    return run
