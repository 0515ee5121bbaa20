"""The devices of nodes as people see them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builders import node, pod
from tests.support.devices import allocated, device_class, resource_claim, resource_slice
from tests.support.devices import device as published
from tests.support.deviceshare import IDS, V100, asking, device, devices, part, pods, vgpu_node
from tests.support.gpus import HELD
from tests.support.plans import NOW, manifests, mirror
from vsched.model.snapshot import Snapshot
from vsched.web.overview import devices as shown_devices
from vsched.web.overview.devices import (
    CountedDevices,
    DeviceHolderShown,
    DeviceShown,
    JobHolderShown,
    devices_shown,
    resources_held,
)

Obj = dict[str, Any]


def holding(name: str, ids: str, node: str = "n1") -> list[Obj]:
    line = f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on={node}"
    return pods(line, asking(vgpu_number=1), **{IDS: ids})


def snapshot(*objects: Obj) -> Snapshot:
    return mirror(list(objects)).snapshot(NOW)


def test_each_shared_device_says_what_is_taken_and_by_whom() -> None:
    found = snapshot(
        vgpu_node("n1", devices(2, memory=1000) + "GPU-9,4,1000,T4,false,hami-core:"),
        *holding("a", part(0, 300, 25)),
        *holding("b", part(0, 100, 50) + part(1, 4, 0)),
    )
    [one] = devices_shown(found).nodes
    full, little, ill = one.devices

    assert full == DeviceShown(
        "vgpu",
        "GPU-0",
        V100,
        taken=75,
        memory=1000,
        memory_held=400,
        cores_held=75.0,
        sharers=10,
        parts=2,
        mode="hami-core",
        holders=(DeviceHolderShown("ns/a.0", 300, 25.0), DeviceHolderShown("ns/b.0", 100, 50.0)),
        holder_count=2,
    )
    assert (little.taken, little.parts) == (1, 1), "a little is not nothing"
    assert (ill.healthy, ill.taken, ill.holders) == (False, 0, ())


def test_devices_of_drivers_are_held_whole_by_claims() -> None:
    user = pod("p", node="n1")
    pool = resource_slice("n1", [published("gpu-0", attributes={"model": "h100"}), published("gpu-1")])
    taken = allocated(resource_claim("c"), "n1", "gpu-0", pods=[user])
    [one] = devices_shown(snapshot(node("n1"), device_class(), pool, taken, user)).nodes

    assert [(each.kind, each.name.rpartition("/")[2], each.taken) for each in one.devices] == [
        ("claim", "gpu-0", 100),
        ("claim", "gpu-1", 0),
    ]
    assert (one.devices[0].model, one.devices[0].holders) == ("h100", (DeviceHolderShown("ns/c", cores=100.0),))


def test_a_device_that_plugin_and_driver_offer_is_shown_once() -> None:
    pool = resource_slice("n1", [published(f"gpu-{at}", attributes={"uuid": f"GPU-{at}"}) for at in range(2)])
    found = snapshot(vgpu_node("n1", devices(3)), pool, *holding("a", part(1, 300, 25)))
    [one] = devices_shown(found).nodes

    names = [each.name.rpartition("/")[2] for each in one.devices]
    assert names == ["GPU-1", "GPU-2", "gpu-0"], "in parts where pods hold some, else as claims get it"


def test_whole_devices_are_counted_beside_shared_ones() -> None:
    both = vgpu_node("n1", device(0), status={"allocatable": {"nvidia.com/gpu": "4"}})
    held = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "3"}}}
    found = snapshot(both, *pods("job ns/w min=0 phase=Running\npods ns/w 1 on=n1", held))
    [one] = devices_shown(found).nodes

    assert one.counted == (CountedDevices("nvidia.com/gpu", 4, 3, (JobHolderShown("ns/w", "default", 3),), 1),)
    assert [each.kind for each in one.devices] == ["vgpu"]


@pytest.mark.parametrize(
    ("nodes", "gpus", "cpus"),
    [
        pytest.param(
            [],
            ("nvidia.com/gpu", "milli", 8000, 7000, [("ns/a", "research", 4000), ("ns/b", "default", 3000)]),
            [("ns/b", "default", 3000), ("ns/a", "research", 2000)],
            id="of all nodes, those who hold most first",
        ),
        pytest.param(
            ["n2"],
            ("nvidia.com/gpu", "milli", 4000, 3000, [("ns/b", "default", 3000)]),
            [("ns/b", "default", 3000)],
            id="of the nodes that are named",
        ),
    ],
)
def test_who_holds_each_resource_is_told_gpus_first(nodes: list[str], gpus: Any, cpus: Any) -> None:
    found = snapshot(*manifests(HELD))
    held = resources_held(found, nodes)
    assert [one.resource for one in held] == ["nvidia.com/gpu", "cpu", "memory"]
    told = [(one.job, one.queue, one.held) for one in held[0].holders]
    assert (held[0].resource, held[0].unit, held[0].total, held[0].held, told) == gpus
    assert [(one.job, one.queue, one.held) for one in held[1].holders] == cpus
    assert held == devices_shown(found, nodes).resources


def test_what_no_job_holds_pods_without_one_hold() -> None:
    found = snapshot(*manifests("node n1 cpu=8"), pod("alone", node="n1", spec={"schedulerName": "other"}))
    [cpu, *_] = resources_held(found)
    assert cpu.holders == (JobHolderShown("", "", 1000),)


def test_nodes_without_devices_are_shown_only_where_they_are_asked_for() -> None:
    found = snapshot(node("n1"), vgpu_node("n2", device(0)))
    assert [one.node for one in devices_shown(found).nodes] == ["n2"]
    [one] = devices_shown(found, ["n1"]).nodes
    assert (one.node, one.devices, one.counted) == ("n1", (), ())


def test_an_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_devices, "NODES_SHOWN", 2)
    monkeypatch.setattr(shown_devices, "HOLDERS_SHOWN", 1)
    nodes = [vgpu_node(f"n{number}", device(0)) for number in (3, 2, 1)]
    found = devices_shown(snapshot(*nodes, *holding("a", part(0, 1, 1)), *holding("b", part(0, 1, 1))))

    assert (found.total, [one.node for one in found.nodes]) == (3, ["n1", "n2"])
    [first] = found.nodes[0].devices
    assert (len(first.holders), first.holder_count) == (1, 2)
