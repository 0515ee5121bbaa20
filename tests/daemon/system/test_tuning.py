"""How the interpreter is set up, and that nothing of it is left afterwards."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator

import pytest

from tests.support.collecting import unfreeze
from tests.support.running import scheduling
from vsched.daemon.system.tuning import (
    SWITCH_SECONDS,
    THRESHOLDS,
    Collected,
    Collector,
    calm,
    collected,
    listed,
    tuned,
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


def test_settings_apply_within_and_not_after() -> None:
    callbacks = list(gc.callbacks)
    before = gc.get_threshold(), sys.getswitchinterval()
    with tuned():
        assert gc.get_threshold() == THRESHOLDS
        assert collected in gc.callbacks
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    assert (gc.get_threshold(), sys.getswitchinterval()) == before
    assert gc.callbacks == callbacks


def test_what_was_looked_at_twice_is_put_aside_and_freed_when_nothing_refers_to_it() -> None:
    with tuned():
        listed()
        held = Held()
        gc.collect(0)
        assert not is_aside(held), "a second look finds what was only in use at the first one"
        gc.collect(1)
        assert is_aside(held)
        there = weakref.ref(held)
        del held
        assert there() is None


def test_what_the_first_lists_left_is_put_aside() -> None:
    with tuned():
        held, died = Held(), in_a_cycle()
        listed()
        assert is_aside(held)
        assert died() is None


@pytest.mark.usefixtures("_all_is_collected")
def test_in_a_calm_moment_everything_is_looked_at() -> None:
    with tuned():
        listed()
        held = Held()
        held.by = held
        died = weakref.ref(held)
        gc.collect(1)  # puts it aside
        del held
        gc.collect(1)
        assert died() is not None
        calm()
        assert died() is None


def test_collections_are_counted_and_timed_by_generation() -> None:
    counted = Collected()
    for generation in (1, 0, 1):
        counted("start", {"generation": generation})
        counted("stop", {"generation": generation})
    found = counted.numbers()
    assert found["vsched_garbage_collections_total"] == {"0": 1.0, "1": 2.0, "2": 0.0}
    longest, total = (found[f"vsched_garbage_collection_{name}"]["1"] for name in ("longest_seconds", "seconds_total"))
    assert total / 2 <= longest <= total


async def test_a_daemon_says_that_it_has_listed() -> None:
    told: list[str] = []
    collector = Collector(lambda: told.append("listed"))
    async with Cluster(1) as cluster, scheduling(cluster.url, collector=collector, advise=False) as daemon:
        await daemon.inspection.snapshots.look()
    assert told == ["listed"]
