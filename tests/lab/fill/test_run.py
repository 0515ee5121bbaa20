"""The fill test through the decision core: answers that one can count, and nothing dropped that fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.traces import small_trace
from vsched.framework.policy import Policy
from vsched.lab.fill.arrivals import arrivals
from vsched.lab.fill.run import FilledCluster, FillProgress, Placement, fill_up, policy_of
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.settings import load_text
from vsched.settings.installed import registry

POLICIES = Path(__file__).parents[3] / "config" / "policies"
NAMES = ("first-fit", "best-fit", "spread", "gradient", "filling")
FIRST_FIT, BEST_FIT, *OTHERS = (policy_of(POLICIES / f"fill-{name}.yaml") for name in NAMES)
ALL = [pytest.param(policy, id=name) for name, policy in zip(NAMES, (FIRST_FIT, BEST_FIT, *OTHERS), strict=True)]


def pod(name: str, gpus: int, milli: int = 1000, cpu: int = 1000, models: tuple[str, ...] = ()) -> TracePod:
    return TracePod(name, cpu, 1024, gpus, milli, models, "", 0, 0)


def nodes(*gpus: int, models: str = "T4") -> tuple[TraceNode, ...]:
    return tuple(TraceNode(f"n{number}", 32_000, 65_536, count, models) for number, count in enumerate(gpus))


def placed(policy: Policy, machines: tuple[TraceNode, ...], *pods: TracePod) -> list[bool]:
    cluster = FilledCluster(ClusterTrace(machines, pods), policy)
    return [placement is Placement.PLACED for one in pods for placement in cluster.place([one])]


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize(
    ("machines", "pods", "fits"),
    [
        pytest.param(nodes(1), [pod("a", 1, 600), pod("b", 1, 500), pod("c", 1, 400)], [1, 0, 1], id="parts of one"),
        pytest.param(nodes(2), [pod("a", 1, 600), pod("b", 2), pod("c", 1), pod("d", 1)], [1, 0, 1, 0], id="wholes"),
        pytest.param(nodes(1, 1), [pod("a", 2), pod("b", 1), pod("c", 1)], [0, 1, 1], id="two of one node"),
        pytest.param(nodes(1), [pod("a", 0, 0, 20_000), pod("b", 1, 100, 20_000)], [1, 0], id="cpu of a node"),
        pytest.param(nodes(1), [pod("a", 1, models=("P100",)), pod("b", 1, models=("T4",))], [0, 1], id="models"),
        pytest.param(nodes(0), [pod("a", 0, 0, 0)], [1], id="a pod that asks for nearly nothing"),
    ],
)
def test_pods_are_placed_where_they_fit_and_dropped_where_they_do_not(
    policy: Policy, machines: tuple[TraceNode, ...], pods: list[TracePod], fits: list[int]
) -> None:
    assert placed(policy, machines, *pods) == [bool(one) for one in fits]


@pytest.mark.parametrize("policy", ALL)
def test_pods_that_fill_the_cluster_exactly_fill_it(policy: Policy) -> None:
    trace = ClusterTrace(nodes(4, 4), tuple(pod(f"p{number}", 1, 500) for number in range(16)))
    told: list[FillProgress] = []
    found = fill_up(trace, policy, 1.5, 42, told.append)
    assert found.gpu_allocation_percent == 100.0
    assert (found.pods, found.dropped, found.dropped_with_room) == (24, 8, 0)
    assert found.curve[50] == 50.0
    assert found.curve[100] == found.curve[150] == 100.0
    assert (told[-1].pods, told[-1].dropped, told[-1].arrived_percent) == (24, 8, 150.0)


def test_best_fit_keeps_whole_gpus_free_where_first_fit_does_not() -> None:
    machines = nodes(4, 1)
    pods = (pod("a", 1, 500), pod("b", 4))
    assert placed(BEST_FIT, machines, *pods) == [True, True]
    assert placed(FIRST_FIT, machines, *pods) == [True, False]


@pytest.mark.parametrize("policy", ALL)
def test_nothing_is_dropped_that_some_node_has_room_for(policy: Policy) -> None:
    found = fill_up(small_trace(nodes=12, pods=60), policy, 1.4, 3, lambda _: None)
    assert found.dropped > 2
    assert found.dropped_with_room == 0


@pytest.mark.parametrize("policy", [pytest.param(FIRST_FIT, id="first-fit"), pytest.param(BEST_FIT, id="best-fit")])
def test_pods_that_come_together_get_the_same_as_one_after_the_other(policy: Policy) -> None:
    trace = small_trace(nodes=8, pods=60)
    pods = [*arrivals(trace, 1.4, 3)]
    together, apart = FilledCluster(trace, policy), FilledCluster(trace, policy)
    assert together.place(pods) == [placement for one in pods for placement in apart.place([one])]
    assert together.machines.free.tolist() == apart.machines.free.tolist()


def test_what_a_policy_drops_although_there_is_room_is_counted() -> None:
    policy = load_text('actions: "backfill"\ntiers: [{plugins: [{name: predicates}]}]\n', "here", registry()).policy
    trace = ClusterTrace(nodes(4), tuple(pod(f"p{number}", 1) for number in range(4)))
    found = fill_up(trace, policy, 1.0, 1, lambda _: None)
    assert (found.dropped, found.dropped_with_room, found.gpu_allocation_percent) == (4, 4, 0.0)


def test_a_seed_gives_the_same_to_the_last_digit() -> None:
    trace = small_trace(nodes=10, pods=40)
    first, again, other = (fill_up(trace, BEST_FIT, 1.3, seed, lambda _: None) for seed in (5, 5, 6))
    assert first == again
    assert first.curve != other.curve
