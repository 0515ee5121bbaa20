"""The ResourceClaim that is made for extended resources which DRA serves, and its mention in the pod's status. Pure.

Requests are made for containers as kube-scheduler does: init containers that end reuse the devices of those that run
later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import orjson

from vsched.api.resources import PODS, RESOURCE_CLAIMS
from vsched.errors import BadQuantity
from vsched.kube.client import MERGE_PATCH
from vsched.mirror.ingest.device_claims import EXTENDED_CLAIM
from vsched.model.amounts.quantity import parse_quantity
from vsched.model.claims.devices import AllocatedDevice, AllocationResult
from vsched.writes.claims import words
from vsched.writes.claims.allocation import ClassConfigs
from vsched.writes.claims.devices import KIND, give_back, reserve
from vsched.writes.claims.objects import (
    ContainerRead,
    DeviceClaimRead,
    ExtendedStatusRead,
    MappingRead,
    PodRead,
)
from vsched.writes.claims.patches import delete, trouble
from vsched.writes.claims.steps import DONE, Failed, Send, Step
from vsched.writes.claims.wishes import ClaimedDevices, ExtendedWish
from vsched.writes.writer import Write


class ExtendedRequest(NamedTuple):
    """A request of the claim."""

    name: str
    resource: str
    device_class: str
    devices: int


class ExtendedRequests(NamedTuple):
    """The requests of the claim, by name, and which of them serves which container."""

    requests: tuple[ExtendedRequest, ...]
    mappings: tuple[MappingRead, ...]


def extended_requests(pod: PodRead, classes: Mapping[str, str], wanted: Sequence[str]) -> ExtendedRequests:
    """The requests for the resources in ``wanted``."""
    initial = pod.spec.init_containers or []
    containers = [*initial, *(pod.spec.containers or ())]
    lasting = [position >= len(initial) or each.restart_policy == "Always" for position, each in enumerate(containers)]
    requests: list[ExtendedRequest] = []
    mappings: list[MappingRead] = []
    for resource in sorted(wanted):
        own = [
            _request(position, container, resource, classes[resource], 0) if lasting[position] else None
            for position, container in enumerate(containers)
        ]
        for container, request in zip(containers, own, strict=True):
            if request is not None:
                mappings.append(MappingRead(container.name, resource, request.name))
        longest, ending = _of_ending(containers, lasting, own, resource, classes[resource])
        requests += [request for request in (longest, *own) if request is not None]
        mappings += ending
    return ExtendedRequests(tuple(sorted(requests)), tuple(mappings))


def _of_ending(
    containers: Sequence[ContainerRead],
    lasting: Sequence[bool],
    own: Sequence[ExtendedRequest | None],
    resource: str,
    device_class: str,
) -> tuple[ExtendedRequest | None, list[MappingRead]]:
    """The one request that init containers share which end, and their mappings, with the devices that they reuse."""
    longest: ExtendedRequest | None = None
    further: list[ContainerRead] = []
    mappings: list[MappingRead] = []
    for position, container in enumerate(containers):
        asked = 0 if lasting[position] else _asked(container, resource)
        reused = 0
        for request in own[position:]:
            if request is not None and reused < asked:
                reused += request.devices
                mappings.append(MappingRead(container.name, resource, request.name))
        if reused < asked:
            request = _request(position, container, resource, device_class, reused)
            further.append(container)
            if longest is None or (request is not None and request.devices > longest.devices):
                longest = request
    if longest is not None:
        mappings += [MappingRead(container.name, resource, longest.name) for container in further]
    return longest, mappings


def _request(
    position: int, container: ContainerRead, resource: str, device_class: str, reused: int
) -> ExtendedRequest | None:
    asked = _asked(container, resource)
    if not asked:
        return None
    order = sorted(container.resources.requests or ()).index(resource)
    return ExtendedRequest(f"container-{position}-request-{order}", resource, device_class, asked - reused)


def _asked(container: ContainerRead, resource: str) -> int:
    try:
        return parse_quantity(str((container.resources.requests or {}).get(resource, 0)))
    except BadQuantity:
        return 0


class ExtendedPlan(NamedTuple):
    """What is written for one pod."""

    wish: ExtendedWish
    requests: ExtendedRequests
    claim: ClaimedDevices


def plan_extended(pod: PodRead | None, wish: ExtendedWish) -> ExtendedPlan | Failed:
    """The claim for a pod: its requests, and the chosen devices divided among them in order."""
    why = trouble(pod, "Pod", wish.pod_key, wish.pod.uid)
    if pod is None or why:
        return Failed(why)
    classes = dict(wish.classes)
    resources = list(classes) if wish.made else sorted({each.request for each in wish.allocation.devices})
    unserved = next((each for each in resources if each not in classes), "")
    if unserved:
        return Failed(words.no_class_serves(unserved))
    requests = extended_requests(pod, classes, resources)
    if wish.made:
        requests = _only(requests, {each.request for each in wish.allocation.devices})
        devices = wish.allocation.devices
    else:
        devices = _divided(wish.allocation.devices, requests)
    if not len(wish.allocation.devices) == len(devices) == sum(each.devices for each in requests.requests):
        return Failed(words.asks_for_other_devices(wish.pod_key))
    used = tuple(dict.fromkeys(each.device_class for each in requests.requests))
    allocation = AllocationResult(devices, wish.allocation.nodes)
    return ExtendedPlan(wish, requests, ClaimedDevices(wish.key, "", allocation, True, (wish.pod,), used))


def _only(found: ExtendedRequests, names: Collection[str]) -> ExtendedRequests:
    """The requests of these names: on some nodes a device plugin serves the other resources."""
    return ExtendedRequests(
        tuple(each for each in found.requests if each.name in names),
        tuple(each for each in found.mappings if each.request_name in names),
    )


def _divided(chosen: Sequence[AllocatedDevice], requests: ExtendedRequests) -> tuple[AllocatedDevice, ...]:
    """The devices of each resource, given to the requests for it in order."""
    left: dict[str, list[AllocatedDevice]] = {}
    for device in chosen:
        left.setdefault(device.request, []).append(device)
    found: list[AllocatedDevice] = []
    for request in requests.requests:
        mine = left[request.resource][: request.devices]
        del left[request.resource][: request.devices]
        found += [msgspec.structs.replace(each, request=request.name) for each in mine]
    return tuple(found)


def reserve_extended(found: DeviceClaimRead | None, plan: ExtendedPlan, configs: ClassConfigs, now: float) -> Step:
    """Make the claim and reserve it. One that an earlier attempt left with other content goes first."""
    if found is None:
        return _create(plan)
    if found.metadata.deletion_timestamp:
        return _remove(found)
    if not _is_ours(found, plan.wish.pod.uid):
        return Failed(words.belongs_to_another(KIND, plan.wish.key))
    asked = [(name, each.device_class_name, each.count or 1) for name, each in found.spec.requests()]
    if sorted(asked) != [(each.name, each.device_class, each.devices) for each in plan.requests.requests]:
        return _remove(found)
    step = reserve(found, plan.claim, configs, now)
    return _remove(found) if isinstance(step, Failed) else step


def _is_ours(found: DeviceClaimRead, pod_uid: str) -> bool:
    owners = {owner.uid for owner in found.metadata.owner_references or ()}
    return found.metadata.annotation(EXTENDED_CLAIM) == "true" and pod_uid in owners


def _create(plan: ExtendedPlan) -> Send:
    pod = plan.wish.pod
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    exactly = {"allocationMode": "ExactCount"}
    requests = [
        {"name": each.name, "exactly": {**exactly, "deviceClassName": each.device_class, "count": each.devices}}
        for each in plan.requests.requests
    ]
    body: dict[str, Any] = {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": KIND,
        "metadata": {
            "name": plan.wish.claim_name,
            "namespace": plan.wish.namespace,
            "annotations": {EXTENDED_CLAIM: "true"},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": requests}},
    }
    path = RESOURCE_CLAIMS.path(plan.wish.namespace)
    return Send(Write(RESOURCE_CLAIMS.plural, "POST", path, orjson.dumps(body)))


def _remove(found: DeviceClaimRead) -> Step:
    """Take the devices and the finalizer from a claim, and delete it."""
    step = give_back(found, "", lambda consumer: True)
    if isinstance(step, Send):
        return step
    # Where it is being deleted already, it ends once the last finalizer is gone.
    return (
        Failed(words.is_being_deleted(KIND, found.metadata.name))
        if found.metadata.deletion_timestamp
        else delete(found)
    )


def remove_extended(found: DeviceClaimRead | None, pod_uid: str) -> Step:
    """Delete the claim that was made for a pod, with everything that it has."""
    if found is None or not _is_ours(found, pod_uid):
        return DONE
    step = _remove(found)
    return DONE if isinstance(step, Failed) else step


def mention(found: PodRead | None, plan: ExtendedPlan) -> Step:
    """Name the claim in the pod's status, with the request for each container."""
    why = trouble(found, "Pod", plan.wish.pod_key, plan.wish.pod.uid)
    if found is None or why:
        return Failed(why)
    status = ExtendedStatusRead(plan.wish.claim_name, list(plan.requests.mappings))
    if found.status.extended_resource_claim_status == status:
        return DONE
    return _pod_status(found, msgspec.to_builtins(status))


def unmention(found: PodRead | None, name: str) -> Step:
    """Remove the claim from the pod's status, so that no kubelet looks for it."""
    said = None if found is None else found.status.extended_resource_claim_status
    if found is None or said is None or said.resource_claim_name != name:
        return DONE
    return _pod_status(found, None)


def _pod_status(found: PodRead, status: Any) -> Send:
    # Other writers change other parts of the status all the time: only the pod has to be the same.
    about = found.metadata
    body = orjson.dumps({"metadata": {"uid": about.uid}, "status": {"extendedResourceClaimStatus": status}})
    return Send(Write("pod", "PATCH", PODS.path(about.namespace, about.name, "status"), body, MERGE_PATCH))
