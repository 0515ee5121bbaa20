"""What of each vGPU is allocated, as metrics."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.deviceshare import IDS, asking, device, devices, part, pods, vgpu_node
from tests.support.plans import NOW, mirror
from vsched.web.metrics import device_gauges
from vsched.web.metrics.device_gauges import of_vgpus

Obj = dict[str, Any]


def holding(name: str, node: str, ids: str) -> list[Obj]:
    namespace = name.partition("/")[0]
    line = f"job {name} min=0 phase=Running\npods {namespace}/{name.partition('/')[2]} 1 on={node}"
    return pods(line, asking(vgpu_number=1), **{IDS: ids})


def shown(*objects: Obj) -> dict[str, dict[tuple[str, ...], float]]:
    """The values by metric, without the beginning that all have, then by the values of the labels."""
    return {
        family.name.removeprefix("volcano_vgpu_device_"): {
            tuple(one.labels[name] for name in ("devID", "NodeName", "podName") if name in one.labels): one.value
            for one in family.samples
        }
        for family in of_vgpus(mirror(list(objects)).snapshot(NOW))
    }


def test_each_device_says_what_of_it_is_held_and_by_whom() -> None:
    found = shown(
        vgpu_node("n1", devices(2, memory=1000)),
        *holding("ns/a", "n1", part(0, 300, 25)),
        *holding("ns/b", "n1", part(0, 100, 5) + part(1, 50, 0)),
    )
    assert found == {
        "shared_number": {("GPU-0", "n1"): 2, ("GPU-1", "n1"): 1},
        "allocated_memory": {("GPU-0", "n1"): 400, ("GPU-1", "n1"): 50},
        "allocated_cores": {("GPU-0", "n1"): 30, ("GPU-1", "n1"): 0},
        "memory_limit": {("GPU-0", "n1"): 1000, ("GPU-1", "n1"): 1000},
        "memory_allocation_for_a_certain_pod": {
            ("GPU-0", "n1", "a.0"): 300,
            ("GPU-0", "n1", "b.0"): 100,
            ("GPU-1", "n1", "b.0"): 50,
        },
        "core_allocation_for_a_certain_pod": {
            ("GPU-0", "n1", "a.0"): 25,
            ("GPU-0", "n1", "b.0"): 5,
            ("GPU-1", "n1", "b.0"): 0,
        },
    }


def test_pods_of_one_name_in_two_namespaces_are_told_together() -> None:
    held = [*holding("x/a", "n1", part(0, 300, 25)), *holding("y/a", "n1", part(0, 100, 5))]
    found = shown(vgpu_node("n1", device(0, memory=1000)), *held)
    assert found["memory_allocation_for_a_certain_pod"] == {("GPU-0", "n1", "a.0"): 400}


def test_the_series_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_gauges, "MOST_VGPUS", 3)
    monkeypatch.setattr(device_gauges, "MOST_VGPU_PODS", 1)
    found = shown(
        *(vgpu_node(name, devices(2, memory=1000)) for name in ("n2", "n1")),
        *holding("ns/a", "n1", part(0, 300, 25)),
        *holding("ns/b", "n1", part(0, 100, 5)),
    )
    assert list(found["memory_limit"]) == [("GPU-0", "n1"), ("GPU-1", "n1"), ("GPU-0", "n2")]
    assert list(found["core_allocation_for_a_certain_pod"]) == [("GPU-0", "n1", "a.0")]


def test_a_cluster_without_vgpus_has_no_series() -> None:
    assert not any(shown(vgpu_node("n1", "")).values())
