"""``vsched bench --claims``: a claim for each pod, the volumes and devices for them, and the same bench without.

With ``volumes``, every other gang has claims that wait for their first pod, in a class whose volumes are made in eight
of ten zones; the others have claims that are bound to volumes of one zone each. With ``devices``, each pod has a claim
made from a template for one device, of one of two models, which a CEL selector names. Each device has an attribute that
no other device has, as devices of real drivers do.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from math import ceil
from typing import Any

import orjson

from vsched.errors import Unavailable
from vsched.lab.bench.words import core as words
from vsched.lab.claiming import DEVICES, VOLUMES

DRIVER, CLASS = "csi.example.com", "fast"
DEVICE_DRIVER = "gpu.example.com"
ZONE = "topology.kubernetes.io/zone"
MODELS = ("h100", "a100")
ZONES_WITH_STORAGE = 8
VOLUMES_A_NODE = 64
DEVICES_A_SLICE = 128

Made = Iterator[tuple[str, dict[str, Any]]]
"""Objects with their kinds."""


def shared_objects(claims: str) -> Made:
    """The classes and drivers."""
    if claims == VOLUMES:
        zones = [f"zone-{number}" for number in range(ZONES_WITH_STORAGE)]
        yield (
            "StorageClass",
            {
                "metadata": _named(CLASS),
                "provisioner": DRIVER,
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}],
            },
        )
        yield "CSIDriver", {"metadata": _named(DRIVER), "spec": {"storageCapacity": False}}
    if claims == DEVICES:
        selectors = [{"cel": {"expression": f"device.driver == '{DEVICE_DRIVER}'"}}]
        yield "DeviceClass", {"metadata": _named(DEVICE_DRIVER), "spec": {"selectors": selectors}}


def node_objects(claims: str, number: int, node: str, devices: int) -> Made:
    """What drivers publish about a node."""
    if claims == VOLUMES:
        driver = {"name": DRIVER, "nodeID": node, "allocatable": {"count": VOLUMES_A_NODE}}
        yield "CSINode", {"metadata": _named(node), "spec": {"drivers": [driver]}}
    if claims == DEVICES:
        parts = [range(first, min(devices, first + DEVICES_A_SLICE)) for first in range(0, devices, DEVICES_A_SLICE)]
        pool = {"name": node, "generation": 1, "resourceSliceCount": len(parts)}
        for at, part in enumerate(parts):
            spec = {
                "driver": DEVICE_DRIVER,
                "pool": pool,
                "nodeName": node,
                "devices": [_device(node, device, MODELS[number % len(MODELS)]) for device in part],
            }
            yield "ResourceSlice", {"metadata": _named(f"{node}-{at}"), "spec": spec}


def devices_a_node(pods: int, nodes: int) -> int:
    """Enough devices of each model for all pods, and a fifth more; at least eight on each node."""
    return max(8, ceil(1.2 * pods / nodes))


def pod_objects(claims: str, gang: int, zones: int, metadata: dict[str, Any]) -> Made:
    """The claim of a pod of a gang, and its volume where it is bound; nodes are in so many zones."""
    namespace, name = metadata["namespace"], metadata["name"]
    if claims == VOLUMES:
        yield from _volume_claim(namespace, name, f"zone-{gang % zones}" if gang % 2 else "")
    if claims == DEVICES:
        model = MODELS[gang % len(MODELS)]
        selector = {"cel": {"expression": f"device.attributes['{DEVICE_DRIVER}'].model == '{model}'"}}
        exactly = {
            "deviceClassName": DEVICE_DRIVER,
            "allocationMode": "ExactCount",
            "count": 1,
            "selectors": [selector],
        }
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": metadata["uid"], "controller": True}
        claim = _named(f"{name}-gpu", namespace) | {"ownerReferences": [owner]}
        yield (
            "ResourceClaim",
            {"metadata": claim, "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}},
        )


def use_claims(claims: str, pod: dict[str, Any]) -> None:
    """Add the claim of ``pod_objects`` to a pod."""
    name = pod["metadata"]["name"]
    if claims == VOLUMES:
        pod["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": f"{name}-data"}}]
    if claims == DEVICES:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
        pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]


def measure_plain(arguments: list[str]) -> dict[str, Any]:
    """The result of the same bench without claims, run in a process of its own.

    Run this first: on Linux, a process starts with the peak memory of the one that starts it.
    """
    command = [sys.executable, "-m", "vsched", "bench", "--json", *arguments]
    ended = subprocess.run(command, capture_output=True, check=False)
    if ended.returncode:
        raise Unavailable(words.plain_bench_failed(ended.stderr.decode(errors="replace").strip()[-500:]))
    plain: dict[str, Any] = orjson.loads(ended.stdout)
    return plain


def compare(result: dict[str, Any], plain: dict[str, Any]) -> dict[str, Any]:
    """How a result compares with that without claims."""
    return {
        "plain_pods_per_second": plain["pods_per_second"],
        "times_plain": round(plain["pods_per_second"] / max(1, result["pods_per_second"]), 2),
        "plain_rss_mb": plain["rss_mb"],
        "more_mb": result["rss_mb"] - plain["rss_mb"],
    }


def _volume_claim(namespace: str, pod: str, zone: str) -> Made:
    """A claim that waits for its first pod, or that is bound to a volume of a zone."""
    claim = _named(f"{pod}-data", namespace)
    request = {"requests": {"storage": "10Gi"}}
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "storageClassName": CLASS, "resources": request}
    if zone:
        volume = f"pv-{namespace}-{pod}"
        spec["volumeName"] = volume
        claim["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
        reference = {"namespace": namespace, "name": claim["name"], "uid": claim["uid"]}
        yield (
            "PersistentVolume",
            {
                "metadata": _named(volume),
                "spec": {
                    "capacity": {"storage": "10Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": CLASS,
                    "claimRef": reference,
                    "csi": {"driver": DRIVER, "volumeHandle": volume},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                },
                "status": {"phase": "Bound"},
            },
        )
    yield (
        "PersistentVolumeClaim",
        {"metadata": claim, "spec": spec, "status": {"phase": "Bound" if zone else "Pending"}},
    )


def _device(node: str, number: int, model: str) -> dict[str, Any]:
    return {
        "name": f"gpu-{number}",
        "attributes": {"model": {"string": model}, "uuid": {"string": f"{node}-{number}"}},
        "capacity": {"memory": {"value": "80Gi"}},
    }


def _named(name: str, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "uid": f"{namespace}/{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return metadata | ({"namespace": namespace} if namespace else {})
