"""What is written next about a ResourceClaim, given how it was read."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.support import devices
from tests.support.builders import merged, pod
from tests.support.claiming import allocation
from tests.writes.claims.reading import changed, read, told
from vsched.model.claims.devices import ClaimConsumer
from vsched.writes.claims import words
from vsched.writes.claims.devices import give_back, ready, reserve
from vsched.writes.claims.objects import DeviceClaimRead
from vsched.writes.claims.steps import Send
from vsched.writes.claims.wishes import ClaimedDevices

CLAIM = devices.resource_claim("gpus")
PROTECTED = merged(CLAIM, {"metadata": {"finalizers": ["other", devices.FINALIZER]}})
A, B = pod("a"), pod("b")
ALLOCATED = devices.allocated(CLAIM, "n1", "gpu-0", pods=[A])
KEY = "ns/gpus"
PODS = (ClaimConsumer("uid-a", "a"),)
GIVEN = allocation("n1", "gpu-0")
NOW = 1_800_000_000.0
MANY = [{"resource": "pods", "name": f"p{number}", "uid": f"uid-{number}"} for number in range(256)]


GROUP = ClaimConsumer("uid-g", "g", "podgroups", "scheduling.k8s.io")


def wish(
    *, allocate: bool = True, pods: tuple[ClaimConsumer, ...] = PODS, uid: str = "uid-gpus", group: str = ""
) -> ClaimedDevices:
    return ClaimedDevices(KEY, uid, GIVEN, allocate, pods, group=group)


def claim(manifest: dict[str, Any], **fields: Any) -> DeviceClaimRead:
    return read(DeviceClaimRead, manifest, **fields)


def test_the_finalizer_comes_first() -> None:
    step = reserve(claim(merged(CLAIM, {"metadata": {"finalizers": ["other"]}})), wish(), {}, NOW)
    assert changed(step) == {"metadata": {"finalizers": ["other", devices.FINALIZER]}}
    assert told(step)[1] == "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/gpus"


def test_devices_and_reservations_are_one_write() -> None:
    step = reserve(claim(PROTECTED), wish(pods=(*PODS, ClaimConsumer("uid-b", "b"))), {}, NOW)
    assert changed(step) == {
        "status": {
            "reservedFor": [devices.reserved_for(A), devices.reserved_for(B)],
            "allocation": {
                "devices": {"results": [{"request": "gpu", "driver": devices.DRIVER, "pool": "n1", "device": "gpu-0"}]},
                "nodeSelector": ALLOCATED["status"]["allocation"]["nodeSelector"],
                "allocationTimestamp": "2027-01-15T08:00:00Z",
            },
        }
    }
    assert told(step)[1].endswith("/resourceclaims/gpus/status")


def test_a_claim_that_has_devices_is_only_reserved() -> None:
    step = reserve(claim(ALLOCATED), wish(allocate=False, pods=(ClaimConsumer("uid-b", "b"),)), {}, NOW)
    assert changed(step) == {"status": {"reservedFor": [devices.reserved_for(A), devices.reserved_for(B)]}}


@pytest.mark.parametrize(
    ("found", "wanted", "says"),
    [
        pytest.param(claim(ALLOCATED), wish(), "done", id="everything is as it should be: an answer was lost"),
        pytest.param(claim(ALLOCATED), wish(allocate=False), "done", id="it was reserved before"),
        pytest.param(
            None, wish(), "failed: " + words.does_not_exist_any_more("ResourceClaim", "ns/gpus"), id="it is gone"
        ),
        pytest.param(
            claim(CLAIM),
            wish(uid="another"),
            "failed: " + words.deleted_and_made_again("ResourceClaim", "ns/gpus"),
            id="another of the same name",
        ),
        pytest.param(
            claim(CLAIM, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            wish(),
            "failed: " + words.is_being_deleted("ResourceClaim", "ns/gpus"),
            id="it is being deleted",
        ),
        pytest.param(
            claim(devices.allocated(CLAIM, "n1", "gpu-1")),
            wish(),
            "failed: " + words.other_devices("ResourceClaim", "ns/gpus"),
            id="another scheduler was faster",
        ),
        pytest.param(
            claim(CLAIM),
            wish(allocate=False),
            "failed: " + words.no_devices_any_more("ResourceClaim", "ns/gpus"),
            id="its devices were taken away",
        ),
        pytest.param(
            claim(ALLOCATED, status={"reservedFor": MANY}),
            wish(),
            f"failed: ResourceClaim ns/gpus {words.reserved_for_most(256, 256)}",
            id="no more than 256 pods",
        ),
        pytest.param(
            claim(
                ALLOCATED,
                status={
                    "reservedFor": [
                        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"}
                    ]
                },
            ),
            wish(allocate=False, group="g"),
            "done",
            id="what is reserved for a PodGroup is for its pods",
        ),
    ],
)
def test_what_needs_no_write(found: DeviceClaimRead | None, wanted: ClaimedDevices, says: str) -> None:
    assert told(reserve(found, wanted, {}, NOW)) == says


def with_conditions(**said: str) -> DeviceClaimRead:
    """The claim with a device that has to be attached first; ``said`` are its conditions."""
    results = [
        {
            **ALLOCATED["status"]["allocation"]["devices"]["results"][0],
            "bindingConditions": ["Attached", "Warm"],
            "bindingFailureConditions": ["Broken"],
        }
    ]
    conditions = [{"type": name, "status": status} for name, status in said.items()]
    device = {"driver": devices.DRIVER, "pool": "n1", "device": "gpu-0", "conditions": conditions}
    status = {"allocation": {"devices": {"results": results}}, "devices": [device] if said else []}
    return claim(ALLOCATED, status=status)


@pytest.mark.parametrize(
    ("found", "says"),
    [
        pytest.param(with_conditions(Attached="True", Warm="True"), "done", id="all conditions are true"),
        pytest.param(
            with_conditions(),
            "wait: " + words.device_is_not_ready("device gpu-0 of ResourceClaim ns/gpus", "Attached"),
            id="none is said",
        ),
        pytest.param(
            with_conditions(Attached="True", Warm="False"),
            "wait: " + words.device_is_not_ready("device gpu-0 of ResourceClaim ns/gpus", "Warm"),
            id="one is false",
        ),
        pytest.param(
            with_conditions(Attached="True", Broken="True"),
            "failed: " + words.device_cannot_be_made_ready("device gpu-0 of ResourceClaim ns/gpus", "Broken"),
            id="one says that it failed",
        ),
        pytest.param(
            claim(CLAIM), "failed: " + words.no_devices_any_more("ResourceClaim", "ns/gpus"), id="its devices are gone"
        ),
    ],
)
def test_devices_that_are_made_ready_for_a_node(found: DeviceClaimRead, says: str) -> None:
    assert told(ready(found, wish())) == says


def taken_back(found: DeviceClaimRead | None, *pods: str) -> Any:
    return give_back(found, "uid-gpus", lambda consumer: consumer.uid in pods)


def test_with_the_last_pod_the_devices_go_and_then_the_finalizer() -> None:
    step = taken_back(claim(ALLOCATED), "uid-a")
    assert changed(step) == {"status": {"allocation": None, "reservedFor": None, "devices": None}}
    assert changed(taken_back(claim(PROTECTED))) == {"metadata": {"finalizers": ["other"]}}
    alone = claim(CLAIM, metadata={"finalizers": [devices.FINALIZER]})
    assert changed(taken_back(alone)) == {"metadata": {"finalizers": None}}


def test_the_reservations_of_others_stay_and_so_do_the_devices() -> None:
    both = claim(devices.allocated(CLAIM, "n1", "gpu-0", pods=[A, B]))
    assert changed(taken_back(both, "uid-a")) == {"status": {"reservedFor": [devices.reserved_for(B)]}}


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(None, id="it is gone"),
        pytest.param(claim(CLAIM), id="nothing is reserved"),
        pytest.param(claim(devices.allocated(CLAIM, "n1", "gpu-0", pods=[B])), id="only others have it"),
        pytest.param(claim(ALLOCATED, metadata={"uid": "another"}), id="another of the same name"),
    ],
)
def test_nothing_to_give_back(found: DeviceClaimRead | None) -> None:
    assert told(taken_back(found, "uid-a")) == "done"


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        pytest.param([], wish(pods=(GROUP,)), ["podgroups g"], id="a PodGroup is one consumer, whatever its pods"),
        pytest.param(
            ["other"], wish(pods=(GROUP,)), ["podgroups other", "podgroups g"], id="beside that of another PodGroup"
        ),
        pytest.param(["other"], wish(group="g"), ["podgroups other", "pods a"], id="its pods use what is theirs"),
    ],
)
def test_whom_a_claim_is_reserved_for(before: list[str], wanted: ClaimedDevices, after: list[str]) -> None:
    there = [{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": name, "uid": name} for name in before]
    found = claim(devices.allocated(CLAIM, "n1", "gpu-0"), status={"reservedFor": there})
    step = reserve(found, wanted, {}, NOW)
    assert isinstance(step, Send)
    written = orjson.loads(step.write.body)["status"]["reservedFor"]
    assert [f"{each['resource']} {each['name']}" for each in written] == after
    assert all(each.get("apiGroup") == "scheduling.k8s.io" for each in written if each["resource"] == "podgroups")
