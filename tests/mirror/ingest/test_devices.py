"""What is read of devices and of their classes, and who hears of broken selectors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support import devices as of
from tests.support import volumes
from tests.support.mirrors import World
from vsched.errors import BadObject
from vsched.mirror.ingest.devices import device_class_of, slice_of
from vsched.mirror.ingest.words import devices as words
from vsched.model.claims.devices import (
    CapacityPolicy,
    Device,
    DeviceClass,
    DeviceId,
    DeviceSelector,
    DeviceTaint,
    DeviceTraits,
    Version,
    device_model,
)
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import NodeTerm, Requirement

Fields = make.Fields
SINCE = "2026-08-01T10:00:00Z"
EPOCH = 1785578400.0
GPU = DeviceId(of.DRIVER, "n1", "gpu-0")
MODEL = device_model(of.DRIVER)


def test_a_class() -> None:
    found = of.device_class("c", "x", spec={"extendedResourceName": "e/gpu"}, metadata={"creationTimestamp": SINCE})
    assert device_class_of(make.decode(found)) == (DeviceClass("c", (DeviceSelector("x"),), "e/gpu"), EPOCH)


def devices_of(*devices: Fields, node: str = "n1", **fields: Any) -> tuple[Device, ...]:
    return slice_of(make.decode(of.resource_slice(node, devices, **fields))).devices


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(devices_of(of.device()), Device(GPU, MODEL, "n1"), id="on a node"),
        pytest.param(
            devices_of(of.device(), node="", pool="n1", spec={"allNodes": True}), Device(GPU, MODEL), id="for all nodes"
        ),
        pytest.param(
            devices_of(of.device(), node="", pool="n1", spec={"nodeSelector": volumes.in_topology("zone", "a")}),
            Device(GPU, MODEL, "", DeviceTraits(nodes=(NodeTerm((Requirement("zone", "In", ("a",)),)),))),
            id="for some nodes",
        ),
        pytest.param(
            devices_of(of.device(nodeName="n2"), node="", pool="n1", spec={"perDeviceNodeSelection": True}),
            Device(GPU, MODEL, "n2"),
            id="each on a node of its own",
        ),
        pytest.param(
            devices_of(of.device(), node="", pool="n1", spec={"perDeviceNodeSelection": True}),
            Device(GPU, MODEL, "", DeviceTraits(nodes=())),
            id="for no node",
        ),
        pytest.param(
            devices_of(
                of.device(
                    attributes={
                        "model": "x",
                        "d/on": True,
                        "count": 3,
                        "v": {"version": "1.2.3"},
                        "all": {"ints": [1]},
                    },
                    capacity={"memory": "2Ki"},
                )
            ),
            Device(
                GPU,
                device_model(
                    of.DRIVER,
                    (
                        ("count", 3),
                        ("d/on", True),
                        ("model", "x"),
                        ("v", Version("1.2.3")),
                    ),
                    (("memory", 2048_000),),
                ),
                "n1",
            ),
            id="what selectors see of it; lists are not known",
        ),
        pytest.param(
            devices_of(of.device(taints=("k=v:NoExecute",))),
            Device(GPU, MODEL, "n1", DeviceTraits(taints=(DeviceTaint(Taint("k", "v", "NoExecute")),))),
            id="a taint",
        ),
        pytest.param(
            devices_of(of.device(consumesCounters=[{"counterSet": "s", "counters": {"c": {"value": "1"}}}])),
            Device(GPU, MODEL, "n1", DeviceTraits(consumes=(("s", (("c", 1000),)),))),
            id="counters",
        ),
        pytest.param(
            devices_of(
                {
                    "name": "gpu-0",
                    "allowMultipleAllocations": True,
                    "capacity": {
                        "memory": {
                            "value": "4",
                            "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "4", "step": "500m"}},
                        },
                        "slots": {"value": "2", "requestPolicy": {"default": "1", "validValues": ["2", "1"]}},
                    },
                }
            ),
            Device(
                GPU,
                device_model(of.DRIVER, (), (("memory", 4000), ("slots", 2000)), True),
                "n1",
                DeviceTraits(
                    policies=(
                        ("memory", CapacityPolicy(1000, (), 1000, 4000, 500)),
                        ("slots", CapacityPolicy(1000, (1000, 2000))),
                    )
                ),
            ),
            id="parts of it can be had, by rules",
        ),
        pytest.param(
            devices_of(of.device(bindsToNode=True, bindingConditions=["R"], bindingFailureConditions=["F"])),
            Device(
                GPU, MODEL, "n1", DeviceTraits(binds_to_node=True, binding_conditions=("R",), binding_failures=("F",))
            ),
            id="binding conditions",
        ),
    ],
)
def test_a_device(found: tuple[Device, ...], expected: Device) -> None:
    assert found == (expected,)


def test_devices_share_equal_traits() -> None:
    taints = ("k=v:NoExecute",)
    first, second, other = devices_of(of.device("a", taints=taints), of.device("b", taints=taints), of.device("c"))
    assert first.traits is second.traits != other.traits


def test_devices_that_are_alike_share_their_model() -> None:
    first, second = devices_of(of.device("a", attributes={"m": "x"}), of.device("b", attributes={"m": "x"}))
    assert first.model is second.model


def test_devices_with_ids_of_their_own_share_everything_but_values() -> None:
    first, second, other = (
        device.model
        for device in devices_of(
            of.device("a", attributes={"id": "1", "m": "x"}, capacity={"memory": "8"}),
            of.device("b", attributes={"id": "2", "m": "x"}, capacity={"memory": "8"}),
            of.device("c", attributes={"id": "3", "m": "x"}, capacity={"memory": "9"}),
        )
    )
    assert (first.values, second.values, other.values) == (("1", "x"), ("2", "x"), ("3", "x"))
    assert first.series is second.series
    assert second.series != other.series


def test_devices_that_differ_in_true_and_1_do_not_share_their_model() -> None:
    found = devices_of(of.device("a", attributes={"m": True}), of.device("b", attributes={"m": 1}))
    assert [repr(device.model.attributes) for device in found] == ["(('m', True),)", "(('m', 1),)"]


@pytest.mark.parametrize(
    ("read", "found", "begins"),
    [
        pytest.param(
            slice_of,
            of.resource_slice("n1", [of.device(capacity={"memory": "x"})]),
            "ResourceSlice n1-gpu.example.com: spec.devices[0].capacity[memory]: 'x' is not a quantity",
            id="a capacity",
        ),
        pytest.param(
            slice_of,
            of.resource_slice("n1", [of.device(taints=("k:Never",))]),
            "ResourceSlice n1-gpu.example.com: spec.devices[0].taints[0].effect: 'Never' is unknown",
            id="a taint",
        ),
        pytest.param(
            device_class_of,
            of.device_class("c", spec={"selectors": [{}]}),
            words.no_cel("DeviceClass c: spec.selectors", 0),
            id="a selector of another kind",
        ),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(read: Any, found: Fields, begins: str) -> None:
    with pytest.raises(BadObject) as caught:
        read(make.decode(found))
    assert str(caught.value).startswith(begins)


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        pytest.param(
            of.device_class("c", "true", "device.driver =="),
            "DeviceClass c: spec.selectors[1].cel.expression: 1:17: Syntax error: mismatched input '<EOF>'",
            id="a class",
        ),
        pytest.param(
            of.resource_claim("gpus", of.request(), of.request("more", 1, "gpu.model == 'x'")),
            "ResourceClaim ns/gpus: spec.devices.requests[1].exactly.selectors[0].cel.expression: 1:1: undeclared",
            id="a request",
        ),
        pytest.param(
            of.resource_claim("gpus", of.first_available("any", of.request("a"), of.request("b", 1, "("))),
            "ResourceClaim ns/gpus: spec.devices.requests[0].firstAvailable[1].selectors[0].cel.expression: 1:2:",
            id="an alternative",
        ),
    ],
)
def test_the_owner_of_a_broken_selector_hears_of_it_and_the_object_is_kept(found: Fields, complaint: str) -> None:
    world = World(found)
    [problem] = world.cache.blemished.values()
    assert problem.message.startswith(complaint)
    assert (problem.left_out, "\n" in problem.message) == (False, False)
    devices = world.snapshot().claims.devices
    assert len(devices.classes) + len(devices.claims) == 1


def test_selectors_that_compile_are_no_problem() -> None:
    world = World(of.device_class("c"), of.resource_claim("gpus", of.request("gpu", 1, "device.driver == 'x'")))
    assert not world.cache.blemished
