"""Settings of the interpreter for a scheduler: short thread switches, and a garbage collector that skips the mirror.

They are settings of the whole process, so the command sets them, not the daemon.
"""

from __future__ import annotations

import gc
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple

SWITCH_SECONDS = 0.001
"""How long a session may block the event loop; the default of 5 ms delays every binding."""
GENERATIONS = (3_500, 0)
"""Allocations between collections. None takes long, because each looks only at what has come since: what survives two
of them is put aside, and full ones are rare. Python subtracts what is freed, however old it is: where objects are
replaced by new ones, ``young`` has to see to it that not too many are new."""
AT_FIRST = (10_000, 20, 20)
"""The same until the first lists are complete: nearly all of their objects stay, so survivors are frozen in steps."""
CALM_AFTER = 25_000
"""So often something has been put aside until everything is looked at in a calm moment, for reference cycles in it.

That takes a third of a second with 140,000 pods. After twice as often it is looked at in any case."""
WORTH, LONGEST = 10_000, 8
"""As long as fewer objects are found, twice as much is put aside before the next time, at most so many times.
So it is a few hours at most, because what makes cycles may begin at any time."""

_YOUNGEST, _MIDDLE, _OLDEST = 0, 1, 2


class Collector(NamedTuple):
    """What a daemon tells the collector of garbage; as it is, nothing."""

    listed: Callable[[], None] = lambda: None
    """The mirror is complete for the first time."""
    young: Callable[[], None] = lambda: None
    """Called several times a second."""
    calm: Callable[[], None] = lambda: None
    """Called now and then while nothing changes."""
    large: Callable[[], AbstractContextManager[object]] = nullcontext
    """Around what makes a large copy, in its thread."""


class CollectionTimer(ABC):
    """Hears of collections of garbage from the interpreter, and measures them in processor time."""

    _began = 0.0

    def __call__(self, phase: str, details: dict[str, int]) -> None:
        """A collection begins or ends, in any thread, which no other one interrupts."""
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.ended(details["generation"], time.thread_time() - self._began)

    @abstractmethod
    def ended(self, generation: int, seconds: float) -> None:
        """A collection has ended, in the thread where it was."""


class Collected(CollectionTimer):
    """How often the interpreter has looked for garbage, and how long that took, by generation."""

    def __init__(self) -> None:
        self.count = [0, 0, 0]
        self.seconds = [0.0, 0.0, 0.0]
        self.longest_seconds = [0.0, 0.0, 0.0]

    def ended(self, generation: int, seconds: float) -> None:
        self.count[generation] += 1
        self.seconds[generation] += seconds
        self.longest_seconds[generation] = max(self.longest_seconds[generation], seconds)

    def numbers(self) -> Mapping[str, Mapping[str, float]]:
        """For metrics: by name, then by generation."""
        return {
            "vsched_garbage_collections_total": {str(age): float(count) for age, count in enumerate(self.count)},
            "vsched_garbage_collection_seconds_total": {str(age): spent for age, spent in enumerate(self.seconds)},
            "vsched_garbage_collection_longest_seconds": {
                str(age): longest for age, longest in enumerate(self.longest_seconds)
            },
        }


class Aside:
    """Puts what survives aside, so that no collection looks at it again but a full one, which looks at everything.

    What is put aside is freed as soon as nothing refers to it. Only reference cycles would stay.
    """

    def __init__(self) -> None:
        self.times = 0
        """How often something was put aside since the last full collection."""
        self.patience = 1
        """How many times as long as at first it may take until the next one."""

    def __call__(self, phase: str, details: dict[str, int]) -> None:
        generation = details["generation"]
        if phase == "start":
            if generation == _OLDEST:
                self.times = 0
                gc.unfreeze()
        elif generation >= _MIDDLE:
            if generation == _OLDEST:
                self.wait(1 if details["collected"] >= WORTH else min(2 * self.patience, LONGEST))
            self.times += generation == _MIDDLE
            gc.freeze()

    @property
    def due(self) -> bool:
        """Whether enough is aside to look at everything in a calm moment."""
        return self.times >= CALM_AFTER * self.patience

    def wait(self, patience: int) -> None:
        """So long until the next full collection."""
        self.patience = patience
        gc.set_threshold(*GENERATIONS, 2 * CALM_AFTER * patience)


collected = Collected()
_aside = Aside()


@contextmanager
def tuned() -> Iterator[None]:
    """Apply the settings while the block runs; restore the former ones afterwards."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is imported stays, and to look at it takes 50 ms
    gc.set_threshold(*AT_FIRST)
    gc.callbacks.append(collected)
    gc.callbacks.append(_put_aside)
    try:
        yield
    finally:
        _stop(_put_aside, _aside, collected)
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def listed() -> None:
    """The first lists are complete: their objects stay, so no collection needs to visit them again."""
    _stop(_put_aside, _aside)
    gc.collect()
    gc.freeze()
    _aside.wait(1)
    gc.callbacks.append(_aside)


def young() -> None:
    """Look for garbage among what has come since the last time; what has been looked at twice is put aside."""
    if gc.isenabled():  # else something large is being made
        gc.collect(_MIDDLE if gc.get_count()[1] else _YOUNGEST)


@contextmanager
def large() -> Iterator[None]:
    """What the block makes is large and stays for a while: no collection but a full one is to look through it.

    To look at what a hundred thousand entries refer to takes ten milliseconds, whether these are new or not.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def calm() -> None:
    """Nobody waits for anything: look at everything, if much has been put aside since that was done last."""
    if _aside.due and gc.isenabled():
        gc.collect()


LEFT_ALONE = Collector()
"""For a daemon in a process that nobody has ``tuned``."""
TUNED = Collector(listed, young, calm, large)
"""For a process that is ``tuned``."""


def _put_aside(phase: str, details: dict[str, int]) -> None:
    """Freeze what survives a collection: later ones would stall on a million objects."""
    if phase == "stop":
        gc.freeze()


def _stop(*callbacks: Callable[[str, dict[str, int]], None]) -> None:
    for callback in callbacks:
        if callback in gc.callbacks:
            gc.callbacks.remove(callback)
