"""Shared devices in a cluster on paper: new nodes have some, lost nodes have none, and what is decided is held."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.deviceshare import IDS, asking, device, device_policy, devices, part, pods, vgpu_node
from tests.support.plans import NOW, mirror, policy_from
from vsched.explain.edits.nodes import AddNodes, AddPoolNodes, LabelNodes, PoolNode
from vsched.explain.edits.others import EndJobs
from vsched.explain.edits.pods import SetDeviceAmount
from vsched.explain.edits.rules import DropRule
from vsched.framework.cycle import run_cycle
from vsched.mirror.whatif.editor import ClusterChange, ClusterEditor
from vsched.model.deviceshare.asking import has_wishes
from vsched.model.deviceshare.records import DeviceShareCatalogue, NodeDevices, SharedDevice
from vsched.model.deviceshare.uses import device_uses
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

Obj = dict[str, Any]
POLICY = policy_from(device_policy(actions="enqueue, allocate"))
WAITING = pods("job ns/j min=1 pods=1", asking(vgpu_number=1, vgpu_memory=80))
HOLDING = pods(
    "job ns/a min=0 phase=Running\npods ns/a 1 on=n1", asking(vgpu_number=1, vgpu_memory=60), **{IDS: part(0, 60, 0)}
)
ILL = "GPU-0,10,100,V100,false,hami-core:GPU-1,10,100,V100,true,hami-core:"


def editor(*objects: Obj) -> ClusterEditor:
    return ClusterEditor(freeze(mirror(list(objects)).snapshot(NOW)))


def registered(found: DeviceShareCatalogue) -> dict[str, tuple[NodeDevices, ...]]:
    return dict(found.nodes)


def bound(snapshot: Snapshot) -> dict[str, dict[str, str]]:
    """By node: the devices of the pods that are bound there."""
    report = run_cycle(snapshot, POLICY, REGISTRY)
    return {one.node: {one.name: dict(one.annotations)[IDS]} for one in report.binds}


def test_nodes_like_another_have_devices_of_their_own_that_are_healthy_and_free() -> None:
    found = editor(vgpu_node("n1", ILL), *HOLDING, *WAITING)
    edited = found.edited([AddNodes("n1", 2)])

    shares = edited.device_shares
    assert sorted(shares.nodes) == ["n1", "n1-new-1", "n1-new-2"]
    [like] = shares.nodes["n1"]
    [new] = shares.nodes["n1-new-1"]
    assert (new.node, new.kind, new.mode) == ("n1-new-1", like.kind, like.mode)
    assert [one.uuid for one in new.devices] == ["n1-new-1-0", "n1-new-1-1"]
    assert all(one.healthy and one.memory == 100 for one in new.devices)
    assert not any(use.holders for _, uses in device_uses(shares, "n1-new-1") for use in uses)


def test_what_is_taken_back_leaves_no_devices_behind() -> None:
    found = editor(vgpu_node("n1", devices(1)))
    before = registered(found.edited([]).device_shares)
    assert len(registered(found.edited([AddNodes("n1", 2)]).device_shares)) == 3
    assert registered(found.edited([]).device_shares) == before


def test_a_pod_goes_to_a_new_node_with_devices_and_holds_them() -> None:
    found = editor(vgpu_node("n1", devices(1, memory=100)), *HOLDING, *WAITING)
    assert bound(found.edited([])) == {}
    edited = found.edited([AddNodes("n1", 1)])
    assert bound(edited) == {"n1-new-1": {"j.0": "n1-new-1-0,NVIDIA,80,0:"}}

    found.settle(run_cycle(edited, POLICY, REGISTRY))
    [(_, [use])] = device_uses(found.snapshot(NOW).device_shares, "n1-new-1")
    assert [(one.pod, one.memory) for one in use.holders] == [("ns/j.0", 80)]


def test_a_job_that_ends_frees_its_devices() -> None:
    found = editor(vgpu_node("n1", devices(1, memory=100)), *HOLDING, *WAITING)
    assert bound(found.edited([EndJobs(("ns/a",))])) == {"n1": {"j.0": "GPU-0,NVIDIA,80,0:"}}
    assert bound(found.edited([])) == {}


def test_nodes_of_a_pool_have_the_devices_of_the_pool() -> None:
    kind = NodeDevices("like", mode="hami-core", devices=(SharedDevice(0, "GPU-9", "A100", 100, 10),))
    amounts = {"cpu": 64000, "pods": 110, "volcano.sh/vgpu-number": 10000, "volcano.sh/vgpu-memory": 100000}
    found = editor(vgpu_node("n1", device(0, memory=50)), *WAITING)
    edited = found.edited([AddPoolNodes("big", (PoolNode({}, (), amounts, (kind,)),), 1)])
    assert bound(edited) == {"big-new-1": {"j.0": "big-new-1-0,NVIDIA,80,0:"}}


def test_a_lost_node_goes_with_its_devices() -> None:
    found = editor(vgpu_node("n1", devices(1)), vgpu_node("n2", devices(1)))
    found.lose_node("n1")
    assert list(found.snapshot(NOW).device_shares.nodes) == ["n2"]


def test_changes_of_a_node_leave_its_devices() -> None:
    found = editor(vgpu_node("n1", devices(2)))
    before = registered(found.edited([]).device_shares)
    assert registered(found.edited([LabelNodes(("n1",), {"rack": "r1"})]).device_shares) == before

    manifest = found.node("n1")
    assert manifest is not None
    manifest["metadata"]["labels"]["rack"] = "r2"
    found.tell(manifest)
    assert registered(found.snapshot(NOW).device_shares) == before


# -- pods that ask for less -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edits", "amounts"),
    [
        pytest.param(
            [SetDeviceAmount("ns/j", "memory", 40)],
            {"vgpu_number": 2, "vgpu_memory": 40, "vgpu_cores": 20},
            id="memory",
        ),
        pytest.param(
            [SetDeviceAmount("ns/j", "cores", 10)], {"vgpu_number": 2, "vgpu_memory": 80, "vgpu_cores": 10}, id="cores"
        ),
        pytest.param(
            [SetDeviceAmount("ns/j", "number", 1), SetDeviceAmount("ns/j", "memory", 30)],
            {"vgpu_number": 1, "vgpu_memory": 30, "vgpu_cores": 20},
            id="devices, and memory of each",
        ),
        pytest.param(
            [SetDeviceAmount("ns/j", "memory", 90)],
            {"vgpu_number": 2, "vgpu_memory": 80, "vgpu_cores": 20},
            id="no more than it asks for",
        ),
    ],
)
def test_a_pod_that_asks_for_less_is_as_one_that_was_written_so(
    edits: list[ClusterChange], amounts: dict[str, int]
) -> None:
    line = "job ns/j min=1 pods=1 minResources=cpu:1"
    asked = pods(line, asking(vgpu_number=2, vgpu_memory=80, vgpu_cores=20))
    node = vgpu_node("n1", devices(2))
    edited = editor(node, *asked).edited(edits).jobs["ns/j"]
    written = mirror([node, *pods(line, asking(**amounts))]).snapshot(NOW).jobs["ns/j"]
    [found], [wanted] = edited.pending.values(), written.pending.values()
    assert found.shape.devices == wanted.shape.devices
    assert found.shape.request == wanted.shape.request
    assert edited.spec.min_resources == written.spec.min_resources


def test_the_minimum_of_a_job_goes_down_with_its_pods() -> None:
    line = "job ns/j min=2 pods=3 minResources=volcano.sh/vgpu-memory:200"
    found = editor(vgpu_node("n1", devices(1)), *pods(line, asking(vgpu_number=1, vgpu_memory=80)))
    spec = found.edited([SetDeviceAmount("ns/j", "memory", 50)]).jobs["ns/j"].spec
    assert [amount for _, amount in spec.min_resources or ()] == [140_000]
    assert [amount for _, amount in found.edited([]).jobs["ns/j"].spec.min_resources or ()] == [200_000]


def test_wishes_are_dropped() -> None:
    asked = pods("job ns/j min=1 pods=1", asking(vgpu_number=1), **{"nvidia.com/use-gputype": "A100"})
    [task] = (
        editor(vgpu_node("n1", devices(1)), *asked)
        .edited([DropRule("ns/j", "deviceWishes")])
        .jobs["ns/j"]
        .pending.values()
    )
    assert task.shape.devices is not None
    assert not has_wishes(task.shape.devices)
