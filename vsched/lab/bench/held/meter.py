"""Measures each call of an event loop in processor time of its thread, and looks at what runs in those that take long.

Wall time would count what other processes and threads take, too. ``MeteredLoop`` is uvloop with its calls measured, and
the data that its connections receive. A thread looks at the stack of a call that takes long, so that a note says where.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextvars import Context
from functools import wraps
from typing import Any, NamedTuple, TypeVarTuple

import msgspec
import uvloop

from vsched.daemon.system.tuning import CollectionTimer
from vsched.lab.bench.held.stacks import Stacks

T = TypeVarTuple("T")

LONG_SECONDS = 0.003
"""Calls that take as long are noted."""
LOOK_SECONDS = 0.002
DEEP = 6
"""At most so many functions of the package are named, the innermost ones."""
RECEIVING = ("data_received", "buffer_updated", "eof_received", "connection_lost")

CALL, THREAD, COLLECTION = "call", "thread", "collection"


class Note(msgspec.Struct, frozen=True):
    """Something that took long."""

    kind: str
    """A call of the loop, a thread that kept the interpreter to itself, or a collection of garbage."""
    at: float
    """When it ended, by the steady clock that all processes share."""
    seconds: float
    """Of processor time."""
    name: str
    where: tuple[str, ...] = ()
    """The functions of the package in which most of the time was spent, outermost first."""


class Looks(NamedTuple):
    """What was seen of one call."""

    number: int
    functions: Counter[str]
    depths: dict[str, int]


class Meter:
    """Measures one call at a time, all in the thread of the loop."""

    def __init__(self, tell: Callable[[Note], None]) -> None:
        self._tell = tell
        self.number = 0
        """Of the call under way, or of the last one."""
        self.began: float | None = None
        """The processor time of the thread when the call under way began."""
        self.looks = Looks(0, Counter(), {})

    def run(self, call: Callable[..., object], *arguments: Any) -> object:
        """Make a call of the loop."""
        if self.began is not None:  # a part of the call under way
            return call(*arguments)
        self.number += 1
        self.began = began = time.thread_time()
        try:
            return call(*arguments)
        finally:
            self.began = None
            seconds = time.thread_time() - began
            if seconds >= LONG_SECONDS:
                self._tell(Note(CALL, time.perf_counter(), seconds, name_of(call), self._where()))

    def _where(self) -> tuple[str, ...]:
        looks = self.looks
        return most_of(looks) if looks.number == self.number else ()

    def look(self, functions: Iterable[str], number: int) -> None:
        """Count what runs in the call of this number, outermost first; called by another thread."""
        looks = self.looks
        if looks.number != number:
            looks = self.looks = Looks(number, Counter(), {})
        for depth, function in enumerate(functions):
            looks.functions[function] += 1
            looks.depths.setdefault(function, depth)


def most_of(looks: Looks) -> tuple[str, ...]:
    """The functions that were under way in more than half of the looks, outermost first."""
    most = max(looks.functions.values(), default=0)
    often = [function for function, count in looks.functions.items() if 2 * count > most]
    return tuple(sorted(often, key=lambda function: looks.depths[function])[-DEEP:])


def name_of(call: Callable[..., object]) -> str:
    """A task's name, else that of the function."""
    task = getattr(call, "__self__", None)
    if isinstance(task, asyncio.Task):
        coroutine = task.get_coro()
        return f"{getattr(coroutine, '__qualname__', coroutine)} ({task.get_name()})"
    return str(getattr(call, "__qualname__", call))


class MeteredLoop(uvloop.Loop):
    """uvloop, with each call measured."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter
        self._known: set[type] = set()

    def call_soon(self, callback: Callable[[*T], object], *args: *T, context: Context | None = None) -> asyncio.Handle:
        return super().call_soon(self._meter.run, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[*T], object], *args: *T, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon_threadsafe(self._meter.run, callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[[*T], object], *args: *T, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_later(delay, self._meter.run, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*T], object], *args: *T, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_at(when, self._meter.run, callback, *args, context=context)

    async def create_connection(self, protocol_factory: Callable[[], Any], *args: Any, **options: Any) -> Any:
        return await super().create_connection(self._measured(protocol_factory), *args, **options)

    async def create_server(self, protocol_factory: Callable[[], Any], *args: Any, **options: Any) -> Any:
        return await super().create_server(self._measured(protocol_factory), *args, **options)

    def _measured(self, factory: Callable[[], Any]) -> Callable[[], Any]:
        def make() -> Any:
            protocol = factory()
            self._measure(type(protocol))
            return protocol

        return make

    def _measure(self, kind: type) -> None:
        """Measure what connections of this kind receive, which uvloop hands over without a call of the loop."""
        if kind in self._known:
            return
        self._known.add(kind)
        for name in RECEIVING:
            if name in vars(kind):
                setattr(kind, name, measured(vars(kind)[name], self._meter))


def measured(method: Callable[..., object], meter: Meter) -> Callable[..., object]:
    """The same method, measured."""

    @wraps(method)
    def run(*arguments: Any) -> object:
        return meter.run(method, *arguments)

    return run


class Watcher:
    """A thread that looks at calls that take long, and at threads that let no other one run."""

    def __init__(self, meter: Meter, tell: Callable[[Note], None]) -> None:
        self._meter = meter
        self._tell = tell
        self._main = threading.main_thread().ident
        self._stopped = threading.Event()
        self._stacks = Stacks()
        self._used: dict[int, float] = {}
        """Processor time of the other threads at the last look."""

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def start(self) -> None:
        """Look until ``stop``, or until the process ends."""
        threading.Thread(target=self._run, name="watcher", daemon=True).start()

    def _run(self) -> None:
        assert self._main is not None
        clock, own = time.pthread_getcpuclockid(self._main), threading.get_ident()
        while not self._stopped.wait(LOOK_SECONDS):
            number, began = self._meter.number, self._meter.began
            if began is not None and time.clock_gettime(clock) - began > LOOK_SECONDS:
                self._meter.look(self._stacks.read().get(self._main, ()), number)
            self._others(own)
        self._stacks.close()

    def _others(self, own: int) -> None:
        """A thread that has used more than the pause has kept this one from running."""
        used: dict[int, float] = {}
        for thread in threading.enumerate():
            if thread.ident in (None, own, self._main):
                continue
            assert thread.ident is not None
            try:
                used[thread.ident] = now = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
            except OSError:  # it has ended
                continue
            seconds = now - self._used.get(thread.ident, now) - LOOK_SECONDS
            if seconds >= LONG_SECONDS:
                where = self._stacks.read().get(thread.ident, [])[-DEEP:]
                self._tell(Note(THREAD, time.perf_counter(), seconds, thread.name, tuple(where)))
        self._used = used


class Collections(CollectionTimer):
    """Measures collections of garbage, in whichever thread they come."""

    def __init__(self, tell: Callable[[Note], None]) -> None:
        self._tell = tell

    def ended(self, generation: int, seconds: float) -> None:
        name = f"generation {generation} in {threading.current_thread().name}"
        self._tell(Note(COLLECTION, time.perf_counter(), seconds, name))
