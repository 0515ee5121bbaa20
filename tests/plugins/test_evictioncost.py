"""eviction-cost: the victims, nodes and domains that waste least work are taken first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import plan
from tests.support.taking import taking
from tests.support.worlds import World
from vsched.plugins.evictioncost import EvictionCost, EvictionCostArgs

COST, SAVED = "controller.kubernetes.io/pod-deletion-cost", "vsched.io/last-checkpoint"
MINUTES_AGO = {1: "2027-01-15T07:59:00Z", 10: "2027-01-15T07:50:00Z"}


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        pytest.param("job ns/a\npods ns/a 1 cpu=2 on=n1 started=100", 50.0, id="its share times its time"),
        pytest.param("job ns/a\npods ns/a 1 cpu=1 memory=4Gi on=n1 started=100", 75.0, id="all resources count"),
        pytest.param(
            f"job ns/a\npods ns/a 1 cpu=2 on=n1 started=100 {SAVED}={MINUTES_AGO[1]}", 30.0, id="since it was saved"
        ),
        pytest.param(
            f"job ns/a {SAVED}={MINUTES_AGO[1]}\npods ns/a 1 cpu=2 on=n1 started=900 {SAVED}={MINUTES_AGO[10]}",
            30.0,
            id="or all of its job",
        ),
        pytest.param(
            f"job ns/a {SAVED}={MINUTES_AGO[10]}\npods ns/a 1 cpu=2 on=n1 started=100", 50.0, id="but its job before it"
        ),
        pytest.param(
            f"job ns/a\npods ns/a 1 cpu=2 on=n1 started=100 {SAVED}=2027-01-15T09:00:00Z",
            0.0,
            id="no less than nothing",
        ),
        pytest.param("job ns/a\npods ns/a 1 cpu=2 on=n1 bound", 0.0, id="nothing before it has started"),
        pytest.param("job ns/a\npods ns/a 1 on=n1 started=100", 0.0, id="nothing of a pod that asks for nothing"),
        pytest.param(
            "job ns/a\npods ns/a 1 cpu=2 on=n1 age=20", 10.0, id="a start that is not told: since it was made"
        ),
        pytest.param(
            f"job ns/a\npods ns/a 1 cpu=2 on=n1 started=100 {SAVED}=lately",
            50.0,
            id="what cannot be read is passed over",
        ),
    ],
)
def test_the_work_that_is_lost(text: str, lost: float) -> None:
    world = World(f"node n1 cpu=4 memory=8Gi gpu=0\n{text}")

    assert world.opened(EvictionCost(EvictionCostArgs())).work_lost(world.task("a.0")) == pytest.approx(lost)


def test_resources_have_weights() -> None:
    world = World("node n1 cpu=4 memory=8Gi gpu=2\njob ns/a\npods ns/a 1 cpu=2 memory=8Gi gpu=1 on=n1 started=100")
    weights = {"example.com/gpu": 10.0, "memory": 0.0}

    assert world.opened(EvictionCost(EvictionCostArgs(weights))).work_lost(world.task("a.0")) == pytest.approx(550.0)
    with pytest.raises(ValueError, match=r"resourceWeights\.cpu: expected a number of at least 0"):
        EvictionCostArgs({"cpu": -1.0}).normalised()


# -- victims

CHOSEN = ("priority", "gang-P eviction-cost", "predicates proportion nodeorder")
PREEMPT = taking("enqueue, allocate, preempt", *CHOSEN)
COMPARED = taking("enqueue, allocate, preempt", *CHOSEN, args={"enableTopologyAwarePreemption": True})
GANGS = taking("enqueue, gangpreempt", *CHOSEN)
NEW = "job ns/new pods=1 cpu=1 class=high"


def one(name: str, node: str, started: int, *, more: str = "", job: str = "") -> str:
    """A job of one pod that runs."""
    return f"job ns/{name} phase=Running {job}\npods ns/{name} 1 cpu=1 on={node} started={started} {more}\n"


@pytest.mark.parametrize(
    ("text", "evicted"),
    [
        pytest.param(
            f"node n1 cpu=2\n{one('a', 'n1', 50)}{one('b', 'n1', 500)}{NEW}",
            ["a.0"],
            id="who has run for less goes first",
        ),
        pytest.param(
            f"node n1 cpu=2\n{one('a', 'n1', 500)}{one('b', 'n1', 50)}{NEW}", ["b.0"], id="whichever job that is"
        ),
        pytest.param(
            f"node n1 cpu=2\n{one('a', 'n1', 50, job='class=mid')}{one('b', 'n1', 500)}{NEW}",
            ["b.0"],
            id="priority comes first",
        ),
        pytest.param(
            f"node n1 cpu=2\n{one('a', 'n1', 5000, more=f'{SAVED}={MINUTES_AGO[1]}')}{one('b', 'n1', 500)}{NEW}",
            ["a.0"],
            id="who has saved its work",
        ),
        pytest.param(
            "node n1 cpu=1\nnode n2 cpu=1\nnode n3 cpu=1\n"
            f"{one('a', 'n1', 900)}{one('b', 'n2', 50)}{one('c', 'n3', 90)}{NEW}",
            ["b.0"],
            id="the node whose victims waste least is tried first",
        ),
        pytest.param(
            f"node n1 cpu=1\nnode n2 cpu=1\n{one('a', 'n1', 5, job='class=mid')}{one('b', 'n2', 900)}{NEW}",
            ["b.0"],
            id="of nodes the one with victims of lower priority",
        ),
        pytest.param(
            f"node n1 cpu=2\njob ns/a phase=Running\npods ns/a 1 cpu=1 on=n1 started=10 {COST}=5\n"
            f"pods ns/a 1 cpu=1 on=n1 started=900 {COST}=-5\n{NEW}",
            ["a.1"],
            id="of the pods of a job the one with the lower deletion cost",
        ),
        pytest.param(
            f"node n1 cpu=2\njob ns/a phase=Running\npods ns/a 1 cpu=1 on=n1 started=900\n"
            f"pods ns/a 1 cpu=1 on=n1 started=10 priority=3\n{NEW}",
            ["a.0"],
            id="but that of lower priority before",
        ),
        pytest.param(
            f"node n1 cpu=2\njob ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1 started=30\n"
            f"pods ns/a 1 cpu=0 on=n1 started=30\n{one('b', 'n1', 50)}{NEW}",
            ["a.0"],
            id="a gang that would lose little",
        ),
        pytest.param(
            f"node n1 cpu=2\nnode n2 cpu=1\njob ns/a min=2 phase=Running\npods ns/a 1 cpu=1 on=n1 started=30\n"
            f"pods ns/a 1 cpu=1 on=n2 started=900\n{one('b', 'n1', 50)}{NEW}",
            ["b.0"],
            id="a gang that falls below its minimum loses all of its work",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\njob ns/a min=2 roles=ps:1 phase=Running\n"
            "pods ns/a 1 cpu=1 on=n1 started=30 role=ps\n"
            f"pods ns/a 2 cpu=1 on=n2 started=900 role=worker\n{one('b', 'n1', 50)}{NEW}",
            ["b.0"],
            id="and so does one that lacks a role",
        ),
    ],
)
def test_who_is_evicted(text: str, evicted: list[str]) -> None:
    text = f"class high 9\nclass mid 5\n{text}"

    assert plan(text, PREEMPT).evicted == [evicted]
    assert plan(text, COMPARED).evicted == [evicted]


def test_whole_gangs_that_waste_least_leave_first() -> None:
    text = "class high 9\nnode n1 cpu=2\nnode n2 cpu=2"
    for name, started in (("a", 900), ("b", 90)):
        text += f"\njob ns/{name} min=2 phase=Running"
        text += "".join(f"\npods ns/{name} 1 cpu=1 on={node} started={started}" for node in ("n1", "n2"))

    assert sorted(plan(f"{text}\n{NEW}", GANGS).evicted[0]) == ["b.0", "b.1"]


def test_the_domain_whose_victims_waste_least_is_freed() -> None:
    text = "class high 9\n" + "\n".join(f"node n{number} cpu=1 rack=r{number // 2}" for number in range(4))
    ages = (100, 400, 200, 200)
    text += "\n" + "".join(one(f"j{number}", f"n{number}", age) for number, age in enumerate(ages))
    policy = taking(
        "enqueue, allocate, preempt",
        "priority gang-P eviction-cost network-topology-aware",
        "predicates proportion",
        plugins={"network-topology-aware": {"hypernode.labels": [{"key": "rack"}]}},
    )

    found = plan(f"{text}\njob ns/new min=2 pods=2 cpu=1 class=high topology=hard tier=1", policy)
    assert sorted(found.evicted[0]) == ["j2.0", "j3.0"]


often = settings(max_examples=examples(60), deadline=None)


@often
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 900), st.integers(0, 3)), min_size=2, max_size=9))
def test_of_equal_jobs_the_one_that_wastes_least_goes(drawn: list[tuple[int, int, int]]) -> None:
    """Each job is one pod; what is drawn is its priority, how long it runs, and its node."""
    nodes = {node for _, _, node in drawn}
    counts = {node: sum(other == node for *_, other in drawn) for node in nodes}
    text = "class high 9\nclass mid 5\n" + "".join(f"node n{node} cpu={counts[node]}\n" for node in nodes)
    text += "".join(
        one(f"j{number}", f"n{node}", started, job="class=mid" if priority else "")
        for number, (priority, started, node) in enumerate(drawn)
    )
    (evicted,) = plan(f"{text}{NEW}", PREEMPT).evicted[0]

    least = min((priority, started) for priority, started, _ in drawn)
    assert drawn[int(evicted[1:].partition(".")[0])][:2] == least


def test_without_the_plugin_the_order_is_as_before() -> None:
    text = f"class high 9\nnode n1 cpu=2\n{one('a', 'n1', 50)}{one('b', 'n1', 500)}{NEW}"
    without = taking("enqueue, allocate, preempt", "priority gang-P", "predicates proportion nodeorder")

    assert plan(text, without).evicted == [["b.0"]]
