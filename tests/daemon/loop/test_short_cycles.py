"""Which cycles run on the event loop, and which in a thread."""

from __future__ import annotations

import threading

import pytest

from tests.daemon.looping import looping
from tests.support.small import SmallCluster
from tests.support.waiting import until
from vsched.daemon.loop.short_cycles import ShortCycles, ShortCycleSettings
from vsched.framework.policy import PluginTier, Policy
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY
from vsched.settings.load import load_text

POLICY = Policy((), ())
SHORT, LONG = 0.0005, 0.05


def shown(nodes: int = 2, jobs: int = 1, pods: int = 1) -> Snapshot:
    """A cluster where so many jobs wait, each with so many pods."""
    cluster = SmallCluster()
    for number in range(nodes):
        cluster.node(f"n{number}")
    for number in range(jobs):
        cluster.job(f"g{number}", pods)
    return cluster.snapshot()


def after(*seconds: float, snapshot: Snapshot | None = None, settings: ShortCycleSettings | None = None) -> ShortCycles:
    """What is known after cycles that took so long."""
    cycles = ShortCycles(settings)
    found = snapshot or shown()
    cycles.expects(found, POLICY)
    for each in seconds:
        cycles.took(found, each)
    return cycles


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param((), False, id="nothing is known"),
        pytest.param((SHORT,) * 4, False, id="a few were short"),
        pytest.param((SHORT,) * 5, True, id="five in a row were short"),
        pytest.param((*(SHORT,) * 9, 0.005), False, id="the last one was not"),
        pytest.param((*(SHORT,) * 5, 0.005, *(SHORT,) * 5), True, id="five are short again"),
        pytest.param((*(SHORT,) * 5, LONG, *(SHORT,) * 50), False, id="one was long not long ago"),
        pytest.param((*(SHORT,) * 5, LONG, *(SHORT,) * 55), True, id="one was long a while ago"),
    ],
)
def test_a_cycle_runs_on_the_loop_once_others_like_it_were_short(seconds: tuple[float, ...], expected: bool) -> None:
    assert after(*seconds).expects(shown(), POLICY) is expected


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(shown(), True, id="the same again"),
        pytest.param(shown(jobs=3), False, id="more jobs"),
        pytest.param(shown(pods=2), False, id="more pods"),
        pytest.param(shown(nodes=4), False, id="more nodes"),
        pytest.param(shown(nodes=3), True, id="not many more nodes"),
    ],
)
def test_short_cycles_say_nothing_of_larger_ones(snapshot: Snapshot, expected: bool) -> None:
    assert after(*(SHORT,) * 5).expects(snapshot, POLICY) is expected


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(ShortCycleSettings(nodes=1), id="a large cluster"),
        pytest.param(ShortCycleSettings(jobs=0), id="many jobs"),
        pytest.param(ShortCycleSettings(pods=0), id="many pods"),
    ],
)
def test_what_may_take_long_never_runs_on_the_loop(settings: ShortCycleSettings) -> None:
    assert not after(*(SHORT,) * 9, settings=settings).expects(shown(), POLICY)


def test_another_policy_begins_anew() -> None:
    cycles = after(*(SHORT,) * 5)
    assert not cycles.expects(shown(), Policy((), (PluginTier(()),)))


def test_a_policy_that_calls_a_service_decides_in_a_thread() -> None:
    text = "actions: allocate\ntiers:\n- plugins:\n  - name: extender\n    arguments: {extender.urlPrefix: http://127.0.0.1:1}\n"
    calling = load_text(text, "policy", REGISTRY).policy
    cycles, found = ShortCycles(), shown()
    assert not cycles.expects(found, calling)
    for _ in range(9):
        cycles.took(found, SHORT)
    assert not cycles.expects(found, calling)


@pytest.mark.real_time
async def test_the_loop_decides_in_its_own_thread_once_cycles_are_short() -> None:
    threads: list[bool] = []

    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        threads.append(threading.current_thread() is threading.main_thread())
        return CycleReport()

    async with looping(decide, period_seconds=0.002, shown=shown(jobs=0)):
        await until(lambda: len(threads) >= 9)
    assert (threads[:5], any(threads[5:])) == ([False] * 5, True)
