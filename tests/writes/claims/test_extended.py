"""The claim that is made for extended resources: its requests, its devices, and what is written next."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders, devices
from tests.support.builders import merged
from tests.support.claiming import allocation
from tests.writes.claims.reading import changed, read, told
from vsched.model.claims.devices import AllocationResult, ClaimConsumer
from vsched.writes.claims import words
from vsched.writes.claims.extended import (
    ExtendedPlan,
    extended_requests,
    mention,
    plan_extended,
    remove_extended,
    reserve_extended,
    unmention,
)
from vsched.writes.claims.objects import DeviceClaimRead, PodRead
from vsched.writes.claims.steps import Failed
from vsched.writes.claims.wishes import ExtendedWish

GPU, NIC = "example.com/gpu", "example.com/nic"
CLASSES = {GPU: "gpus", NIC: "nics"}
NOW = 1_800_000_000.0


def container(name: str, gpu: int = 0, nic: int = 0, **fields: Any) -> dict[str, Any]:
    asked = {name: str(count) for name, count in ((GPU, gpu), (NIC, nic), ("cpu", 1)) if count}
    return {"name": name, "resources": {"requests": asked, "limits": asked}, **fields}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **fields: Any) -> PodRead:
    spec = {"containers": list(containers), "initContainers": list(init)}
    return read(PodRead, builders.pod("p", spec=spec), **fields)


SIDECAR = {"restartPolicy": "Always"}


@pytest.mark.parametrize(
    ("found", "requests", "mappings"),
    [
        pytest.param(
            pod(container("a", gpu=2), container("b", gpu=1)),
            {"container-0-request-1": 2, "container-1-request-1": 1},
            {"a container-0-request-1", "b container-1-request-1"},
            id="each container has a request of its own",
        ),
        pytest.param(
            pod(container("a", gpu=2), init=(container("i", gpu=1),)),
            {"container-1-request-1": 2},
            {"a container-1-request-1", "i container-1-request-1"},
            id="an init container uses what comes after it",
        ),
        pytest.param(
            pod(container("a", gpu=1), init=(container("i", gpu=3), container("j", gpu=2))),
            {"container-0-request-1": 2, "container-2-request-1": 1},
            {
                "a container-2-request-1",
                "i container-2-request-1",
                "i container-0-request-1",
                "j container-2-request-1",
                "j container-0-request-1",
            },
            id="init containers share the largest further request",
        ),
        pytest.param(
            pod(container("a", gpu=1), init=(container("s", gpu=2, **SIDECAR), container("i", gpu=2))),
            {"container-0-request-1": 2, "container-1-request-1": 1, "container-2-request-1": 1},
            {
                "s container-0-request-1",
                "a container-2-request-1",
                "i container-2-request-1",
                "i container-1-request-1",
            },
            id="what a sidecar before it has cannot be used",
        ),
        pytest.param(pod(container("a")), {}, set(), id="nothing is asked for"),
    ],
)
def test_requests_follow_from_the_containers(found: PodRead, requests: dict[str, int], mappings: set[str]) -> None:
    made = extended_requests(found, CLASSES, (GPU,))
    assert {request.name: request.devices for request in made.requests} == requests
    assert {f"{each.container_name} {each.request_name}" for each in made.mappings} == mappings


def wish(given: AllocationResult, made: str = "") -> ExtendedWish:
    return ExtendedWish("ns", ClaimConsumer("uid-p", "p"), given, tuple(sorted(CLASSES.items())), made)


def planned(found: PodRead, wanted: ExtendedWish) -> ExtendedPlan:
    plan = plan_extended(found, wanted)
    assert isinstance(plan, ExtendedPlan), plan
    return plan


TWO = pod(container("a", gpu=1), container("b", gpu=1))
PLAN = planned(TWO, wish(allocation("n1", "gpu-0", "gpu-1", request=GPU)))
NAME = PLAN.wish.claim_name


def test_the_chosen_devices_are_divided_among_the_requests() -> None:
    given = PLAN.claim.allocation
    assert given is not None
    assert [(each.request, each.device.device) for each in given.devices] == [
        ("container-0-request-1", "gpu-0"),
        ("container-1-request-1", "gpu-1"),
    ]
    assert PLAN.claim.classes == ("gpus",)
    assert NAME.startswith("p-extended-resources-")
    assert PLAN.wish.key == f"ns/{NAME}"


def test_of_several_resources_each_request_gets_its_own_devices() -> None:
    found = pod(container("a", gpu=1, nic=1))
    gpu, nic = allocation("n1", "gpu-0", request=GPU), allocation("n1", "nic-0", request=NIC)
    plan = planned(found, wish(AllocationResult((*nic.devices, *gpu.devices), gpu.nodes)))
    assert plan.claim.allocation is not None
    assert {each.request: each.device.device for each in plan.claim.allocation.devices} == {
        "container-0-request-1": "gpu-0",
        "container-0-request-2": "nic-0",
    }


def test_a_claim_that_was_made_before_keeps_its_requests() -> None:
    found = pod(container("a", gpu=1, nic=1))
    plan = planned(found, wish(allocation("n1", "gpu-0", request="container-0-request-1"), "old"))
    assert plan.wish.key == "ns/old"
    assert [request.name for request in plan.requests.requests] == ["container-0-request-1"]
    assert [each.resource_name for each in plan.requests.mappings] == [GPU]


@pytest.mark.parametrize(
    ("found", "given", "why"),
    [
        pytest.param(
            None,
            allocation("n1", "gpu-0", request=GPU),
            words.does_not_exist_any_more("Pod", "ns/p"),
            id="the pod is gone",
        ),
        pytest.param(
            TWO,
            allocation("n1", "gpu-0", request=GPU),
            words.asks_for_other_devices("ns/p"),
            id="too few devices",
        ),
        pytest.param(
            TWO,
            allocation("n1", "x", request="example.com/x"),
            words.no_class_serves("example.com/x"),
            id="no class",
        ),
    ],
)
def test_what_cannot_be_made(found: PodRead | None, given: AllocationResult, why: str) -> None:
    assert plan_extended(found, wish(given)) == Failed(why)


def test_the_claim_is_made_for_the_pod() -> None:
    method, path, body = told(reserve_extended(None, PLAN, {}, NOW))
    assert (method, path) == ("POST", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims")
    assert body["metadata"] == {
        "name": NAME,
        "namespace": "ns",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}],
    }
    assert [request["exactly"] for request in body["spec"]["devices"]["requests"]] == [
        {"allocationMode": "ExactCount", "deviceClassName": "gpus", "count": 1}
    ] * 2


def made(*names: str, **fields: Any) -> dict[str, Any]:
    """The claim as it was made, with these devices."""
    body = told(reserve_extended(None, PLAN, {}, NOW))[2]
    claim = merged(body, {"metadata": {"uid": "uid-made"}})
    given = [f"container-{number}-request-1={name}" for number, name in enumerate(names)]
    claim = devices.allocated(claim, "n1", *given, pods=[builders.pod("p")]) if given else claim
    return merged(claim, fields)


def claim(manifest: dict[str, Any], **fields: Any) -> DeviceClaimRead:
    return read(DeviceClaimRead, manifest, **fields)


def test_the_claim_is_then_reserved_like_any_other() -> None:
    assert changed(reserve_extended(claim(made()), PLAN, {}, NOW)) == {"metadata": {"finalizers": [devices.FINALIZER]}}
    assert told(reserve_extended(claim(made("gpu-0", "gpu-1")), PLAN, {}, NOW)) == "done"


def test_a_claim_of_an_earlier_attempt_goes_first() -> None:
    old = made("gpu-5", "gpu-6")
    assert changed(reserve_extended(claim(old), PLAN, {}, NOW)) == {
        "status": {"allocation": None, "reservedFor": None, "devices": None}
    }
    asked = {"spec": {"devices": {"requests": [devices.request("container-0-request-1", device_class="other")]}}}
    other = made(**asked)
    assert told(reserve_extended(claim(other), PLAN, {}, NOW))[0] == "DELETE"


def test_a_claim_of_somebody_else_is_left_alone() -> None:
    other = made(metadata={"ownerReferences": [{"kind": "Pod", "name": "p", "uid": "another"}]})
    says = "failed: " + words.belongs_to_another("ResourceClaim", f"ns/{NAME}")
    assert told(reserve_extended(claim(other), PLAN, {}, NOW)) == says
    assert told(remove_extended(claim(other), "uid-p")) == "done"


def test_the_pod_names_the_claim_and_its_requests() -> None:
    method, path, body = told(mention(TWO, PLAN))
    assert (method, path) == ("PATCH", "/api/v1/namespaces/ns/pods/p/status")
    status = body["status"]["extendedResourceClaimStatus"]
    assert status["resourceClaimName"] == NAME
    assert status["requestMappings"][0] == {
        "containerName": "a",
        "resourceName": GPU,
        "requestName": "container-0-request-1",
    }
    named = pod(container("a", gpu=1), container("b", gpu=1), status={"extendedResourceClaimStatus": status})
    assert told(mention(named, PLAN)) == "done"
    assert told(unmention(named, NAME))[2]["status"] == {"extendedResourceClaimStatus": None}
    assert told(unmention(named, "another")) == "done"
    assert told(unmention(TWO, NAME)) == "done"
