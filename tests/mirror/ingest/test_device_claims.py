"""What is read of claims for devices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support import devices as of
from vsched.api.base import Raw
from vsched.errors import BadObject
from vsched.mirror.ingest.device_claims import claim_spec_of, device_claim_of
from vsched.mirror.ingest.words import devices as words
from vsched.model.claims.devices import (
    ALL,
    AllocatedDevice,
    AllocationResult,
    ClaimConsumer,
    ClaimSpec,
    DeviceClaim,
    DeviceConstraint,
    DeviceId,
    DeviceRequest,
    DeviceSelector,
)
from vsched.model.pods.shape import NodeTerm, Requirement, Toleration

Fields = make.Fields
SINCE = "2026-08-01T10:00:00Z"
ONE = ClaimSpec(((DeviceRequest("gpu", of.DRIVER),),))
ON_N1 = (NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),)),)
GPU = DeviceId(of.DRIVER, "n1", "gpu-0")
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
HELD = AllocationResult((AllocatedDevice("gpu", GPU),), ON_N1)
CONSUMER = ClaimConsumer("uid-p", "p")
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


WAITS = AllocationResult(
    (AllocatedDevice("gpu", GPU, binding_conditions=("Ready",), binding_failures=("Broken",)),), ON_N1
)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(of.resource_claim(), CLAIM, id="without devices"),
        pytest.param(
            of.allocated(of.resource_claim(), "n1", "gpu-0", pods=[POD]),
            changed(CLAIM, allocation=HELD, consumers=(CONSUMER,), protected=True),
            id="with a device, for a pod",
        ),
        pytest.param(
            of.resource_claim(status={"reservedFor": [GROUP]}),
            changed(CLAIM, consumers=(ClaimConsumer("uid-pg", "pg", "podgroups", "scheduling.k8s.io"),)),
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
        pytest.param(
            awaited(), changed(CLAIM, protected=True, allocation=WAITS, ready=False), id="its device is not ready"
        ),
        pytest.param(awaited("Ready"), changed(CLAIM, protected=True, allocation=WAITS), id="its device is ready"),
        pytest.param(
            awaited("Broken"),
            changed(CLAIM, protected=True, allocation=WAITS, ready=False, failed="Broken"),
            id="its device failed",
        ),
        pytest.param(
            awaited("Ready", share="other"),
            changed(CLAIM, protected=True, allocation=WAITS, ready=False),
            id="another share is ready",
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


@pytest.mark.parametrize(
    ("found", "begins"),
    [
        pytest.param(
            of.resource_claim("gpus", {"name": "gpu", "deviceClassName": "old"}),
            "ResourceClaim ns/gpus: spec.devices.requests[0]: neither exactly nor firstAvailable",
            id="a request of an older version",
        ),
        pytest.param(
            of.resource_claim("gpus", of.request(count=-1)),
            words.less_than_one_device("ResourceClaim ns/gpus: spec.devices.requests[0].exactly", -1),
            id="a count",
        ),
        pytest.param(
            of.resource_claim(
                "gpus", of.request(selectors=[{"cel": {"expression": "true" + " " * 10_000}} for _ in range(4)])
            ),
            words.long_selectors("ResourceClaim ns/gpus: spec.devices", 40016, 32768),
            id="long selectors",
        ),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(found: Fields, begins: str) -> None:
    with pytest.raises(BadObject) as caught:
        device_claim_of(make.decode(found), "k")
    assert str(caught.value).startswith(begins)
