"""How the interpreter is set up, and that nothing of it is left afterwards."""

from __future__ import annotations

import gc
import sys

from vsched.daemon.tuning import AT_FIRST, GENERATIONS, SWITCH_SECONDS, listed, tuned


def test_collections_are_rarest_until_the_first_lists_are_in() -> None:
    before = gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()
    with tuned():
        assert gc.get_threshold() == AT_FIRST
        assert abs(sys.getswitchinterval() - SWITCH_SECONDS) < 1e-6
        listed()
        assert gc.get_threshold() == GENERATIONS
        assert gc.get_freeze_count() > 0
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == before
