"""Settings of the interpreter for a scheduler: short thread switches, and a garbage collector that skips the mirror.

They are settings of the whole process, so the command sets them, not the daemon.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_SECONDS = 0.001
"""How long a session may block the event loop; the default of 5 ms delays every binding."""
GENERATIONS = (50_000, 20, 20)
"""Allocations between collections. Few are needed, because nothing in the mirror is in a reference cycle."""
AT_FIRST = (20_000, 20, 20)
"""The same until the first lists are complete: nearly all of their objects stay, so survivors are frozen in steps."""


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


def _put_aside(phase: str, details: dict[str, int]) -> None:
    """Freeze what survives a collection: later ones would stall on a million objects."""
    if phase == "stop":
        gc.freeze()


def _stop_putting_aside() -> None:
    if _put_aside in gc.callbacks:
        gc.callbacks.remove(_put_aside)
