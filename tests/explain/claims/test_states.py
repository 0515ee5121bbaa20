"""What is said of the claims of pods that wait."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.support.recording import snapshot_of
from vsched.explain.claims import words as claims_words
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
        pytest.param(volume(lost=True), claims_words.VOLUME_LOST, False, id="lost"),
        pytest.param(volume(deleting=True), "is being deleted", False, id="being deleted"),
        pytest.param(
            volume(volume="pv-a", bound=True),
            claims_words.bound_to("pv-a", "in zone a"),
            True,
            id="bound to a volume of a zone",
        ),
        pytest.param(
            volume(volume="pv-any", bound=True),
            claims_words.bound_to("pv-any", ""),
            True,
            id="bound, usable anywhere",
        ),
        pytest.param(
            volume(volume="gone", bound=True),
            claims_words.bound_to_lost_volume("gone"),
            False,
            id="bound to a volume that is gone",
        ),
        pytest.param(
            volume(volume="pv-free", storage_class="made"),
            claims_words.volume_chosen("pv-free"),
            True,
            id="a static volume is chosen",
        ),
        pytest.param(
            volume(selected_node="n1", storage_class="fast"),
            claims_words.volume_being_made("n1"),
            True,
            id="a volume is being made",
        ),
        pytest.param(
            volume(storage_class="fast"),
            claims_words.gets_new_volume("in zone a", ""),
            True,
            id="waits for its first pod, and a volume can be made",
        ),
        pytest.param(
            volume(storage_class="made"),
            claims_words.gets_volume(claims_words.free_volumes(0, large=True)),
            True,
            id="waits for its first pod, and people make the volumes",
        ),
        pytest.param(
            volume(storage_class="now"),
            claims_words.bound_before_placing("now"),
            False,
            id="immediate, and not bound",
        ),
        pytest.param(volume(storage_class="gone"), claims_words.lost_storage_class("gone"), False, id="no such class"),
        pytest.param(
            volume(),
            claims_words.NO_VOLUME_WITHOUT_CLASS,
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
    assert of_volume(volume(owner="other"), ephemeral=True).state == claims_words.NOT_MADE_FOR_THIS_POD
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
            claims_words.asks_for_lost_class("gone"),
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
            claims_words.reserved_for_most(claims_words.has_devices(1, "on node n1", "n1/gpu-0"), 256),
            False,
            id="reserved for as many pods as possible",
        ),
        pytest.param(
            devices(allocation=HAD, ready=False),
            claims_words.being_prepared(claims_words.has_devices(1, "on node n1", "n1/gpu-0")),
            True,
            id="its devices are being prepared",
        ),
        pytest.param(
            devices(allocation=HAD, failed="LinkDown"),
            claims_words.devices_failed(claims_words.has_devices(1, "on node n1", "n1/gpu-0"), "LinkDown"),
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
    assert (absent.names, absent.state) == (("train-0-gpu",), claims_words.not_made_from_template("big"))
    assert of_devices(devices(owner="other"), template="big").state == claims_words.NOT_MADE_FOR_THIS_POD
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
    gpus = f"{claims_words.of_class('2', 'gpu')} with memory ≥ 80Gi {claims_words.and_of_each('memory 10Gi')}"
    nics = f"{claims_words.of_class('all', 'rdma')} else {claims_words.of_class('1', 'nic')} (admin access)"
    constraints = f"all devices with the same numa; {claims_words.devices_of('net')} with different port"
    assert of_devices(devices(spec=spec)).asks == f"{gpus}; {nics}; {constraints}"


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
