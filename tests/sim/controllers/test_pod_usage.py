"""What pods use, as their annotations and settings say, and what that comes to over a window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vsched.sim.controllers.pod_usage import (
    PodUsage,
    UsageSettings,
    capacity_of,
    node_load,
    pod_load,
    requested,
    usage_problem,
)

Obj = dict[str, Any]
HALF = UsageSettings(low=0.5, high=0.5)
GI = 1 << 30


def pod(uid: str = "u", *, cpu: str = "2", memory: str = "4Gi", **annotations: str) -> Obj:
    told = {f"vsched.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return {
        "metadata": {"name": "p", "uid": uid, "annotations": told},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]},
    }


@pytest.mark.parametrize(
    ("annotations", "cpu", "memory", "swing"),
    [
        pytest.param({}, 1.0, 2 * GI, 0.0, id="nothing said: the share of the settings"),
        pytest.param({"cpu_usage": "1500m"}, 1.5, 2 * GI, 0.0, id="an amount of cpu"),
        pytest.param({"cpu_usage": "150%"}, 3.0, 2 * GI, 0.0, id="more than was asked for"),
        pytest.param({"memory_usage": "1Gi"}, 1.0, GI, 0.0, id="an amount of memory"),
        pytest.param({"memory_usage": "25%", "usage_swing": "40%"}, 1.0, GI, 0.4, id="a percentage, and a swing"),
        pytest.param({"cpu_usage": "much", "usage_swing": "140%"}, 1.0, 2 * GI, 0.0, id="unreadable: as if not there"),
        pytest.param({"cpu_usage": "-1"}, 1.0, 2 * GI, 0.0, id="less than nothing: as if not there"),
    ],
)
def test_a_pod_uses_what_it_says(annotations: dict[str, str], cpu: float, memory: float, swing: float) -> None:
    load = pod_load(pod(**annotations), HALF)
    assert (load.cpu, load.memory, load.swing) == (cpu, memory, swing)


@pytest.mark.parametrize(
    ("annotations", "problem"),
    [
        pytest.param({"cpu_usage": "80%", "memory_usage": "1Gi", "usage_swing": "10%"}, "", id="all well"),
        pytest.param(
            {"cpu_usage": "much"},
            "annotation vsched.io/cpu-usage: 'much': expected a quantity such as 1500m or 2Gi, or a percentage such as"
            " 80%",
            id="no quantity",
        ),
        pytest.param(
            {"memory_usage": "x%"},
            "annotation vsched.io/memory-usage: 'x%': expected a percentage such as 80%",
            id="no percentage",
        ),
        pytest.param(
            {"usage_swing": "140%"},
            "annotation vsched.io/usage-swing: '140%': expected a percentage from 0% to 100%",
            id="more swing than there is",
        ),
    ],
)
def test_annotations_that_cannot_be_read_are_told(annotations: dict[str, str], problem: str) -> None:
    assert usage_problem(pod(**annotations)) == problem


def test_containers_that_ask_for_nothing_count_as_in_scores() -> None:
    both = pod()
    both["spec"]["containers"].append({"name": "side"})
    assert requested(both) == {"cpu": 2.1, "memory": 4 * GI + 200 * (1 << 20)}


def test_shares_are_drawn_from_uid_and_seed() -> None:
    drawn = UsageSettings(low=0.2, high=1.4)
    loads = [pod_load(pod(f"u{number}"), drawn) for number in range(200)]
    assert loads == [pod_load(pod(f"u{number}"), drawn) for number in range(200)]
    assert loads != [pod_load(pod(f"u{number}"), UsageSettings(low=0.2, high=1.4, seed=2)) for number in range(200)]
    shares = [load.cpu / 2 for load in loads]
    assert min(shares) >= 0.2
    assert max(shares) <= 1.4
    assert 0.7 < float(np.mean(shares)) < 0.9


def test_a_node_uses_what_its_annotations_say_of_its_capacity() -> None:
    annotations = {"vsched.io/cpu-usage": "10%", "vsched.io/memory-usage": "2Gi"}
    node = {"metadata": {"name": "n", "annotations": annotations}, "status": {"capacity": {"cpu": "32"}}}
    load = node_load(node, capacity_of(node))
    assert (load.cpu, load.memory) == (pytest.approx(3.2), 2 * GI)
    assert node_load({"metadata": {"name": "n"}}, {"cpu": 32.0, "memory": 0.0}) == PodUsage(0.0, 0.0)
