"""A replay by period: days where there are some, with the jobs that came in each, and what was used and lost."""

from __future__ import annotations

import numpy as np
import pytest

from vsched.lab.trace.accounts import TraceAccounts
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.lab.trace.machines import Machine
from vsched.lab.trace.measures import nearest_rank
from vsched.lab.trace.periods import edges_of, ended_late, fairness, lost_share, periods_of, utilisation, wait

HOUR = 3600


def pod(name: str, queue: str, created: int, runs: int) -> TracePod:
    return TracePod(name, 0, 0, 1, 1000, (), "", created, runs, queue)


def test_what_happens_counts_to_its_period() -> None:
    """One GPU for eight hours: a runs for an hour, is evicted for b, and runs again after it; c never starts."""
    node = TraceNode("n", 1000, 1000, 1)
    a, b, c = pod("a", "x", 0, 4 * HOUR), pod("b", "y", HOUR, 2 * HOUR), pod("c", "y", 8 * HOUR, HOUR)
    trace = ClusterTrace((node,), (a, b, c))
    accounts, machine = TraceAccounts(trace, {"x": 1, "y": 1}), Machine.of(node)
    accounts.machines([machine])
    for now, happens in (
        (0.0, [lambda: accounts.arrive(a, 0.0), lambda: accounts.start(a, machine, 0.0, whole=True)]),
        (1.0 * HOUR, [lambda: accounts.arrive(b, 1.0 * HOUR), lambda: accounts.evict(a, 1.0 * HOUR)]),
        (1.0 * HOUR, [lambda: accounts.start(b, machine, 1.0 * HOUR, whole=True)]),
        (3.0 * HOUR, [lambda: accounts.finish(b), lambda: accounts.start(a, machine, 3.0 * HOUR, whole=True)]),
        (7.0 * HOUR, [lambda: accounts.finish(a)]),
        (8.0 * HOUR, [lambda: accounts.arrive(c, 8.0 * HOUR)]),
        (9.0 * HOUR, []),
    ):
        for one in happens:
            one()
        accounts.sample(now)
    found = periods_of(trace, accounts, {"x": 1, "y": 1}, 0.0)
    assert found.seconds.tolist() == [HOUR] * 8, "less than four days are cut into eight parts"
    assert found.lost_gpu_seconds.tolist() == [0, HOUR, 0, 0, 0, 0, 0, 0]
    assert found.evictions.sum() == 1
    assert found.in_use["gpu"].tolist() == [HOUR] * 7 + [0]
    assert (found.held[:, 1] / 1000).tolist() == [0, HOUR, HOUR, 0, 0, 0, 0, 0]
    assert found.jobs.period.tolist() == [0, 1, 7]
    assert found.jobs.waits.tolist() == [2 * HOUR, 0, HOUR], "one that never starts waits until the end"
    assert found.jobs.late.tolist() == [False, False, False]
    assert utilisation(found, found.once, "gpu") == pytest.approx(7 / 8)
    assert lost_share(found, found.once) == pytest.approx(1 / 7)
    assert wait(found, found.once, None, found.jobs.started) == HOUR
    assert ended_late(found, found.once) == 0.0
    part = 5 / 6
    assert fairness(found, found.once) == pytest.approx((1 + part) ** 2 / (2 * (1 + part**2))), "x had 5 of 6 hours"
    # From the second hour on, a was there before.
    later = periods_of(trace, accounts, {"x": 1, "y": 1}, 1.0 * HOUR)
    assert later.jobs.waits.tolist() == [0, HOUR]


@pytest.mark.parametrize(
    ("begin", "days", "lengths"),
    [
        pytest.param(0.0, 5.25, [1, 1, 1, 1, 1.25], id="the last day is longer"),
        pytest.param(86_400.0, 5.0, [1, 1, 1, 1], id="from a later moment"),
        pytest.param(0.0, 2.0, [0.25] * 8, id="eight parts of few days"),
    ],
)
def test_periods_are_days(begin: float, days: float, lengths: list[float]) -> None:
    edges = edges_of(begin, days * 86_400.0)
    assert ((edges[1:] - edges[:-1]) / 86_400).tolist() == pytest.approx(lengths)


@pytest.mark.parametrize(
    ("weights", "percent", "value"),
    [
        pytest.param([1, 1, 1, 1], 50, 20.0, id="the second of four is the median"),
        pytest.param([1, 1, 1, 1], 51, 30.0, id="just above it is the third"),
        pytest.param([0, 0, 1, 1], 50, 30.0, id="what does not count is passed over"),
        pytest.param([5, 1, 1, 1], 50, 10.0, id="what counts more comes first"),
        pytest.param([1, 1, 1, 1], 100, 40.0, id="all of them is the largest"),
    ],
)
def test_a_percentile_counts_values_by_weight(weights: list[float], percent: float, value: float) -> None:
    assert nearest_rank(np.array([10.0, 20.0, 30.0, 40.0]), np.array(weights, float), percent) == value
