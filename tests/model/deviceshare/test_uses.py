"""Who holds parts of which device of a node."""

from __future__ import annotations

import pytest

from vsched.model.deviceshare.records import (
    DeviceKind,
    DevicePod,
    DeviceShareCatalogue,
    HeldPart,
    NodeDevices,
    SharedDevice,
)
from vsched.model.deviceshare.uses import DeviceHolder, DeviceSlots, DeviceUse, device_uses

FIRST, SECOND = SharedDevice(0, "GPU-0", memory=100), SharedDevice(3, "GPU-3", memory=100)
NODE = NodeDevices("n1", devices=(FIRST, SECOND))


@pytest.mark.parametrize(
    ("part", "slot"),
    [
        pytest.param(HeldPart(-1, uuid="GPU-3"), 1, id="by uuid"),
        pytest.param(HeldPart(3), 1, id="by number"),
        pytest.param(HeldPart(0, uuid="GPU-9"), None, id="a uuid that the node does not register"),
        pytest.param(HeldPart(1), None, id="a number that the node does not have"),
    ],
)
def test_a_part_belongs_to_a_device(part: HeldPart, slot: int | None) -> None:
    assert DeviceSlots(NODE).find(part) == slot


def test_the_parts_of_a_pod_are_added_up_and_pods_of_other_kinds_left_out() -> None:
    two = ((HeldPart(-1, 100, 10, "GPU-0"),), (HeldPart(-1, 200, 20, "GPU-0"), HeldPart(-1, 5, 1, "GPU-3")))
    pods = (
        DevicePod("u1", "ns/a", DeviceKind.VGPU, two, leaving=True),
        DevicePod("u2", "ns/b", DeviceKind.VGPU, ((HeldPart(-1, 300, 30, "GPU-0"), HeldPart(-1, 1, 1, "GPU-9")),)),
        DevicePod("u3", "ns/c", DeviceKind.GPU, ((HeldPart(0, 1000),),)),
    )
    [(found, uses)] = device_uses(DeviceShareCatalogue({"n1": (NODE,)}, {"n1": pods}), "n1")

    assert found is NODE
    assert uses == [
        DeviceUse(
            FIRST, (DeviceHolder("ns/a", 300, 30, leaving=True), DeviceHolder("ns/b", 300, 30, leaving=False)), 3
        ),
        DeviceUse(SECOND, (DeviceHolder("ns/a", 5, 1, leaving=True),), 1),
    ]
    assert (uses[0].thousandths, uses[0].memory) == (600, 60)


def test_who_holds_an_instance_holds_all_of_its_memory() -> None:
    gpu = SharedDevice(0, "GPU-0", "NVIDIA-A100-SXM4-40GB", 40960)
    node = NodeDevices("n1", mode="mig", devices=(gpu,))
    held = ((HeldPart(-1, 0, 3000, "GPU-0", "group2-3"), HeldPart(-1, 0, 9, "GPU-0", "group2-9")),)
    pods = (DevicePod("u1", "ns/a", DeviceKind.VGPU, held),)
    [(_, uses)] = device_uses(DeviceShareCatalogue({"n1": (node,)}, {"n1": pods}), "n1")

    assert uses == [DeviceUse(gpu, (DeviceHolder("ns/a", 0, 5120 + 9, leaving=False),), 2)]


def test_a_node_without_devices_has_none() -> None:
    assert device_uses(DeviceShareCatalogue({"n1": (NODE,)}), "n2") == []
