"""What is read of devices, of claims for them, and of the claims that a pod names."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support import devices as of
from tests.support import volumes
from tests.support.mirrors import World
from vsched.errors import BadObject
from vsched.mirror.ingest.claims import claims_of
from vsched.mirror.ingest.devices import claim_spec_of, device_claim_of, device_class_of, slice_of
from vsched.mirror.wire.base import Raw
from vsched.model.claims.devices import (
    ALL,
    AllocatedDevice,
    Allocation,
    CapacityPolicy,
    ClaimSpec,
    Consumer,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DeviceRequest,
    DeviceSelector,
    DeviceTaint,
    DeviceTraits,
    Version,
    device_model,
)
from vsched.model.nodes.table import Taint
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume
from vsched.model.pods.shape import NodeTerm, Requirement, Toleration

Fields = make.Fields
SINCE = "2026-08-01T10:00:00Z"
EPOCH = 1785578400.0
ONE = ClaimSpec(((DeviceRequest("gpu", of.DRIVER),),))
ON_N1 = (NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),)),)
GPU = DeviceId(of.DRIVER, "n1", "gpu-0")
MODEL = device_model(of.DRIVER)
POD = make.pod("p")


def spec_of(*requests: Fields, **fields: Any) -> ClaimSpec:
    return device_claim_of(make.decode(of.resource_claim("gpus", *requests, **fields)), "ns/gpus").spec


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(spec_of(), ONE, id="one device of a class"),
        pytest.param(
            spec_of(of.request("gpu", 2, "a", "b")),
            ClaimSpec(((DeviceRequest("gpu", of.DRIVER, (DeviceSelector("a"), DeviceSelector("b")), count=2),),)),
            id="two that two expressions select",
        ),
        pytest.param(
            spec_of(of.request("gpu", 0)), ClaimSpec(((DeviceRequest("gpu", of.DRIVER, mode=ALL),),)), id="all"
        ),
        pytest.param(
            spec_of(of.first_available("gpu", of.request("big", device_class="b"), of.request("small", 2))),
            ClaimSpec(((DeviceRequest("gpu/big", "b"), DeviceRequest("gpu/small", of.DRIVER, count=2)),)),
            id="the first that can be had",
        ),
        pytest.param(
            spec_of(of.request(adminAccess=True)),
            ClaimSpec(((DeviceRequest("gpu", of.DRIVER, admin=True),),)),
            id="for an administrator",
        ),
        pytest.param(
            spec_of(of.request(tolerations=[{"key": "k", "operator": "Exists", "effect": "NoExecute"}])),
            ClaimSpec(((DeviceRequest("gpu", of.DRIVER, tolerations=(Toleration("k", "Exists", "", "NoExecute"),)),),)),
            id="a toleration",
        ),
        pytest.param(
            spec_of(of.request(capacity={"requests": {"memory": "1500m"}})),
            ClaimSpec(((DeviceRequest("gpu", of.DRIVER, capacity=(("memory", 1500),)),),)),
            id="a part of a device, in thousandths",
        ),
        pytest.param(
            spec_of(constraints=[{"matchAttribute": "d/a", "requests": ["gpu"]}, {"distinctAttribute": "d/b"}]),
            ClaimSpec(ONE.requests, (DeviceConstraint("d/a", ("gpu",)), DeviceConstraint("d/b", distinct=True))),
            id="constraints",
        ),
    ],
)
def test_what_a_claim_asks_for(found: ClaimSpec, expected: ClaimSpec) -> None:
    assert found == expected


def test_equal_claims_ask_with_one_object() -> None:
    assert spec_of() is spec_of(metadata={"name": "other"})
    assert claim_spec_of(Raw(b'{"devices": {"requests": []}}')) is claim_spec_of(Raw(b'{"devices":{}}'))


CLAIM = DeviceClaim("ns/gpus", "uid-gpus", ONE)
HELD = Allocation((AllocatedDevice("gpu", GPU),), ON_N1)
CONSUMER = Consumer("uid-p", "p")
GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "pg", "uid": "uid-pg"}


def changed(record: Any, **fields: Any) -> Any:
    return type(record)(**{name: getattr(record, name) for name in record.__struct_fields__} | fields)


def awaited(*true: str, share: str | None = None) -> Fields:
    """An allocated claim whose device waits for a condition, with the conditions that are true."""
    claim = of.allocated(of.resource_claim(), "n1", "gpu-0")
    result = claim["status"]["allocation"]["devices"]["results"][0]
    result |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Broken"]}
    conditions = [{"type": name, "status": "True"} for name in true] + [{"type": "Other", "status": "False"}]
    said = {"driver": of.DRIVER, "pool": "n1", "device": "gpu-0", "conditions": conditions}
    claim["status"]["devices"] = [said | ({"shareID": share} if share else {})]
    return claim


WAITS = Allocation((AllocatedDevice("gpu", GPU, binding_conditions=("Ready",), binding_failures=("Broken",)),), ON_N1)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(of.resource_claim(), CLAIM, id="without devices"),
        pytest.param(
            of.allocated(of.resource_claim(), "n1", "gpu-0", pods=[POD]),
            changed(CLAIM, allocation=HELD, consumers=(CONSUMER,)),
            id="with a device, for a pod",
        ),
        pytest.param(
            of.resource_claim(status={"reservedFor": [GROUP]}),
            changed(CLAIM, consumers=(Consumer("uid-pg", "pg", "podgroups", "scheduling.k8s.io"),)),
            id="for a PodGroup",
        ),
        pytest.param(of.from_template(of.resource_claim(), POD), changed(CLAIM, owner="uid-p"), id="made for a pod"),
        pytest.param(
            of.resource_claim(metadata={"annotations": {"resource.kubernetes.io/extended-resource-claim": "true"}}),
            changed(CLAIM, extended=True),
            id="made for extended resources",
        ),
        pytest.param(
            of.resource_claim(metadata={"deletionTimestamp": SINCE}), changed(CLAIM, deleting=True), id="leaving"
        ),
        pytest.param(awaited(), changed(CLAIM, allocation=WAITS, ready=False), id="its device is not ready"),
        pytest.param(awaited("Ready"), changed(CLAIM, allocation=WAITS), id="its device is ready"),
        pytest.param(
            awaited("Broken"), changed(CLAIM, allocation=WAITS, ready=False, failed="Broken"), id="its device failed"
        ),
        pytest.param(
            awaited("Ready", share="other"), changed(CLAIM, allocation=WAITS, ready=False), id="another share is ready"
        ),
    ],
)
def test_a_claim(found: Fields, expected: DeviceClaim) -> None:
    assert device_claim_of(make.decode(found), "ns/gpus") == expected


def test_a_share_of_a_device() -> None:
    claim = of.allocated(of.resource_claim(), "n1", "gpu-0")
    claim["status"]["allocation"]["devices"]["results"][0] |= {
        "adminAccess": True,
        "shareID": "s",
        "consumedCapacity": {"memory": "2", "other.example.com/slots": "1"},
    }
    found = device_claim_of(make.decode(claim), "ns/gpus").allocation
    assert found is not None
    consumed = (("memory", 2000), ("other.example.com/slots", 1000))
    assert found.devices == (AllocatedDevice("gpu", GPU, True, "s", consumed),)


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
            lambda found: device_claim_of(found, "k"),
            of.resource_claim("gpus", {"name": "gpu", "deviceClassName": "old"}),
            "ResourceClaim ns/gpus: spec.devices.requests[0]: neither exactly nor firstAvailable",
            id="a request of an older version",
        ),
        pytest.param(
            lambda found: device_claim_of(found, "k"),
            of.resource_claim("gpus", of.request(count=-1)),
            "ResourceClaim ns/gpus: spec.devices.requests[0].exactly.count: -1 (expected 1 or more)",
            id="a count",
        ),
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
            "DeviceClass c: spec.selectors[0]: no cel (expected a CEL expression)",
            id="a selector of another kind",
        ),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(read: Any, found: Fields, begins: str) -> None:
    with pytest.raises(BadObject) as caught:
        read(make.decode(found))
    assert str(caught.value).startswith(begins)


TOKEN = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
MADE = [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]
ASKS = of.pod_claims(gpu="template/t")


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param({}, {}, None, id="no claims"),
        pytest.param({"volumes": [TOKEN]}, {}, None, id="volumes that are no claims"),
        pytest.param({"volumes": [], "resourceClaims": []}, {}, None, id="empty lists"),
        pytest.param(
            {"volumes": [TOKEN, *volumes.claim_volumes("data")]},
            {},
            PodClaims((PodVolume("data"),)),
            id="a volume claim",
        ),
        pytest.param(
            {"volumes": [volumes.ephemeral_volume()]},
            {},
            PodClaims((PodVolume("p-scratch", True),)),
            id="an ephemeral one",
        ),
        pytest.param({"volumes": [{"name": "v", "ephemeral": None}]}, {}, None, id="null is nothing"),
        pytest.param(
            {"resourceClaims": of.pod_claims(gpu="mine")},
            {},
            PodClaims((), (PodDevices("gpu", "ns/mine"),)),
            id="its own",
        ),
        pytest.param(
            {"resourceClaims": ASKS},
            {},
            PodClaims((), (PodDevices("gpu", "", "t"),)),
            id="from a template, not made yet",
        ),
        pytest.param(
            {"resourceClaims": ASKS},
            {"resourceClaimStatuses": MADE},
            PodClaims((), (PodDevices("gpu", "ns/p-gpu-x", "t"),)),
            id="from a template",
        ),
        pytest.param(
            {"resourceClaims": ASKS},
            {"resourceClaimStatuses": [{"name": "gpu"}]},
            PodClaims((), (PodDevices("gpu", "", "t", True),)),
            id="from a template that asks for nothing",
        ),
        pytest.param(
            {},
            {"extendedResourceClaimStatus": {"resourceClaimName": "p-extended"}},
            PodClaims(extended="p-extended"),
            id="made for its extended resources",
        ),
    ],
)
def test_the_claims_that_a_pod_names(spec: Fields, status: Fields, expected: PodClaims | None) -> None:
    assert claims_of(make.decode(make.pod("p", spec=spec, status=status))) == expected


def test_a_pod_with_claims_without_end_is_one_clear_line() -> None:
    many = make.pod("p", spec={"volumes": volumes.claim_volumes(*map(str, range(600)))})
    with pytest.raises(BadObject) as caught:
        claims_of(make.decode(many))
    assert str(caught.value) == "spec.volumes: 600 entries (512 are read at most)"


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
