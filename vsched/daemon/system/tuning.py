"""Settings of the interpreter for a scheduler: short thread switches, and a garbage collector that skips the mirror.

They are settings of the whole process, so the command sets them, not the daemon.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

SWITCH_SECONDS = 0.001
"""How long a session may block the event loop; the default of 5 ms delays every binding."""
GENERATIONS = (50_000, 20, 20)
"""Allocations between collections. Few are needed, because nothing in the mirror is in a reference cycle."""
AT_FIRST = (20_000, 20, 20)
"""The same until the first lists are complete: nearly all of their objects stay, so survivors are frozen in steps."""

THOROUGH_EVERY = 50
"""So many full collections look at what has come since the one before; then one looks at everything."""
_OLDEST = 2
_full_collections = count(1)


@contextmanager
def tuned() -> Iterator[None]:
    """Apply the settings while the block runs; restore the former ones afterwards."""
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
    """The first lists are complete: their objects stay, so no collection needs to visit them again."""
    _stop_putting_aside()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GENERATIONS)
    gc.callbacks.append(_put_old_aside)


def _put_old_aside(phase: str, details: dict[str, int]) -> None:
    """Freeze what survives a full collection, so that the next one looks only at what has come since.

    What is put aside is freed as soon as nothing refers to it. Only cycles would stay, so that now and then a
    collection looks at everything.
    """
    if details["generation"] != _OLDEST:
        return
    if phase == "stop":
        gc.freeze()
    elif next(_full_collections) % THOROUGH_EVERY == 0:
        gc.unfreeze()


def _put_aside(phase: str, details: dict[str, int]) -> None:
    """Freeze what survives a collection: later ones would stall on a million objects."""
    if phase == "stop":
        gc.freeze()


def _stop_putting_aside() -> None:
    for callback in (_put_aside, _put_old_aside):
        if callback in gc.callbacks:
            gc.callbacks.remove(callback)
