"""Manifests of dynamic resource allocation (resource.k8s.io/v1), as short as they can be told.

They are plain dictionaries: ``Cluster(manifests=...)`` and ``Cluster.apply`` take them, and ``builders.read`` decodes
them for the mirror. ``fields`` of each function are laid over what it makes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.builders import Fields, merged

DRIVER = "gpu.example.com"
"""The driver of all these objects, unless they name another; the class of all requests has the same name."""
API_VERSION = "resource.k8s.io/v1"
FINALIZER = "resource.kubernetes.io/delete-protection"
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


def device_class(name: str = DRIVER, *expressions: str, **fields: Any) -> Fields:
    """A DeviceClass with these CEL selectors; by default it selects the devices of the driver of its name."""
    chosen = expressions or (f"device.driver == '{name}'",)
    base = {
        "apiVersion": API_VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"selectors": selectors(*chosen)},
    }
    return merged(base, fields)


def selectors(*expressions: str) -> list[Fields]:
    """CEL expressions as selectors of a class or a request."""
    return [{"cel": {"expression": each}} for each in expressions]


def device(
    name: str = "gpu-0",
    *,
    capacity: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    attributes: Mapping[str, bool | int | str | Fields] | None = None,
    **fields: Any,
) -> Fields:
    """A device of a slice. A taint is ``key=value:effect``; an attribute is a plain value, or ``{version: ...}``."""
    base: Fields = {"name": name}
    if attributes:
        base["attributes"] = {key: attribute(value) for key, value in attributes.items()}
    if capacity:
        base["capacity"] = {key: {"value": value} for key, value in capacity.items()}
    if taints:
        base["taints"] = [taint(each) for each in taints]
    return merged(base, fields)


def attribute(value: bool | int | str | Fields) -> Fields:
    """The value of an attribute with its type."""
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def taint(text: str) -> Fields:
    """The taint of a device, from ``key=value:effect``."""
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    return {"key": key, **({"value": value} if value else {}), "effect": effect or "NoSchedule"}


def taint_rule(name: str = "rule", taint: str = "broken=yes:NoSchedule", **selector: str) -> Fields:
    """A DeviceTaintRule with a selector by driver, pool and device."""
    key, _, effect = taint.partition(":")
    key, _, value = key.partition("=")
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"deviceSelector": selector, "taint": {"key": key, "value": value, "effect": effect}},
    }


def resource_slice(
    node: str = "n1",
    devices: int | Sequence[Fields] = 1,
    *,
    driver: str = DRIVER,
    name: str = "",
    pool: str = "",
    generation: int = 1,
    count: int = 1,
    **fields: Any,
) -> Fields:
    """A ResourceSlice of one node (``""`` for none: then ``spec={"allNodes": True}`` or a nodeSelector say where).

    ``devices`` is a number of equal devices, or the devices; ``count`` is the resourceSliceCount of the pool.
    """
    listed = [device(f"gpu-{number}") for number in range(devices)] if isinstance(devices, int) else list(devices)
    name = name or f"{node or 'shared'}-{driver}"
    spec: Fields = {
        "driver": driver,
        "pool": {"name": pool or node or "shared", "generation": generation, "resourceSliceCount": count},
        "devices": listed,
    }
    if node:
        spec["nodeName"] = node
    base = {
        "apiVersion": API_VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": spec,
    }
    return merged(base, fields)


def request(name: str = "gpu", count: int = 1, *expressions: str, device_class: str = DRIVER, **fields: Any) -> Fields:
    """An exact request for devices of a class; ``count`` 0 is for all of them."""
    exactly: Fields = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    if not count:
        exactly = {"deviceClassName": device_class, "allocationMode": "All"}
    if expressions:
        exactly["selectors"] = selectors(*expressions)
    return {"name": name, "exactly": merged(exactly, fields)}


def first_available(name: str, *requests: Fields) -> Fields:
    """A request that takes the first of these (made by ``request``) that can be had."""
    return {"name": name, "firstAvailable": [{"name": each["name"], **each["exactly"]} for each in requests]}


def resource_claim(
    name: str = "gpus", *requests: Fields, namespace: str = "ns", constraints: Sequence[Fields] = (), **fields: Any
) -> Fields:
    """A ResourceClaim; by default it asks for one device."""
    base: Fields = {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": _claim_spec(requests, constraints),
    }
    return merged(base, fields)


def claim_template(
    name: str = "gpus", *requests: Fields, namespace: str = "ns", constraints: Sequence[Fields] = (), **fields: Any
) -> Fields:
    """A ResourceClaimTemplate; by default its claims ask for one device."""
    base: Fields = {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-template-{name}"},
        "spec": {"spec": _claim_spec(requests, constraints)},
    }
    return merged(base, fields)


def _claim_spec(requests: Sequence[Fields], constraints: Sequence[Fields]) -> Fields:
    asked: Fields = {"requests": list(requests or (request(),))}
    if constraints:
        asked["constraints"] = list(constraints)
    return {"devices": asked}


def allocated(
    claim: Fields, node: str, *devices: str, pods: Sequence[Fields] = (), driver: str = DRIVER, pool: str = ""
) -> Fields:
    """The claim as a scheduler writes it: these devices of the node's pool, reserved for these pods.

    A device is ``request=device``, or its name alone for the first request.
    """
    first = claim["spec"]["devices"]["requests"][0]["name"]
    results = []
    for each in devices:
        asked, _, name = each.rpartition("=")
        results.append({"request": asked or first, "driver": driver, "pool": pool or node, "device": name})
    selector = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    status: Fields = {
        "allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": [selector]}}
    }
    if pods:
        status["reservedFor"] = [reserved_for(pod) for pod in pods]
    return merged(claim, {"metadata": {"finalizers": [FINALIZER]}, "status": status})


def reserved_for(pod: Fields) -> Fields:
    """The entry of ``status.reservedFor`` for a pod."""
    return {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}


def pod_claims(**sources: str) -> list[Fields]:
    """``spec.resourceClaims`` of a pod: names, and the claim of each, or ``template/NAME`` for a template."""
    return [
        {"name": name, "resourceClaimTemplateName": source.removeprefix("template/")}
        if source.startswith("template/")
        else {"name": name, "resourceClaimName": source}
        for name, source in sources.items()
    ]


def from_template(claim: Fields, pod: Fields, name: str = "gpu") -> Fields:
    """The claim as if it was made from a template for ``spec.resourceClaims[name]`` of the pod."""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["metadata"]["name"],
        "uid": pod["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return merged(claim, {"metadata": {"annotations": {POD_CLAIM_NAME: name}, "ownerReferences": [owner]}})
