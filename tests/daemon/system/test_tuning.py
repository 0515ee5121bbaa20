"""How the interpreter is set up, and that nothing of it is left afterwards."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from vsched.daemon.system.tuning import AT_FIRST, GENERATIONS, SWITCH_SECONDS, listed, tuned


@pytest.fixture
def _all_is_collected() -> Iterator[None]:
    """Nothing is put aside before, as it is for tests; and again after."""
    gc.unfreeze()
    yield
    gc.collect()
    gc.freeze()


@pytest.mark.usefixtures("_all_is_collected")
def test_collections_are_rarest_until_the_first_lists_are_in() -> None:
    callbacks = list(gc.callbacks)
    before = gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()
    with tuned():
        assert gc.get_threshold() == AT_FIRST
        kept: list[list[int]] = [[] for _ in range(3 * AT_FIRST[0])]  # whatever a collector looks at
        assert gc.get_freeze_count() > AT_FIRST[0], "what survives a collection is put aside"
        assert not any(map(len, kept))
        assert abs(sys.getswitchinterval() - SWITCH_SECONDS) < 1e-6
        listed()
        assert gc.get_threshold() == GENERATIONS
        frozen = gc.get_freeze_count()
        assert frozen > len(kept)
        gc.collect()
        assert gc.get_freeze_count() <= frozen, "and only until then; what was put aside may be freed"
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == before
    assert gc.callbacks == callbacks
