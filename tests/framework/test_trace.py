"""Where the time of a cycle goes, measured with a clock that a test turns by hand."""

from __future__ import annotations

from itertools import count

import pytest

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.framework.cycle import run_cycle
from vsched.framework.trace import Trace
from vsched.settings.built_in import REGISTRY

CLUSTER = "node n1 cpu=4\njob ns/a min=2 pods=2 cpu=1 minResources=cpu:2"


def ticking() -> Trace:
    """A trace in which every look at the clock takes one second."""
    ticks = count()
    return Trace(lambda: float(next(ticks)), plugins=True)


def test_what_has_one_name_adds_up() -> None:
    trace = ticking()
    for _ in range(2):
        assert trace.timed("action", "allocate", max, 3, 4) == 4

    assert trace.spans() == (("action", "allocate", 2.0),)


def test_what_fails_is_measured_too() -> None:
    trace = ticking()
    with pytest.raises(KeyError):
        trace.timed("action", "allocate", {}.__getitem__, "nothing")

    assert trace.seconds == {("action", "allocate"): 1.0}


def test_a_function_is_measured_as_its_plugin() -> None:
    trace = ticking()

    assert trace.wrap("drf", lambda left, right: left + right)(1, right=2) == 3
    assert trace.seconds == {("plugin", "drf"): 1.0}


def test_without_a_timer_nothing_is_measured() -> None:
    trace = Trace(plugins=True)

    def answer() -> int:
        return 1

    assert trace.wrap("drf", answer) is answer
    assert trace.timed("action", "allocate", answer) == 1
    assert (trace.spans(), trace.measures_plugins) == ((), False)


def test_a_cycle_tells_its_actions_and_every_plugin() -> None:
    report = run_cycle(mirror(manifests(CLUSTER)).snapshot(NOW), DEFAULT_POLICY, REGISTRY, ticking())
    measured: dict[str, set[str]] = {}
    for kind, name, seconds in report.spans:
        measured.setdefault(kind, set()).add(name)
        assert seconds > 0

    assert measured["action"] == set(DEFAULT_POLICY.actions)
    assert measured["open"] == {conf.name for conf in DEFAULT_POLICY.plugins()}
    assert measured["plugin"] >= {"priority", "gang", "drf", "predicates", "proportion", "overcommit"}
    assert {"session", "close"} <= measured.keys()


def test_measuring_changes_no_decision() -> None:
    reports = [
        run_cycle(mirror(manifests(CLUSTER)).snapshot(NOW), DEFAULT_POLICY, REGISTRY, trace)
        for trace in (None, ticking())
    ]

    assert reports[0].binds == reports[1].binds
    assert reports[0].jobs == reports[1].jobs
