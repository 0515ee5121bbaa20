"""How the interpreter is set up, and that nothing of it is left afterwards."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from tests.support.collecting import unfreeze
from vsched.daemon.system.tuning import AT_FIRST, GENERATIONS, SWITCH_SECONDS, THOROUGH_EVERY, listed, tuned


@pytest.fixture
def _all_is_collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is put aside before, as it is for tests; and again after."""
    monkeypatch.setattr(gc, "unfreeze", unfreeze)
    unfreeze()
    yield
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
        gc.collect(1)
        assert gc.get_freeze_count() <= frozen, "from then on, no young ones; what was put aside may be freed"
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == before
    assert gc.callbacks == callbacks


@pytest.mark.usefixtures("_all_is_collected")
def test_full_collections_look_only_at_what_has_come_since_the_one_before() -> None:
    with tuned():
        listed()
        kept = [[number] for number in range(10_000)]  # whatever a collector looks at
        frozen = gc.get_freeze_count()
        gc.collect()
        assert gc.get_freeze_count() > frozen + len(kept) - 1_000, "what has survived is put aside"
        assert len(gc.get_objects(generation=2)) < len(kept)
        del kept
        assert gc.get_freeze_count() < frozen + 1_000, "and freed when nothing refers to it"


@pytest.mark.usefixtures("_all_is_collected")
def test_now_and_then_a_full_collection_looks_at_everything() -> None:
    with tuned():
        listed()
        loop: list[object] = []
        loop.append(loop)
        died = weakref.ref(held := Held(loop))
        loop.append(held)
        gc.collect()  # puts it aside
        del loop, held
        for _ in range(THOROUGH_EVERY):
            gc.collect()
        assert died() is None


class Held:
    """Something in a reference cycle."""

    def __init__(self, by: list[object]) -> None:
        self.by = by
