"""How the interpreter is set up, and that nothing of it is left afterwards."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.collecting import unfreeze
from tests.support.running import scheduling
from tests.support.waiting import until
from vsched.daemon.system.tuning import (
    AT_FIRST,
    CALM_AFTER,
    GENERATIONS,
    LONGEST,
    SWITCH_SECONDS,
    WORTH,
    Collector,
    calm,
    collected,
    large,
    listed,
    tuned,
    young,
)
from vsched.sim.cluster import Cluster


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
        there = gc.get_freeze_count()
        assert there > before[2] + AT_FIRST[0], "what is there is put aside"
        kept: list[list[int]] = [[] for _ in range(3 * AT_FIRST[0])]  # whatever a collector looks at
        assert gc.get_freeze_count() > there + AT_FIRST[0], "what survives a collection is put aside"
        assert not any(map(len, kept))
        assert abs(sys.getswitchinterval() - SWITCH_SECONDS) < 1e-6
        listed()
        assert gc.get_threshold() == (*GENERATIONS, 2 * CALM_AFTER)
        assert gc.get_freeze_count() > len(kept)
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == before
    assert gc.callbacks == callbacks


@pytest.mark.usefixtures("_all_is_collected")
def test_what_was_looked_at_twice_is_put_aside_and_freed_when_nothing_refers_to_it() -> None:
    with tuned():
        listed()
        kept = [[number] for number in range(5_000)]  # whatever a collector looks at
        frozen = gc.get_freeze_count()
        gc.collect(0)
        assert gc.get_freeze_count() <= frozen, "a second look finds what was only in use at the first one"
        young()
        assert gc.get_freeze_count() > frozen + len(kept) - 100
        assert sum(len(gc.get_objects(generation=age)) for age in range(3)) < len(kept)
        del kept
        assert gc.get_freeze_count() < frozen + 1_000


@pytest.mark.usefixtures("_all_is_collected")
def test_what_is_new_is_looked_at_in_turn_for_the_first_and_the_second_time() -> None:
    with tuned():
        listed()
        gc.collect(1)
        before = list(collected.count)
        for _ in range(6):
            young()
        assert [after - count for after, count in zip(collected.count, before, strict=True)] == [3, 3, 0]


@pytest.mark.usefixtures("_all_is_collected")
def test_what_is_large_is_not_looked_through_at_all() -> None:
    with tuned():
        listed()
        count = list(collected.count)
        with large():
            kept = [[number] for number in range(5 * GENERATIONS[0])]
            young()
            calm()
        assert sum(len(gc.get_objects(generation=age)) for age in range(3)) < len(kept)
        assert collected.count == count
        young()
        assert collected.count != count, "then collections go on"
        with pytest.raises(ValueError, match="not made"), large():
            raise ValueError("not made")
        assert gc.isenabled()


@pytest.mark.usefixtures("_all_is_collected")
def test_in_a_calm_moment_everything_is_looked_at_once_much_was_put_aside() -> None:
    with tuned():
        listed()
        loop: list[object] = []
        loop.append(loop)
        died = weakref.ref(held := Held(loop))
        loop.append(held)
        gc.collect(1)  # puts it aside
        del loop, held
        calm()
        assert died() is not None, "so little is not worth it"
        for _ in range(CALM_AFTER):
            gc.collect(1)
        assert died() is not None
        full = collected.count[2]
        calm()
        assert died() is None
        calm()
        assert collected.count[2] == full + 1, "and it counts anew"


@pytest.mark.usefixtures("_all_is_collected")
def test_as_long_as_little_is_found_everything_is_looked_at_ever_more_seldom() -> None:
    with tuned():
        listed()
        waits = []
        for _ in range(5):
            gc.collect()
            waits.append(gc.get_threshold()[2] / (2 * CALM_AFTER))
        assert waits == [2, 4, LONGEST, LONGEST, LONGEST]
        loops: list[list[object]] = [[] for _ in range(WORTH)]
        for number in range(WORTH):
            loops[number].append(loops[number])
        del loops
        gc.collect()
        assert gc.get_threshold()[2] == 2 * CALM_AFTER


@pytest.mark.usefixtures("_all_is_collected")
def test_collections_are_counted_and_timed_by_generation() -> None:
    with tuned():
        before = collected.numbers()["vsched_garbage_collections_total"]
        gc.collect(1)
        found = collected.numbers()
        assert found["vsched_garbage_collections_total"]["1"] == before["1"] + 1
        longest = found["vsched_garbage_collection_longest_seconds"]["1"]
        assert 0 < longest <= found["vsched_garbage_collection_seconds_total"]["1"]


async def test_a_daemon_says_that_it_has_listed_goes_on_and_makes_something_large() -> None:
    told: list[str] = []

    @contextmanager
    def within() -> Iterator[None]:
        told.append("begins")
        yield
        told.append("ends")

    collector = Collector(lambda: told.append("listed"), lambda: told.append("young"), large=within)
    async with Cluster(1) as cluster, scheduling(cluster.url, collector=collector, advise=False) as daemon:
        await daemon.inspection.snapshots.look()
        await until(lambda: "young" in told)
    assert told.count("listed") == 1
    assert [said for said in told if said != "young"] == ["listed", "begins", "ends"]


class Held:
    """Something in a reference cycle."""

    def __init__(self, by: list[object]) -> None:
        self.by = by
