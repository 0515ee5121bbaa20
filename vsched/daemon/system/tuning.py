"""Settings of the interpreter for a scheduler: short thread switches, and a garbage collector that skips the mirror.

They are settings of the whole process, so the command sets them, not the daemon.
"""

from __future__ import annotations

import gc
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from vsched.clock import thread_time

SWITCH_SECONDS = 0.001
"""How long a session may block the event loop; the default of 5 ms delays every binding."""
THRESHOLDS = 10_000, 1, 1_000_000_000
"""Allocations between collections of what is new; every other one looks at what survived the last one as well, and puts
aside what survives it. None looks at everything by itself: with 140,000 pods that takes half a second."""
_MIDDLE = 1


class Collector(NamedTuple):
    """What a daemon tells the collector of garbage; as it is, nothing."""

    listed: Callable[[], None] = lambda: None
    """The mirror is complete for the first time."""
    calm: Callable[[], None] = lambda: None
    """Called every few hours, if possible while nothing changes."""


class CollectionTimer(ABC):
    """Hears of collections of garbage from the interpreter, and measures them in processor time."""

    _began = 0.0

    def __call__(self, phase: str, details: dict[str, int]) -> None:
        """A collection begins or ends, in any thread, which no other one interrupts."""
        if phase == "start":
            self._began = thread_time()
        else:
            self.ended(details["generation"], thread_time() - self._began)

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


collected = Collected()


@contextmanager
def tuned() -> Iterator[None]:
    """Apply the settings while the block runs; restore the former ones afterwards."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.freeze()  # what is imported stays, and to look at it takes 50 ms
    gc.set_threshold(*THRESHOLDS)
    callbacks = collected, _put_aside
    gc.callbacks.extend(callbacks)
    try:
        yield
    finally:
        for callback in callbacks:
            gc.callbacks.remove(callback)
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def listed() -> None:
    """The first lists are complete: look for garbage in what they left, and put the rest aside."""
    gc.collect()
    gc.freeze()


def calm() -> None:
    """Nobody waits for anything: look at everything, also at what was put aside, for reference cycles in it."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


LEFT_ALONE = Collector()
"""For a daemon in a process that nobody has ``tuned``."""
TUNED = Collector(listed, calm)
"""For a process that is ``tuned``."""


def _put_aside(phase: str, details: dict[str, int]) -> None:
    """Later collections do not look at what survived two, which is freed as soon as nothing refers to it."""
    if phase == "stop" and details["generation"] >= _MIDDLE:
        gc.freeze()
