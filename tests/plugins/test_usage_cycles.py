"""usage in whole cycles: bursts spread out, loaded nodes are left alone, and other plugins keep their say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.usage_world import usage_policy
from tests.support.plans import plan

FOUR = "".join(f"node n{number} cpu=16\n" for number in range(1, 5))


def by_node(text: str, arguments: dict[str, Any] | None = None, **switches: bool) -> dict[str, int]:
    """How many pods are bound to each node."""
    found = plan(text, usage_policy(arguments, **switches))
    return dict(sorted(Counter(found.nodes.values()).items()))


def test_a_burst_spreads_out_over_nodes_alike() -> None:
    usage = "".join(f"usage n{number} cpu=30 memory=30\n" for number in range(1, 5))

    assert by_node(f"{FOUR}{usage}job ns/a min=24 pods=24 cpu=1") == {"n1": 6, "n2": 6, "n3": 6, "n4": 6}


def test_a_burst_fills_up_the_least_loaded_node_to_the_level_of_the_others_first() -> None:
    usage = "usage n1 cpu=10 memory=30\n" + "".join(f"usage n{number} cpu=31 memory=30\n" for number in range(2, 5))

    assert by_node(f"{FOUR}{usage}job ns/a min=9 pods=9 cpu=1") == {"n1": 6, "n2": 1, "n3": 1, "n4": 1}


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("job ns/x min=5 pods=5 cpu=1 phase=Inqueue\n", id="placed in the cycle before"),
        pytest.param("job ns/x\npods ns/x 5 cpu=1 on=n1 started=1\n", id="started a second ago"),
        pytest.param("job ns/x\npods ns/x 5 cpu=1 on=n1 bound\n", id="bound and not started"),
    ],
)
def test_the_next_burst_finds_what_is_placed_and_not_measured(before: str) -> None:
    usage = "usage n1 cpu=10 memory=30\n" + "".join(f"usage n{number} cpu=31 memory=30\n" for number in range(2, 5))
    text = f"{FOUR}{usage}{before}job ns/later min=4 pods=4 cpu=1"
    found = plan(text, usage_policy(actions="allocate, enqueue"), cycles=2).nodes

    assert all(node == "n1" for pod, node in found.items() if pod.startswith("x"))
    assert sorted(node for pod, node in found.items() if pod.startswith("later")) == ["n1", "n2", "n3", "n4"]


@pytest.mark.parametrize(
    ("switches", "nodes"),
    [
        pytest.param({}, {"n2": 16}, id="a node above the threshold takes none, however much room it has"),
        pytest.param({"enablePredicate": False}, {"n1": 4, "n2": 16}, id="unless it only scores less"),
        pytest.param({"enableNodeOrder": False}, {"n2": 16}, id="the filter does without the scores"),
    ],
)
def test_a_loaded_node_takes_what_the_switches_say(switches: dict[str, bool], nodes: dict[str, int]) -> None:
    text = "node n1 cpu=16\nnode n2 cpu=16\nusage n1 cpu=81\nusage n2 cpu=5\njob ns/a min=1 pods=20 cpu=1"

    assert by_node(text, {"thresholds": {"cpu": 80}}, **switches) == nodes


def test_a_gang_that_only_closed_nodes_could_hold_is_told_why() -> None:
    text = "node n1 cpu=16\nnode n2 cpu=1\nusage n1 cpu=20 memory=91\nusage n2 cpu=5\njob ns/a min=2 pods=2 cpu=1"
    found = plan(text, usage_policy({"thresholds": {"MemUsageAvg.5m": 90}}))

    assert found.nodes == {}
    assert "1 has memory usage above 90% (5m average)" in found.message("ns/a")


def test_one_node_with_unknown_usage_is_neither_closed_nor_idle() -> None:
    text = "node n1 cpu=4\nnode n2 cpu=4\njob ns/x\npods ns/x 3 cpu=1 on=n1\nusage n2 cpu=50 memory=10\n"

    assert by_node(f"{text}job ns/a min=1 pods=1 cpu=1", {"thresholds": {"cpu": 60}}) == {"n2": 1}
    assert by_node(f"{text}job ns/a min=4 pods=5 cpu=1", {"thresholds": {"cpu": 60}}) == {"n1": 1, "n2": 4}


def test_an_empty_node_with_unknown_usage_is_not_chosen_before_one_that_is_idle() -> None:
    text = "node n0 cpu=4\nnode n1 cpu=4\nnode n2 cpu=4\njob ns/x\npods ns/x 1 cpu=1 on=n0\n"

    assert by_node(f"{text}usage n0 cpu=5 memory=5\nusage n2 cpu=60 memory=60\njob ns/a pods=1 cpu=1") == {"n0": 1}
    assert by_node(f"{text}usage n0 cpu=90 memory=90\nusage n2 cpu=60 memory=60\njob ns/a pods=1 cpu=1") == {"n2": 1}


@given(
    loads=st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=4),
    pods=st.integers(1, 20),
    threshold=st.integers(0, 100),
)
def test_no_pod_goes_to_a_closed_node_and_none_waits_without_need(
    loads: list[tuple[int, int]], pods: int, threshold: int
) -> None:
    text = "".join(
        f"node n{number} cpu=5\nusage n{number} cpu={cpu} memory={memory}\n"
        for number, (cpu, memory) in enumerate(loads)
    )
    found = by_node(f"{text}job ns/a min=1 pods={pods} cpu=1", {"thresholds": {"cpu": threshold}})
    open_nodes = {f"n{number}" for number, (cpu, _) in enumerate(loads) if cpu <= threshold}

    assert found.keys() <= open_nodes
    assert sum(found.values()) == min(pods, 5 * len(open_nodes))


def test_a_node_full_at_its_peaks_is_less_loaded_than_one_that_is_always_full() -> None:
    usage = "usage n1 cpu=99 memory=20 spread=1\nusage n2 cpu=62 memory=20 spread=39\n"

    assert by_node(f"node n1 cpu=8\nnode n2 cpu=8\n{usage}job ns/a pods=1 cpu=1", {"memory.weight": 0}) == {"n2": 1}
