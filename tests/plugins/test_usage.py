"""usage: which nodes are closed, and how loads become scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.usage_world import EVEN, ONE_NODE, POD, TWO_NODES, opened, scores
from tests.support.worlds import World

# Filter


@pytest.mark.parametrize(
    ("arguments", "usage", "reasons"),
    [
        pytest.param({}, "cpu=100 memory=100", [], id="without a threshold no node is closed"),
        pytest.param({"thresholds": {"cpu": 80}}, "cpu=80 memory=100", [], id="at the threshold it is open"),
        pytest.param({"thresholds.cpu": 80}, "cpu=80.1", ["cpu usage above 80% (5m average)"], id="above it is closed"),
        pytest.param(
            {"thresholds": {"mem": 70}}, "cpu=99 memory=71", ["memory usage above 70% (5m average)"], id="mem"
        ),
        pytest.param({"thresholds": {"memory": 70}}, "memory=71", ["memory usage above 70% (5m average)"], id="memory"),
        pytest.param(
            {"thresholds": {"cpu": 80, "mem": 70}},
            "cpu=90 memory=90",
            ["cpu usage above 80% (5m average)", "memory usage above 70% (5m average)"],
            id="both",
        ),
        pytest.param(
            {"thresholds": {"CPUUsageAvg.5m": 80}},
            "cpu=81",
            ["cpu usage above 80% (5m average)"],
            id="by its long name",
        ),
        pytest.param(
            {"thresholds": {"CpuUsageAvg.1h": 80}},
            "cpu=81 period=1h",
            ["cpu usage above 80% (1h average)"],
            id="in another spelling, over another period",
        ),
        pytest.param(
            {"thresholds": {"MemUsageAvg.1h": 80}}, "memory=81", [], id="another period's figures do not count"
        ),
        pytest.param(
            {"thresholds": {"cpu": 80}, "usage.period": "1h"},
            "cpu=81 period=1h",
            ["cpu usage above 80% (1h average)"],
            id="a short name means the period of the scores",
        ),
        pytest.param({"thresholds": {"cpu": 80}}, "cpu=60 spread=30", [], id="averages alone close a node"),
        pytest.param({"thresholds": {"cpu": 80}}, "memory=90", [], id="what is unknown closes none"),
        pytest.param({"thresholds": {"cpu": 80}}, "cpu=90 age=300", ["cpu usage above 80% (5m average)"], id="old"),
        pytest.param({"thresholds": {"cpu": 80}}, "cpu=90 age=301", [], id="what is too old closes none"),
        pytest.param(
            {"thresholds": {"cpu": 80}}, "cpu=90 age=-99", ["cpu usage above 80% (5m average)"], id="a clock ahead"
        ),
        pytest.param({"thresholds": {"cpu": 0}}, "cpu=0", [], id="an idle node is open whatever the threshold"),
    ],
)
def test_which_nodes_are_closed(arguments: dict[str, Any], usage: str, reasons: list[str]) -> None:
    world = World(f"{TWO_NODES}{POD}usage n1 {usage}")
    checks = opened(world, arguments).static_checks(world.task("a.0").shape, world.nodes)

    assert [check.reason for check in checks] == [f"node(s) had {reason}" for reason in reasons]
    for check in checks:
        assert check.passes.tolist() == [False, True]
        assert not check.resolvable, "that others leave is not seen in an average for minutes"


def test_where_nobody_collects_usage_no_node_is_closed() -> None:
    world = World(f"{ONE_NODE}{POD}")

    assert opened(world, {"thresholds": {"cpu": 0}}).static_checks(world.task("a.0").shape, world.nodes) == ()


# Score: the three factors


@pytest.mark.parametrize(
    ("arguments", "usage", "expected"),
    [
        pytest.param({}, "cpu=0 memory=0", 500.0, id="an idle node has it all"),
        pytest.param({}, "cpu=100 memory=100", 0.0, id="a full one nothing"),
        pytest.param({}, "cpu=63 memory=41", 500 * (0.37 + 0.59) / 2, id="half for cpu, half for memory"),
        pytest.param({"usage.weight": 2}, "cpu=50 memory=0", 150.0, id="times the weight of all"),
        pytest.param(EVEN | {"cpu.weight": 3}, "cpu=60 memory=0", 100 * (0.4 * 3 + 1) / 4, id="by weight"),
        pytest.param(EVEN | {"cpu.weight": 0}, "cpu=60 memory=20", 80.0, id="memory alone"),
        pytest.param(EVEN, "cpu=50 memory=20 spread=10", 100 * (0.4 + 0.7) / 2, id="a wider curve counts"),
        pytest.param(EVEN | {"fluctuation.weight": 2}, "cpu=50 memory=20 spread=10", 45.0, id="more if so told"),
        pytest.param(EVEN | {"fluctuation.weight": 0}, "cpu=50 memory=20 spread=10", 65.0, id="not at all if so told"),
        pytest.param(EVEN | {"usage.period": "1h"}, "cpu=50 memory=20 period=1h", 65.0, id="over another period"),
        pytest.param({"usage.weight": 0}, "cpu=50 memory=20", None, id="a weight of nothing scores nothing"),
        pytest.param(
            {"cpu.weight": 0, "memory.weight": 0}, "cpu=50 memory=20", None, id="nor does nothing that counts"
        ),
    ],
)
def test_the_score_of_a_load(arguments: dict[str, Any], usage: str, expected: float | None) -> None:
    world = World(f"{ONE_NODE}{POD}usage n1 {usage}")

    assert scores(world, opened(world, arguments)) == ([] if expected is None else [pytest.approx(expected)])


def best(text: str, arguments: dict[str, Any] | None = None) -> str:
    """Which of two nodes scores higher."""
    world = World(f"{TWO_NODES}{text}")
    first, second = scores(world, opened(world, arguments))
    assert first != second
    return "n1" if first > second else "n2"


@pytest.mark.parametrize(
    ("text", "node"),
    [
        pytest.param(
            f"{POD}usage n1 cpu=80 memory=80\nusage n2 cpu=78 memory=78",
            "n2",
            id="usage: 78% before 80%, all else alike",
        ),
        pytest.param(
            f"{POD}usage n1 cpu=80 memory=50 spread=5\nusage n2 cpu=78 memory=50 spread=40",
            "n1",
            id="fluctuation: 80% that varies by 5 before 78% that varies by 40",
        ),
        pytest.param(
            "job ns/a pods=1 cpu=8 memory=1Gi\nusage n1 cpu=80 memory=20\nusage n2 cpu=20 memory=80",
            "n2",
            id="dimension: who asks for cpu goes where cpu is spare",
        ),
        pytest.param(
            "job ns/a pods=1 cpu=1 memory=80Gi\nusage n1 cpu=80 memory=20\nusage n2 cpu=20 memory=80",
            "n1",
            id="dimension: who asks for memory goes where memory is spare",
        ),
        pytest.param(
            "job ns/a pods=1 cpu=8\nusage n1 cpu=10 memory=99\nusage n2 cpu=30 memory=5",
            "n2",
            id="dimension: what is not asked for still counts, so that a full node stays a bad one",
        ),
    ],
)
def test_each_factor_decides_where_the_others_do_not(text: str, node: str) -> None:
    assert best(text) == node


@pytest.mark.parametrize(
    ("pod", "dimension", "cpu"),
    [
        pytest.param("cpu=1 memory=10Gi", 1.0, 0.5, id="shares of cpu and memory alike"),
        pytest.param("cpu=3 memory=10Gi", 1.0, 0.75, id="three times the share of cpu"),
        pytest.param("cpu=3 memory=10Gi", 0.5, 0.625, id="half as far by default"),
        pytest.param("cpu=3 memory=10Gi", 0.0, 0.5, id="not at all if so told"),
        pytest.param("cpu=3", 1.0, 1.0, id="cpu alone"),
        pytest.param("memory=3Gi", 1.0, 0.0, id="memory alone"),
        pytest.param("", 1.0, 0.5, id="a pod that asks for nothing"),
    ],
)
def test_the_weight_of_cpu_follows_the_request(pod: str, dimension: float, cpu: float) -> None:
    world = World(f"{ONE_NODE}job ns/a pods=1 {pod}\nusage n1 cpu=100 memory=0")

    found = scores(world, opened(world, EVEN | {"dimension.weight": dimension}))
    assert found == [pytest.approx(100 * (1 - cpu))]


def test_a_request_of_what_does_not_count_leaves_the_weights_as_they_are() -> None:
    world = World(f"{ONE_NODE}job ns/a pods=1 memory=3Gi\nusage n1 cpu=40 memory=0")

    found = scores(world, opened(world, EVEN | {"dimension.weight": 1, "memory.weight": 0}))
    assert found == [pytest.approx(60.0)]


# Score: what is unknown


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param("", id="nobody collects"),
        pytest.param("usage n2 cpu=1 memory=1", id="a node without figures"),
        pytest.param("usage n1 cpu=1 memory=1 age=301", id="figures that are too old"),
        pytest.param("usage n1 cpu=1 memory=1 period=1h", id="another period's figures"),
        pytest.param("usage n1 cpu=nan memory=inf", id="figures that are no numbers"),
    ],
)
def test_requests_are_the_load_where_nothing_is_known(usage: str) -> None:
    world = World(f"{TWO_NODES}{POD}pods ns/a 1 cpu=4 memory=50Gi on=n1\n{usage}")

    assert scores(world, opened(world, EVEN))[0] == pytest.approx(100 * (0.6 + 0.5) / 2)


def test_each_resource_is_known_or_unknown_by_itself() -> None:
    world = World(f"{ONE_NODE}{POD}pods ns/a 1 cpu=4 memory=50Gi on=n1\nusage n1 memory=20")

    assert scores(world, opened(world, EVEN)) == [pytest.approx(100 * (0.6 + 0.8) / 2)]


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param("", id="without figures"),
        pytest.param("usage n1 cpu=1 memory=1 age=301", id="with figures that are too old"),
        pytest.param("usage n1 cpu=1 memory=1 period=1h", id="with those of another period"),
        pytest.param("usage n1 cpu=nan memory=inf", id="with figures that are no numbers"),
    ],
)
def test_an_empty_node_is_not_taken_to_be_idle(usage: str) -> None:
    text = f"{TWO_NODES}node n3 cpu=10\n{POD}usage n2 cpu=5 memory=20\nusage n3 cpu=60 memory=40\n{usage}"
    world = World(text)

    assert scores(world, opened(world, EVEN | {"dimension.weight": 0})) == [
        pytest.approx(score) for score in (68.75, 87.5, 50.0)
    ]


PERCENT = st.floats(0.0, 100.0)


@given(cpu=PERCENT, memory=PERCENT, spread=PERCENT, more=PERCENT, asked=st.integers(0, 12))
def test_more_load_never_scores_higher_and_the_unknown_never_beats_an_idle_node(
    cpu: float, memory: float, spread: float, more: float, asked: int
) -> None:
    world = World(
        "node n1 cpu=10\nnode n2 cpu=10\nnode n3 cpu=10\nnode n4 cpu=10\nnode n5 cpu=10\nnode n6 cpu=10\n"
        f"job ns/a pods=1 cpu=1\npods ns/a 1 cpu={asked} on=n6\n"
        f"usage n1 cpu={cpu} memory={memory} spread={spread}\n"
        f"usage n2 cpu={max(cpu, more)} memory={memory} spread={spread}\n"
        f"usage n3 cpu={cpu} memory={max(memory, more)} spread={spread}\n"
        f"usage n4 cpu={cpu} memory={memory} spread={max(spread, more)}\n"
        "usage n5 cpu=0 memory=0"
    )
    found = scores(world, opened(world))

    assert np.isfinite(found).all()
    assert all(found[0] >= score for score in found[1:4])
    assert found[4] == 500.0 >= found[5]
