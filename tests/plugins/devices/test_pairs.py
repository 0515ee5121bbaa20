"""Whole devices, devices in parts and devices by claims on one node: none is given twice where it is known by uuid."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import devices as d
from tests.support.deviceshare import IDS, asking, device_policy, devices, part, pods, vgpu_node
from tests.support.plans import Plan, decide, policy_from
from vsched.framework.words.nodes import TOO_FEW_DEVICES
from vsched.plugins.words import devices as words

Obj = dict[str, Any]
POLICY = policy_from(device_policy(actions="allocate, preempt"))
ONE = "job ns/j min=1 pods=1"
WHOLE = "nvidia.com/gpu"
BESIDE = words.too_few(1, words.BESIDE_CLAIMS)
TOO_FEW = TOO_FEW_DEVICES


def node(count: int = 2, **amounts: str) -> Obj:
    """A node with vGPUs ``GPU-0`` and so on, and these amounts of other resources."""
    return vgpu_node("n1", devices(count, memory=100), status={"allocatable": amounts, "capacity": amounts})


def published(*uuids: str, attribute: str = "uuid", where: str = "n1", **more: Any) -> Obj:
    """A slice of devices ``gpu-0`` and so on with these uuids."""
    found = [d.device(f"gpu-{at}", attributes={attribute: uuid}, **more) for at, uuid in enumerate(uuids)]
    return d.resource_slice(where, found)


def claiming(line: str = ONE, **spec: Any) -> list[Obj]:
    """A pod with a claim of one device, and the claim."""
    found = pods(line, asking())
    for one in found:
        if one["kind"] == "Pod":
            one["spec"] |= {"resourceClaims": d.pod_claims(gpu="gpus"), **spec}
    return [*found, d.device_class(), d.resource_claim("gpus")]


def holding(text: str, name: str = "old", **more: Any) -> list[Obj]:
    """A running pod that holds parts of devices of the node."""
    line = f"job ns/{name} min=0 phase=Running\npods ns/{name} 1 on=n1"
    found = pods(line, asking(vgpu_number=1, vgpu_memory=10), **{IDS: text})
    for one in found:
        if one["kind"] == "Pod":
            one["metadata"] |= more
    return found


def decided(objects: list[Obj]) -> Plan:
    return decide(objects, POLICY)


def parts_given(plan: Plan) -> dict[str, str]:
    return {bind.name: dict(bind.annotations).get(IDS, "") for report in plan.reports for bind in report.binds}


def claimed(plan: Plan) -> dict[str, list[str]]:
    """The devices that claims got, by pod."""
    return {
        bind.name: [one.device.device for choice in bind.claims.devices for one in choice.allocation.devices]
        for report in plan.reports
        for bind in report.binds
        if bind.claims is not None
    }


def whole(line: str = ONE) -> list[Obj]:
    """Pods with a whole GPU of NVIDIA's device plugin."""
    return pods(line, {"name": "c", "resources": {"limits": {WHOLE: "1"}}})


@pytest.mark.parametrize(
    ("objects", "why"),
    [
        pytest.param([node(), *whole()], "Insufficient nvidia.com/gpu", id="vGPUs are no whole GPUs"),
        pytest.param(
            [node(**{WHOLE: "2"}), *pods(ONE, asking(gpu_memory=1))],
            "the policy does not enable volcano.sh/gpu-memory",
            id="neither are they memory of GPUs",
        ),
        pytest.param(
            [node(), published("GPU-0", "GPU-1"), *pods(ONE, asking(vgpu_number=1, vgpu_memory=1))],
            BESIDE,
            id="of a device that a driver publishes no parts are given out",
        ),
        pytest.param(
            [node(), published("GPU-1"), *pods(ONE, asking(vgpu_number=2, vgpu_memory=1))],
            words.too_few(2, words.BESIDE_CLAIMS),
            id="the other one alone is not enough",
        ),
        pytest.param(
            [
                node(1),
                published("GPU-0", attribute="parentUUID"),
                *pods(ONE, asking(vgpu_number=1, vgpu_memory=1)),
            ],
            BESIDE,
            id="neither are parts of one whose partitions it publishes",
        ),
        pytest.param(
            [node(), published("GPU-0"), *holding(part(0, 10, 0)), *claiming()],
            TOO_FEW,
            id="no claim gets a device of which a pod holds a part",
        ),
        pytest.param(
            [node(), published("GPU-0"), *holding(part(0, 10, 0) + part(1, 10, 0)), *claiming()],
            TOO_FEW,
            id="or several parts",
        ),
        pytest.param(
            [node(), published("GPU-0", attribute="gpu.nvidia.com/parentUUID"), *holding(part(0, 10, 0)), *claiming()],
            TOO_FEW,
            id="or a partition of it",
        ),
        pytest.param(
            [
                node(),
                published("GPU-0", capacity={"memory": "80Gi"}, allowMultipleAllocations=True),
                *holding(part(0, 10, 0)),
                *claiming(),
            ],
            TOO_FEW,
            id="or a share of it",
        ),
        pytest.param(
            [
                node(),
                d.device_class(spec={"extendedResourceName": WHOLE}),
                published("GPU-0"),
                *holding(part(0, 10, 0)),
                *whole(),
            ],
            TOO_FEW,
            id="or as an extended resource that a class serves",
        ),
        pytest.param(
            [
                vgpu_node("n1", devices(1), "Deleted_2026"),
                published("GPU-0"),
                *holding(part(0, 10, 0)),
                *claiming(),
            ],
            TOO_FEW,
            id="also where the device plugin has left since",
        ),
    ],
)
def test_a_pod_waits(objects: list[Obj], why: str) -> None:
    found = decided(objects)
    assert not found.order
    assert why in found.why("ns/j.0")


@pytest.mark.parametrize(
    ("objects", "parts", "claims"),
    [
        pytest.param(
            [node(), published("GPU-1"), *pods(ONE, asking(vgpu_number=1, vgpu_memory=1))],
            {"j.0": part(0, 1, 0)},
            {},
            id="parts of devices that no driver publishes",
        ),
        pytest.param(
            [node(), published("GPU-0", "GPU-1", where="n2"), *pods(ONE, asking(vgpu_number=1, vgpu_memory=1))],
            {"j.0": part(1, 1, 0)},
            {},
            id="another node's devices do not count",
        ),
        pytest.param(
            [node(), published("GPU-0", "GPU-1"), *holding(part(0, 10, 0)), *claiming()],
            {"j.0": ""},
            {"j.0": ["gpu-1"]},
            id="a claim gets a device that nobody holds",
        ),
        pytest.param(
            [node(), published("GPU-8", "GPU-9"), *holding(part(0, 10, 0)), *claiming()],
            {"j.0": ""},
            {"j.0": ["gpu-0"]},
            id="devices with other uuids are others",
        ),
        pytest.param(
            [node(), published("GPU-0", attribute="serial"), *holding(part(0, 10, 0)), *claiming()],
            {"j.0": ""},
            {"j.0": ["gpu-0"]},
            id="without a uuid nothing is known: each counts by itself",
        ),
        pytest.param(
            [
                node(**{WHOLE: "1"}),
                *holding(part(0, 100, 100) + part(1, 100, 100)),
                *whole("job ns/w min=1 pods=1"),
            ],
            {"w.0": ""},
            {},
            id="whole GPUs of a device plugin count by themselves",
        ),
        pytest.param(
            [
                node(**{WHOLE: "1"}),
                *whole("job ns/w min=0 phase=Running\npods ns/w 1 on=n1"),
                *pods(ONE, asking(vgpu_number=2, vgpu_cores=100)),
            ],
            {"j.0": part(0, 100, 100) + part(1, 100, 100)},
            {},
            id="and leave all parts to others",
        ),
        pytest.param(
            [node(**{WHOLE: "1"}), published("GPU-0"), *claiming(), *whole("job ns/w min=1 pods=1")],
            {"j.0": "", "w.0": ""},
            {"j.0": ["gpu-0"]},
            id="whole GPUs and claims count by themselves",
        ),
    ],
)
def test_what_pods_get(objects: list[Obj], parts: dict[str, str], claims: dict[str, list[str]]) -> None:
    found = decided(objects)
    assert (parts_given(found), claimed(found)) == (parts, claims)


def test_a_claim_waits_for_the_device_that_a_leaving_pod_holds() -> None:
    leaving = holding(part(0, 10, 0), deletionTimestamp="2026-01-01T00:00:00Z")
    found = decided([node(), published("GPU-0"), *leaving, *claiming()])
    assert not found.order
    assert found.jobs["ns/j"].code == "Leaving"


def test_one_pod_has_a_claim_and_a_part_of_another_device() -> None:
    found = decided([node(), published("GPU-1"), *claiming(containers=[asking(vgpu_number=1, vgpu_memory=7)])])
    assert (parts_given(found), claimed(found)) == ({"j.0": part(0, 7, 0)}, {"j.0": ["gpu-0"]})
