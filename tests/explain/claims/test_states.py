"""What is said of the claims of pods that wait."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.recording import snapshot_of
from vsched.explain.claims.selectors import in_words
from vsched.explain.claims.states import NAMES_MAX, claims_of
from vsched.explain.records import ClaimState
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import (
    ALL,
    AllocatedDevice,
    AllocationResult,
    ClaimConsumer,
    ClaimSpec,
    DeviceClaim,
    DeviceClass,
    DeviceConstraint,
    DeviceId,
    DeviceRequest,
    DeviceSelector,
)
from vsched.model.claims.volumes import NO_PROVISIONER, StorageClass, Volume, VolumeClaim
from vsched.model.pods.claims import PodClaims, PodDevices, PodVolume
from vsched.model.pods.shape import NodeTerm, Requirement
from vsched.model.pods.task import Task

ZONE_A = NodeTerm((Requirement("topology.kubernetes.io/zone", "In", ("a",)),))
ON_N1 = NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),))
CLASSES = {
    "fast": StorageClass("fast", "csi.example.com", waits=True, topologies=(ZONE_A,)),
    "made": StorageClass("made", NO_PROVISIONER, waits=True),
    "now": StorageClass("now", "csi.example.com"),
}
VOLUMES = {
    "pv-a": Volume("pv-a", affinity=(ZONE_A,)),
    "pv-any": Volume("pv-any"),
    "pv-free": Volume("pv-free", "made"),
}
GPUS = ClaimSpec(((DeviceRequest("gpus", "gpu", count=2),),))
HAD = AllocationResult((AllocatedDevice("gpus", DeviceId("gpu.example.com", "n1", "gpu-0")),), (ON_N1,))


def pod(claims: PodClaims, number: int = 0) -> Task:
    """A pod of namespace x that waits."""
    [task] = snapshot_of("node n1 cpu=1\njob x/train pods=1").jobs["x/train"].tasks.values()
    return replace(task, uid=f"uid-{number}", name=f"train-{number}", claims=claims)


def of_volume(claim: VolumeClaim | None, *, ephemeral: bool = False) -> ClaimState:
    """What is said of a claim of a pod's volume."""
    volumes = VolumeCatalogue(
        claims={} if claim is None else {claim.key: claim},
        volumes=VOLUMES,
        classes=CLASSES,
        available={"made": (VOLUMES["pv-free"],)},
    )
    [said] = claims_of([pod(PodClaims((PodVolume("data", ephemeral),)))], ClaimCatalogue(volumes=volumes))
    return said


def of_devices(claim: DeviceClaim | None, /, **entry: Any) -> ClaimState:
    """What is said of a resource claim of a pod."""
    devices = DeviceCatalogue(claims={} if claim is None else {claim.key: claim}, classes={"gpu": DeviceClass("gpu")})
    named = PodDevices("gpu", **({"claim": "x/gpus"} | entry))
    [said] = claims_of([pod(PodClaims(devices=(named,)))], ClaimCatalogue(devices=devices))
    return said


def volume(**fields: Any) -> VolumeClaim:
    """A claim of 1Gi."""
    return VolumeClaim(**({"key": "x/data", "uid": "uid-data", "request": 1 << 30} | fields))


def devices(**fields: Any) -> DeviceClaim:
    """A claim of two devices."""
    return DeviceClaim(**({"key": "x/gpus", "uid": "uid-gpus", "spec": GPUS} | fields))


@pytest.mark.parametrize(
    ("claim", "state", "usable"),
    [
        pytest.param(None, "does not exist", False, id="no such claim"),
        pytest.param(volume(lost=True), "is lost: its volume is gone", False, id="lost"),
        pytest.param(volume(deleting=True), "is being deleted", False, id="being deleted"),
        pytest.param(
            volume(volume="pv-a", bound=True),
            "is bound to PersistentVolume pv-a, usable in zone a",
            True,
            id="bound to a volume of a zone",
        ),
        pytest.param(
            volume(volume="pv-any", bound=True),
            "is bound to PersistentVolume pv-any",
            True,
            id="bound, usable anywhere",
        ),
        pytest.param(
            volume(volume="gone", bound=True),
            "is bound to PersistentVolume gone, which does not exist",
            False,
            id="bound to a volume that is gone",
        ),
        pytest.param(
            volume(volume="pv-free", storage_class="made"),
            "PersistentVolume pv-free is chosen but not bound yet",
            True,
            id="a static volume is chosen",
        ),
        pytest.param(
            volume(selected_node="n1", storage_class="fast"),
            "a volume is being made for node n1",
            True,
            id="a volume is being made",
        ),
        pytest.param(
            volume(storage_class="fast"),
            "gets a volume with the pod's node: one can be made in zone a",
            True,
            id="waits for its first pod, and a volume can be made",
        ),
        pytest.param(
            volume(storage_class="made"),
            "gets a volume with the pod's node: 0 volumes of its class are free and large enough",
            True,
            id="waits for its first pod, and people make the volumes",
        ),
        pytest.param(
            volume(storage_class="now"),
            "is not bound: the volume controller binds claims of class now before pods are placed",
            False,
            id="immediate, and not bound",
        ),
        pytest.param(
            volume(storage_class="gone"), "cannot be bound: StorageClass gone does not exist", False, id="no such class"
        ),
        pytest.param(
            volume(),
            "is not bound: it names no storage class and no volume without a class is free",
            False,
            id="it names no class",
        ),
    ],
)
def test_a_volume_claim_has_a_state(claim: VolumeClaim | None, state: str, usable: bool) -> None:
    said = of_volume(claim)
    assert (said.state, said.usable) == (state, usable)
    assert (said.kind, said.names) == ("PersistentVolumeClaim", ("data",))


def test_an_ephemeral_claim_must_be_made_for_the_pod() -> None:
    assert of_volume(None, ephemeral=True).state == "is not made yet"
    assert of_volume(volume(owner="other"), ephemeral=True).state == "was not made for this pod"
    assert of_volume(volume(owner="uid-0", storage_class="fast"), ephemeral=True).usable


def test_a_volume_claim_says_what_it_asks_for() -> None:
    said = of_volume(volume(storage_class="fast", modes=("ReadWriteOnce", "ReadOnlyMany")))
    assert said.asks == "1Gi of class fast, ReadWriteOnce, ReadOnlyMany"


@pytest.mark.parametrize(
    ("claim", "state", "usable"),
    [
        pytest.param(None, "does not exist", False, id="no such claim"),
        pytest.param(devices(deleting=True), "is being deleted", False, id="being deleted"),
        pytest.param(devices(), "has no devices yet", True, id="without devices"),
        pytest.param(
            devices(spec=ClaimSpec(((DeviceRequest("r", "gone"),),))),
            "asks for DeviceClass gone, which does not exist",
            False,
            id="no such class",
        ),
        pytest.param(
            devices(allocation=HAD, consumers=(ClaimConsumer("uid-1", "a"), ClaimConsumer("uid-2", "b"))),
            "has 1 device on node n1: n1/gpu-0; reserved for 2 pods",
            True,
            id="with devices on a node",
        ),
        pytest.param(
            devices(allocation=HAD, consumers=tuple(ClaimConsumer(f"u{number}", "a") for number in range(256))),
            "has 1 device on node n1: n1/gpu-0; reserved for 256 pods, the maximum",
            False,
            id="reserved for as many pods as possible",
        ),
        pytest.param(
            devices(allocation=HAD, ready=False),
            "has 1 device on node n1: n1/gpu-0; they are being prepared",
            True,
            id="its devices are being prepared",
        ),
        pytest.param(
            devices(allocation=HAD, failed="LinkDown"),
            "has 1 device on node n1: n1/gpu-0; their condition LinkDown says that they cannot be used",
            False,
            id="a device failed",
        ),
    ],
)
def test_a_resource_claim_has_a_state(claim: DeviceClaim | None, state: str, usable: bool) -> None:
    said = of_devices(claim)
    assert (said.state, said.usable) == (state, usable)
    assert (said.kind, said.names) == ("ResourceClaim", ("gpus",))


def test_a_claim_of_a_template_is_made_for_each_pod() -> None:
    absent = of_devices(None, claim="", template="big")
    assert (absent.names, absent.state) == (("train-0-gpu",), "is not made yet from ResourceClaimTemplate big")
    assert of_devices(devices(owner="other"), template="big").state == "was not made for this pod"
    assert of_devices(devices(owner="uid-0"), template="big").usable


def test_an_entry_without_a_claim_is_not_told() -> None:
    assert claims_of([pod(PodClaims(devices=(PodDevices("gpu", none=True),)))], ClaimCatalogue()) == ()


def test_a_resource_claim_says_what_it_asks_for() -> None:
    large = DeviceSelector('device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0')
    spec = ClaimSpec(
        (
            (DeviceRequest("gpus", "gpu", (large,), count=2, capacity=(("gpu.example.com/memory", 10_000 << 30),)),),
            (DeviceRequest("net/fast", "rdma", mode=ALL), DeviceRequest("net/slow", "nic", admin=True)),
        ),
        (DeviceConstraint("example.com/numa"), DeviceConstraint("example.com/port", ("net",), distinct=True)),
    )
    assert of_devices(devices(spec=spec)).asks == (
        "2 of class gpu with memory ≥ 80Gi and memory 10Gi of each; all of class rdma else 1 of class nic "
        "(admin access); all devices with the same numa; devices of net with different port"
    )


def test_equal_claims_of_a_gang_are_counted_together_and_those_that_cannot_be_used_come_first() -> None:
    pods = [pod(PodClaims((PodVolume(f"data-{number}"), PodVolume(f"lost-{number}"))), number) for number in range(9)]
    claims = [volume(key=f"x/data-{number}", storage_class="fast") for number in range(9)]
    lost = [volume(key=f"x/lost-{number}", lost=True) for number in range(9)]
    found = VolumeCatalogue(claims={claim.key: claim for claim in (*claims, *lost)}, classes=CLASSES)
    first, second = claims_of(pods, ClaimCatalogue(volumes=found))
    assert (first.count, first.usable, first.names[0]) == (9, False, "lost-0")
    assert (second.count, second.names) == (9, ("data-0", "data-1", "data-2"))
    assert len(second.names) == NAMES_MAX


MODEL = 'device.attributes["gpu.example.com"].model'
MEMORY = 'device.capacity["gpu.example.com"].memory'


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        pytest.param(f'{MODEL} == "h100"', "model h100", id="an attribute"),
        pytest.param('device.attributes["x.com"]["model"] == "h100"', "model h100", id="an attribute in brackets"),
        pytest.param(f'{MODEL} != "h100"', "model ≠ h100", id="another value"),
        pytest.param(f'{MODEL} in ["h100", "h200"]', "model h100 or h200", id="one of several values"),
        pytest.param(f'{MEMORY}.compareTo(quantity("80Gi")) >= 0', "memory ≥ 80Gi", id="a capacity"),
        pytest.param(f'{MEMORY}.isGreaterThan(quantity("40Gi"))', "memory > 40Gi", id="more than a capacity"),
        pytest.param('device.driver == "gpu.example.com"', "driver gpu.example.com", id="a driver"),
        pytest.param(
            f'{MODEL} == "a && b" && ({MEMORY}.compareTo(quantity("1Gi")) == 0)',
            "model a && b, memory 1Gi",
            id="two properties, one in brackets, with the operator in a text",
        ),
        pytest.param(
            f'{MODEL} == "a" || {MODEL}.startsWith("b")',
            f'`{MODEL} == "a" || {MODEL}.startsWith("b")`',
            id="an unusual expression is quoted",
        ),
        pytest.param(f"{MODEL}.matches({'x' * 300!r})", f"`{MODEL}.matches('{'x' * 67}…`", id="a long one is cut"),
    ],
)
def test_a_selector_is_put_into_words(expression: str, words: str) -> None:
    assert in_words(expression) == words
