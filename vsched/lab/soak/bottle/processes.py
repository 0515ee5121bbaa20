"""The processes in a bottle. They share one event loop; each step of a process knows whose it is by its context.

A process that is killed takes no further step: nothing of it is cleaned up, as after ``kill -9``. One that pauses takes
the steps of its pause when it goes on, as after a stop of its machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from itertools import count
from random import Random
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from vsched.clock import CLOCK
from vsched.randomness import SOURCE

T = TypeVar("T")
EPOCH = 1_700_000_000.0
"""What the wall clock shows when a bottle is opened."""
ASKING_SECONDS = 0.005
"""What a process counts as work between two questions how long it has worked."""
BURIAL_SECONDS, BURIAL_TIMES = 5.0, 5
"""How long what is cancelled may take to end, and how often it is cancelled: some of it ends in order."""

_PROCESS: ContextVar[Process | None] = ContextVar("process", default=None)


def current() -> Process | None:
    """Whose step is taken now; None for the bottle's own."""
    return _PROCESS.get()


def process_in(context: Context | None) -> Process | None:
    """Whose steps are taken in a context; None is the present one."""
    return current() if context is None else context.get(_PROCESS)


class Process:
    """One process: its clock, its random source, and whether it runs."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop, random: Random) -> None:
        self.name = name
        self.random = random
        self.alive = True
        self.skew_seconds = 0.0
        """By how much its wall clock is wrong."""
        self.context = copy_context()
        self.context.run(_PROCESS.set, self)
        self.context.run(SOURCE.set, random)
        self.context.run(CLOCK.set, self)
        self.ends: dict[Callable[[], None], None] = {}
        """What its machine does when it is killed: its connections end."""
        self._loop = loop
        self._asked = 0
        self._pauses = False
        self._late: list[asyncio.Handle] = []
        """Steps that it has not taken."""
        self._tasks: WeakValueDictionary[int, asyncio.Task[Any]] = WeakValueDictionary()
        """In the order in which they were made."""
        self._serials = count()
        self._begun: list[asyncio.Task[Any]] = []
        """Kept, so that what a killed process was about to do is not cleaned up meanwhile."""
        self.buried = False
        """Whether what it has left ends, or has ended."""

    def now(self) -> float:
        """Its wall clock: seconds since the epoch."""
        return EPOCH + self._loop.time() + self.skew_seconds

    def monotonic(self) -> float:
        """Its steady clock."""
        return self._loop.time()

    def thread_time(self) -> float:
        """What it has worked, by how often it has asked: its steps take no time."""
        self._asked += 1
        return self._asked * ASKING_SECONDS

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something as this process."""
        task = self._loop.create_task(work, context=self.context.copy())
        self._begun.append(task)
        return task

    def owns(self, task: asyncio.Task[Any]) -> None:
        """A task is one of this process."""
        self._tasks[next(self._serials)] = task

    def kill(self) -> None:
        """End it between two of its steps."""
        self.alive = False
        for end in tuple(self.ends):
            end()
        self.ends.clear()

    async def bury(self) -> None:
        """Have all that a killed process has left end, which nobody hears of: it would be kept for ever."""
        self.buried = True
        self._loop.call_soon(self.go_on)  # not within this step: those are steps of other tasks
        for _ in range(BURIAL_TIMES):
            left = [task for task in self._tasks.values() if not task.done()]
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left, timeout=BURIAL_SECONDS)
        for task in self._tasks.values():
            if task.done() and not task.cancelled():
                task.exception()  # seen, so that nobody tells of it
        self._begun.clear()

    def pause(self, seconds: float) -> None:
        """Stop it; it goes on after so many seconds."""
        self._pauses = True
        self._loop.call_later(seconds, self.go_on)

    def go_on(self) -> None:
        """Take the steps that it has not taken."""
        late, self._late, self._pauses = self._late, [], False
        for step in late:
            if not step.cancelled():
                step._run()

    def takes(self, step: asyncio.Handle) -> bool:
        """Whether it takes a step now; one that falls into a pause is taken after it."""
        if self.buried:
            return True
        if not self.alive or self._pauses:
            self._late.append(step)
        return self.alive and not self._pauses


def process_of(step: asyncio.Handle) -> Process | None:
    """Whose step it is; None for the bottle's own."""
    return process_in(step._context)  # type: ignore[attr-defined]


def takes(step: asyncio.Handle) -> bool:
    """Whether a step is taken now."""
    process = process_of(step)
    return process is None or process.takes(step)
