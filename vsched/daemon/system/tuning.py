"""How the interpreter is set up for a scheduler: short turns between threads, a collector that leaves the mirror be.

A process has one interpreter, so this belongs to the command that owns the process, not to the daemon.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_SECONDS = 0.001
"""How long a session may keep the event loop from running; the default of 5 ms is felt in every binding."""
GENERATIONS = (50_000, 20, 20)
"""Allocations between collections: nothing in the mirror is in a cycle, so there is little to find."""
AT_FIRST = (20_000, 20, 20)
"""The same until the first lists are in: nearly all that they make stays, so it is put aside a little at a time."""


@contextmanager
def tuned() -> Iterator[None]:
    """Set up while the block runs, as it was afterwards."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*AT_FIRST)
    gc.callbacks.append(_put_aside)
    try:
        yield
    finally:
        _stop_putting_aside()
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def listed() -> None:
    """The first lists are in: what they made stays, so no collection need ever look at it again."""
    _stop_putting_aside()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GENERATIONS)


def _put_aside(phase: str, details: dict[str, int]) -> None:
    """What survives a collection is not looked at by later ones: looking at a million objects is a long stall."""
    if phase == "stop":
        gc.freeze()


def _stop_putting_aside() -> None:
    if _put_aside in gc.callbacks:
        gc.callbacks.remove(_put_aside)
