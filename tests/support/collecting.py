"""The garbage collector of the process that runs tests: it never looks through what was there before the first one."""

from __future__ import annotations

import gc

COLLECTIONS = (50_000, 20, 20)
"""Allocations between garbage collections in tests, and those between longer ones."""
unfreeze = gc.unfreeze


def freeze_for_good() -> None:
    """Put aside what there is, and let it be there.

    All tests and the modules they import are a million objects. Commands that run in this process take back at their
    end what they have put aside, and each full collection from then on would take a second.
    """
    gc.freeze()
    gc.unfreeze = _unfreeze_nothing


def _unfreeze_nothing() -> None:
    pass
