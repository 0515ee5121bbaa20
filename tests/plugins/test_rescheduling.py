"""rescheduling: which nodes are low and high, who leaves, how many at most, and when it is looked at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror, policy_from
from vsched.errors import BadPolicy
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy, ReadsUsage
from vsched.mirror.mirror import Mirror
from vsched.model.nodes.usage import STALE_SECONDS, Figures, NodeUsage, Reading
from vsched.plugins.rescheduling import ReschedulingArgs
from vsched.plugins.words.arguments import low_and_high
from vsched.settings.built_in import REGISTRY

LOW, TARGET = {"cpu": 30, "memory": 30}, {"cpu": 60, "memory": 60}
NODES = "node n1 cpu=10 memory=100Gi\nnode n2 cpu=10 memory=100Gi\nnode n3 cpu=10 memory=100Gi"
BUSY = "job ns/a\npods ns/a 4 cpu=2 memory=1Gi on=n1 started=3600"
"""Four pods on the first node that ask for 8 of its 10 cores."""


def policy(
    thresholds: dict[str, Any] = LOW,
    targets: dict[str, Any] = TARGET,
    *,
    actions: str = "shuffle",
    further: str = "",
    **arguments: Any,
) -> Policy:
    params = {"thresholds": thresholds, "targetThresholds": targets}
    told = {"strategies": [{"name": "lowNodeUtilization", "params": params}], "interval": "0s", **arguments}
    plugins = [{"name": "rescheduling", "arguments": told}, *({"name": name} for name in further.split())]
    tiers = [{"plugins": plugins}, {"plugins": [{"name": "predicates"}]}]
    return policy_from(json.dumps({"actions": actions, "tiers": tiers}))


def reading(period: str = "5m", measured: float = NOW, **nodes: tuple[float, float] | None) -> Reading:
    """Cpu and memory of nodes in percent; None for a node nobody knows."""
    used = {
        name: NodeUsage(measured, {period: Figures(found[0])}, {period: Figures(found[1])})
        for name, found in nodes.items()
        if found is not None
    }
    return Reading(measured, used)


def cluster(text: str, usage: Reading | None) -> Mirror:
    cache = mirror(manifests(text))
    cache.inputs.use(usage)
    return cache


def evicted(
    text: str, usage: Reading | None, told: Policy | None = None, *, previous: float | None = None
) -> list[str]:
    """Names of the pods that leave, in their order."""
    cache = cluster(text, usage)
    if previous is not None:
        cache.snapshot(previous)
    report = run_cycle(cache.snapshot(NOW), told or policy(), REGISTRY)
    assert {eviction.action for eviction in report.evictions} <= {"shuffle"}
    return [eviction.name for eviction in report.evictions]


@pytest.mark.parametrize(
    ("usage", "leaving"),
    [
        pytest.param({"n1": (90, 10), "n2": (10, 10), "n3": (10, 10)}, 2, id="until the node is no longer high"),
        pytest.param({"n1": (70, 10), "n2": (10, 10), "n3": (10, 10)}, 1, id="one is enough"),
        pytest.param({"n1": (60, 10), "n2": (10, 10), "n3": (10, 10)}, 0, id="at its target a node is not high"),
        pytest.param({"n1": (10, 90), "n2": (10, 10), "n3": (10, 10)}, 2, id="memory alone makes a node high"),
        pytest.param({"n1": (90, 10), "n2": (40, 10), "n3": (40, 10)}, 0, id="nobody without a low node"),
        pytest.param({"n1": (90, 10), "n2": (10, 40), "n3": (10, 40)}, 0, id="low means low in everything"),
        pytest.param({"n1": (20, 10), "n2": (10, 10), "n3": (10, 10)}, 0, id="nobody where all are low"),
        pytest.param({"n1": (90, 10), "n2": None, "n3": None}, 0, id="a node nobody knows is not low"),
        pytest.param({"n1": None, "n2": (10, 10), "n3": (10, 10)}, 0, id="a node nobody knows is not high"),
        pytest.param({"n1": (float("nan"), 90), "n2": (10, 10)}, 0, id="half known is not known"),
        pytest.param(
            {"n1": (90, 10), "n2": (29, 10), "n3": None}, 1, id="no more than lifts low nodes to their target"
        ),
    ],
)
def test_who_leaves_by_what_nodes_use(usage: dict[str, tuple[float, float] | None], leaving: int) -> None:
    assert evicted(f"{NODES}\n{BUSY}", reading(**usage)) == [f"a.{3 - number}" for number in range(leaving)]


IDLE = {"n2": (10.0, 10.0), "n3": (10.0, 10.0)}
HOT = reading(n1=(90, 10), **IDLE)


def test_without_figures_nobody_leaves() -> None:
    assert evicted(f"{NODES}\n{BUSY}", None) == []


@pytest.mark.parametrize(
    ("age", "leaving"),
    [
        pytest.param(STALE_SECONDS, 2, id="just fresh enough"),
        pytest.param(STALE_SECONDS + 1, 0, id="stale"),
    ],
)
def test_stale_figures_say_nothing(age: float, leaving: int) -> None:
    assert len(evicted(f"{NODES}\n{BUSY}", reading(measured=NOW - age, n1=(90, 10), **IDLE))) == leaving


@pytest.mark.parametrize(
    ("period", "asked", "leaving"),
    [
        pytest.param("1h", "1h", 2, id="the period that is asked for"),
        pytest.param("10m", "5m", 0, id="another period is not taken for it"),
    ],
)
def test_the_period_is_the_configured_one(period: str, asked: str, leaving: int) -> None:
    told = policy(metricsPeriod=asked)
    assert told.usage_periods() == (asked,)
    assert len(evicted(f"{NODES}\n{BUSY}", reading(period=period, n1=(90, 10), **IDLE), told)) == leaving


@pytest.mark.parametrize(
    ("interval", "previous", "leaving"),
    [
        pytest.param("0s", NOW - 0.01, 2, id="every cycle where there is no interval"),
        pytest.param("5m", NOW - 1, 2, id="the first cycle of an interval"),
        pytest.param("5m", NOW, 0, id="the interval has been looked at"),
        pytest.param("7m", NOW - 1, 0, id="an interval that is under way"),
        pytest.param("7m", NOW - 420, 2, id="one that began since the cycle before"),
    ],
)
def test_it_looks_once_in_an_interval(interval: str, previous: float, leaving: int) -> None:
    assert len(evicted(f"{NODES}\n{BUSY}", HOT, policy(interval=interval), previous=previous)) == leaving


@pytest.mark.parametrize(
    ("pods", "first"),
    [
        pytest.param(
            "pods ns/a 1 cpu=2 on=n1 podClass=high started=9\npods ns/a 1 cpu=2 on=n1 started=9", "a.1",
            id="the lower priority, though it came later",
        ),
        pytest.param(
            "pods ns/a 1 cpu=2 on=n1 started=9\npods ns/a 2 on=n1 started=9", "a.2", id="those that ask for nothing"
        ),
    ],
)  # fmt: skip
def test_who_leaves_first(pods: str, first: str) -> None:
    text = f"{NODES}\nclass high 100\njob ns/a\n{pods}"
    assert evicted(text, reading(n1=(90, 10), **IDLE))[0] == first


def test_the_highest_node_is_relieved_first() -> None:
    pods = "job ns/a\npods ns/a 2 cpu=4 on=n1 started=9\njob ns/b\npods ns/b 2 cpu=4 on=n2 started=9"
    text = f"{NODES}\nnode n4 cpu=10\n{pods}"
    usage = reading(n1=(70, 10), n2=(95, 10), n3=(10, 10), n4=None)
    assert evicted(text, usage) == ["b.1"], "the low node takes one of them"


@pytest.mark.parametrize(
    ("text", "leaving"),
    [
        pytest.param("pods ns/a 4 cpu=2 on=n1 started=0", [], id="pods that came after the newest sample"),
        pytest.param("pods ns/a 4 cpu=2 on=n1 started=9 volcano.sh/preemptable=false", [], id="pods that may not go"),
        pytest.param(
            "pods ns/a 4 cpu=2 on=n1 started=9 selector=kubernetes.io/hostname:n1", [], id="pods with no other place"
        ),
        pytest.param(
            "pods ns/a 4 cpu=2 on=n1 started=9\npdb ns/guard selector=job:a allowed=1",
            ["a.3"],
            id="no more than their budget allows",
        ),
    ],
)
def test_who_stays(text: str, leaving: list[str]) -> None:
    told = policy(further="pdb")
    usage = reading(measured=NOW - 5, n1=(90, 10), **IDLE)
    assert evicted(f"{NODES}\njob ns/a\n{text}", usage, told) == leaving


@pytest.mark.parametrize(
    "stays",
    [
        pytest.param("selector=kubernetes.io/hostname:n1", id="those that run on their node alone"),
        pytest.param("selector=kubernetes.io/hostname:n4", id="those that low nodes do not suit"),
        pytest.param("labels=guarded:yes", id="those that a disruption budget keeps"),
    ],
)
def test_pods_that_stay_do_not_keep_others_from_leaving(stays: str) -> None:
    text = f"{NODES}\nnode n4 cpu=10\npdb ns/guard selector=guarded:yes allowed=0\njob ns/a\njob ns/b"
    pods = f"pods ns/b 3 cpu=2 on=n1 started=9 {stays}\npods ns/a 1 cpu=2 on=n1 started=9 podClass=high"
    usage = reading(n1=(90, 10), n2=(10, 10), n3=None, n4=(50, 10))
    assert evicted(f"class high 100\n{text}\n{pods}", usage) == ["a.0"]


def test_pods_of_one_name_in_two_namespaces_are_two() -> None:
    text = f"{NODES}\njob ns/a\npods ns/a 1 cpu=2 on=n3 started=9\njob other/a\npods other/a 1 cpu=2 on=n1 started=9"
    report = run_cycle(cluster(text, reading(n1=(70, 10), **IDLE)).snapshot(NOW), policy(), REGISTRY)
    assert [(eviction.namespace, eviction.name) for eviction in report.evictions] == [("other", "a.0")]


def test_what_was_placed_on_a_low_node_lately_counts() -> None:
    young = "job ns/young\npods ns/young 2 cpu=2 on=n2 started=0"
    usage = reading(n1=(90, 10), n2=(10, 10), n3=None)
    assert evicted(f"{NODES}\n{BUSY}", usage) != []
    assert evicted(f"{NODES}\n{BUSY}\n{young}", usage) == [], "by what it will use the second node is not low"


def test_what_this_cycle_placed_on_a_low_node_counts() -> None:
    told = policy(actions="enqueue, allocate, shuffle")
    usage = reading(n1=(90, 10), n2=(10, 10), n3=None)
    text = f"{NODES.replace('node n3', 'node n3 cordoned')}\n{BUSY}\njob ns/new phase=Inqueue\npods ns/new 2 cpu=3"
    assert evicted(text, usage, told) == []


def test_a_cordoned_node_is_not_low() -> None:
    text = "node n1 cpu=10 memory=100Gi\nnode n2 cpu=10 memory=100Gi cordoned"
    assert evicted(f"{text}\n{BUSY}", reading(n1=(90, 10), n2=(10, 10))) == []


@pytest.mark.parametrize("spelling", ["pod", "pods"])
def test_a_node_with_too_many_pods_is_high(spelling: str) -> None:
    nodes = "node n1 pods=10\nnode n2 pods=10"
    text = f"{nodes}\njob ns/a\npods ns/a 6 on=n1 started=9"
    told = policy({spelling: 20}, {spelling: 40})
    assert evicted(text, reading(n1=(50, 50), n2=(50, 50)), told) == ["a.5", "a.4"]


def test_by_default_no_node_is_ever_high() -> None:
    assert evicted(f"{NODES}\n{BUSY}", reading(n1=(100, 100), **IDLE), policy({}, {})) == []
    assert evicted(f"{NODES}\n{BUSY}", HOT, policy(strategies=[])) == []


def test_only_plugins_with_a_strategy_want_figures() -> None:
    args = ReschedulingArgs()
    assert isinstance(args, ReadsUsage)
    assert tuple(args.usage_periods()) == ()
    assert policy(metricsPeriod="1h").usage_periods() == ("1h",)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            {"thresholds": {"cpu": 70}},
            low_and_high(0, "cpu", 70, 60),
            id="low above high",
        ),
        pytest.param({"thresholds": {"cpu": 120}}, "expected a number >= 0 and <= 100, got '120'", id="no percentage"),
        pytest.param({"thresholds": {"gpu": 20}}, "thresholds.gpu: unknown argument", id="another resource"),
        pytest.param({"metricsPeriod": "soon"}, "metricsPeriod: expected a length of time", id="no period"),
        pytest.param({"metricsPeriod": "0m"}, "metricsPeriod: expected a length of time", id="a period of no length"),
        pytest.param(
            {"strategies": [{"name": "lowPriorityFirst"}]}, "expected one of lowNodeUtilization", id="unknown"
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        policy(**arguments)
    assert problem in str(refused.value)


@settings(max_examples=examples(40), deadline=None)
@given(
    used=st.lists(st.integers(0, 100), min_size=3, max_size=5),
    pods=st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=16),
)
def test_nobody_trades_places(used: list[int], pods: list[tuple[int, int]]) -> None:
    """What leaves is on high nodes, and with all of it low nodes stay at or below the target."""
    names = [f"n{at}" for at in range(len(used))]
    lines = [f"node {name} cpu=10 memory=100Gi" for name in names]
    for number, (at, cores) in enumerate(pods):
        lines += [f"job ns/j{number}", f"pods ns/j{number} 1 cpu={cores} on={names[at % len(names)]} started=9"]
    usage = reading(**{name: (float(cpu), 0.0) for name, cpu in zip(names, used, strict=True)})
    cache = cluster("\n".join(lines), usage)
    report = run_cycle(cache.snapshot(NOW), policy(), REGISTRY)
    asked = dict.fromkeys(names, 0)
    for at, cores in pods:
        asked[names[at % len(names)]] += cores
    cpu = dict(zip(names, used, strict=True))
    moved = 0.0
    for eviction in report.evictions:
        assert cpu[eviction.node] > 60
        cores = pods[int(eviction.name.partition(".")[0][1:])][1]
        moved += cores / asked[eviction.node] * cpu[eviction.node] / 100 * 10
    room = sum((60 - percent) / 100 * 10 for percent in used if percent < 30)
    assert moved <= room + 1e-6
