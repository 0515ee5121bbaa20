"""The order in which pods come, and what is measured as they do."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.traces import small_trace
from vsched.errors import BadInput
from vsched.lab.fill.arrivals import Curve, Filled, arrivals, gpus_of, summary
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod


def cluster(nodes: int, *pods: TracePod) -> ClusterTrace:
    return ClusterTrace(tuple(TraceNode(f"n{number}", 8000, 8192, 2, "T4") for number in range(nodes)), pods)


def pod(name: str, gpus: int, milli: int = 1000) -> TracePod:
    return TracePod(name, 1000, 100, gpus, milli, (), "", 0, 0)


def test_every_pod_comes_once_before_any_comes_again() -> None:
    trace = small_trace(nodes=30, pods=20)
    found = [*arrivals(trace, 1.3, 42)]
    assert len(found) > 20
    assert Counter(found[:20]) == Counter(trace.pods)
    assert set(found[20:]) <= set(trace.pods)


@pytest.mark.parametrize("fill", [0.3, 1.0, 1.3])
def test_they_come_until_they_ask_for_so_many_times_all_gpus_and_no_further(fill: float) -> None:
    trace = small_trace(nodes=30, pods=20)
    amounts = [pod.gpu_amount for pod in arrivals(trace, fill, 7)]
    assert sum(amounts[:-1]) < fill * gpus_of(trace) <= sum(amounts)


def test_the_order_follows_from_the_seed() -> None:
    trace = small_trace(nodes=30, pods=50)
    first, again, other = ([*arrivals(trace, 1.3, seed)] for seed in (42, 42, 43))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("trace", "refused"),
    [
        pytest.param(ClusterTrace((TraceNode("n", 1, 1),), (pod("a", 1),)), "no node has a GPU", id="no GPUs"),
        pytest.param(cluster(1, pod("a", 0, 0)), "no pod asks for a GPU", id="no pods that ask for any"),
        pytest.param(cluster(900, pod("a", 1, 1)), "1,000,000 pods ask for 43% of that", id="pods that are too small"),
    ],
)
def test_what_would_never_end_is_refused(trace: ClusterTrace, refused: str) -> None:
    with pytest.raises(BadInput, match=refused):
        for _ in arrivals(trace, 1.3, 42):
            pass


def test_the_curve_has_what_was_allocated_once_so_many_per_cent_had_come() -> None:
    curve = Curve(capacity=4000)
    for amount, placed in ((50, True), (0, False), (1950, True), (1000, False), (1000, True)):
        curve.see(amount, placed=placed)
    assert curve.percents[0] == 0.0
    assert curve.percents[1] == 1.25
    assert curve.percents[2] == curve.percents[50] == curve.percents[75] == 50.0
    assert curve.percents[76] == curve.percents[100] == 75.0
    assert len(curve.percents) == 101


@given(st.lists(st.tuples(st.integers(0, 900), st.booleans()), max_size=40))
def test_the_curve_never_falls_and_never_exceeds_what_has_come(steps: list[tuple[int, bool]]) -> None:
    curve = Curve(capacity=8000)
    for amount, placed in steps:
        curve.see(amount, placed=placed)
    assert curve.percents == sorted(curve.percents)
    assert curve.percents[-1] <= curve.allocation_percent <= 100 * curve.arrived / 8000 + 1e-4
    assert len(curve.percents) == 100 * curve.arrived // 8000 + 1


def test_a_summary_has_means_and_spreads_over_the_seeds() -> None:
    curves = [tuple(float(min(percent, most)) for percent in range(131)) for most in (90, 96)]
    seeds = [Filled(42 + at, curve, curve[-1], 10, 2, at).document() for at, curve in enumerate(curves)]
    found = summary("p", seeds)
    assert found["gpu_allocation_percent"] == {"mean": 93.0, "spread": 3.0, "least": 90.0, "most": 96.0}
    assert found["stranded_percent"] == {"mean": 7.0, "spread": 3.0, "least": 4.0, "most": 10.0}
    assert found["dropped_with_room"] == 1
    assert [seed["placed"] for seed in found["seeds"]] == [8, 8]
    assert found["curve"]["arrived_percent"][-1] == 130
    assert [found["curve"][name][95] for name in ("least", "mean", "most")] == [90.0, 92.5, 95.0]


def test_nothing_is_said_of_what_is_stranded_before_all_has_come() -> None:
    found = summary("p", [Filled(1, (0.0, 1.0), 1.0, 1, 0, 0).document()])
    assert "stranded_percent" not in found
