"""Pods with volumes and devices for an embedded cluster: what each pod claims, and what the cluster has to have for it.

A volume is generic ephemeral storage of a class with WaitForFirstConsumer, so it is made on the pod's node. A device is
claimed by a template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from vsched.api.resources import RESOURCE_CLAIMS, RESOURCES

if TYPE_CHECKING:  # benches of the core run without a client
    from vsched.lab.sender import Obj

VOLUMES, DEVICES = "volumes", "devices"
BOTH = frozenset({VOLUMES, DEVICES})
DRIVER = "gpu.lab.vsched.io"
CLASS, TEMPLATE = "lab-scratch", "lab-device"
DEVICES_API = RESOURCE_CLAIMS.api_version


def fixtures(nodes: Iterable[str], namespaces: Iterable[str], devices: int) -> Iterator[tuple[str, Obj]]:
    """What has to be created first, with the path of each: classes, devices of nodes, templates of namespaces."""
    storage = {"provisioner": "csi.lab.vsched.io", "volumeBindingMode": "WaitForFirstConsumer"}
    yield RESOURCES["StorageClass"].path(), _obj("storage.k8s.io/v1", "StorageClass", CLASS, **storage)
    selector = {"cel": {"expression": f"device.driver == '{DRIVER}'"}}
    yield (
        RESOURCES["DeviceClass"].path(),
        _obj(DEVICES_API, "DeviceClass", DRIVER, spec={"selectors": [selector]}),
    )
    for node in nodes:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        listed = [{"name": f"gpu-{number}"} for number in range(devices)]
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
        yield RESOURCES["ResourceSlice"].path(), _obj(DEVICES_API, "ResourceSlice", node, spec=spec)
    request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": 1}}
    for namespace in namespaces:
        found = _obj(
            DEVICES_API, "ResourceClaimTemplate", TEMPLATE, spec={"spec": {"devices": {"requests": [request]}}}
        )
        found["metadata"]["namespace"] = namespace
        yield f"/apis/{DEVICES_API}/namespaces/{namespace}/resourceclaimtemplates", found


def _obj(api_version: str, kind: str, name: str, **fields: Any) -> Obj:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def with_claims(pod: Obj, kinds: Collection[str] = BOTH) -> None:
    """Have the pod claim a volume, a device or both."""
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": CLASS}
    if VOLUMES in kinds:
        pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": asked}}}]
    if DEVICES in kinds:
        pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": TEMPLATE}]
