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
    Aside,
    Collected,
    Collector,
    calm,
    collected,
    large,
    listed,
    tuned,
    young,
)
from vsched.sim.cluster import Cluster


class Held:
    """Something that may be in a reference cycle."""

    by: object = None


def in_a_cycle() -> weakref.ref[Held]:
    """Something that only a look at it frees."""
    held = Held()
    held.by = held
    return weakref.ref(held)


def is_aside(something: object) -> bool:
    """Whether no collection looks at it but a full one."""
    return not any(one is something for one in gc.get_objects())


@pytest.fixture
def _all_is_collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A full collection looks at everything, which it does not in tests otherwise."""
    monkeypatch.setattr(gc, "unfreeze", unfreeze)
    yield
    gc.freeze()


def test_collections_are_rarest_until_the_first_lists_are_in() -> None:
    callbacks = list(gc.callbacks)
    before = gc.get_threshold(), sys.getswitchinterval()
    with tuned():
        assert gc.get_threshold() == AT_FIRST
        assert collected in gc.callbacks
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
        held = Held()
        assert not is_aside(held)
        gc.collect(0)
        assert is_aside(held), "what survives a collection is put aside"
        listed()
        assert gc.get_threshold() == (*GENERATIONS, 2 * CALM_AFTER)
        assert collected in gc.callbacks
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    assert gc.callbacks == callbacks


def test_what_was_looked_at_twice_is_put_aside_and_freed_when_nothing_refers_to_it() -> None:
    with tuned():
        listed()
        gc.collect(1)
        held = Held()
        gc.collect(0)
        assert not is_aside(held), "a second look finds what was only in use at the first one"
        young()
        assert is_aside(held)
        there = weakref.ref(held)
        del held
        assert there() is None


def test_what_is_large_is_not_looked_through_at_all() -> None:
    with tuned():
        listed()
        with large():
            held, died = Held(), in_a_cycle()
            young()
            calm()
            assert died() is not None
        assert is_aside(held)
        died = in_a_cycle()
        young()
        young()
        assert died() is None, "then collections go on"
        with pytest.raises(ValueError, match="not made"), large():
            raise ValueError("not made")
        assert gc.isenabled()


@pytest.mark.usefixtures("_all_is_collected")
def test_in_a_calm_moment_everything_is_looked_at_once_much_was_put_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vsched.daemon.system.tuning.CALM_AFTER", 100)
    with tuned():
        listed()
        held = Held()
        held.by = held
        died = weakref.ref(held)
        gc.collect(1)  # puts it aside
        del held
        calm()
        assert died() is not None, "so little is not worth it"
        for _ in range(100):
            gc.collect(1)
        assert died() is not None
        calm()
        assert died() is None


def test_as_long_as_little_is_found_everything_is_looked_at_ever_more_seldom() -> None:
    aside = Aside()

    def waits(found: int) -> float:
        """How much later than at first the next full collection comes after one that found so many objects."""
        aside("start", {"generation": 2})
        aside("stop", {"generation": 2, "collected": found})
        return gc.get_threshold()[2] / (2 * CALM_AFTER)

    with tuned():
        assert [waits(0) for _ in range(5)] == [2, 4, LONGEST, LONGEST, LONGEST]
        assert [waits(WORTH), waits(WORTH - 1), waits(0), waits(WORTH)] == [1, 2, 4, 1]


def test_collections_are_counted_and_timed_by_generation() -> None:
    counted = Collected()
    for generation in (1, 0, 1):
        counted("start", {"generation": generation})
        counted("stop", {"generation": generation})
    found = counted.numbers()
    assert found["vsched_garbage_collections_total"] == {"0": 1.0, "1": 2.0, "2": 0.0}
    longest, total = (found[f"vsched_garbage_collection_{name}"]["1"] for name in ("longest_seconds", "seconds_total"))
    assert total / 2 <= longest <= total


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
