"""A running embedded cluster for the tests of volumes and devices: what they ask of it, in few words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support import devices as manifests
from tests.support.workload_objects import pod as bound_pod
from vsched.apimachinery.meta.times import utc_now
from vsched.sim.api import subresources
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes
from vsched.sim.writer import WriteOptions

Obj = dict[str, Any]


def cluster(nodes: int | list[Obj] = 3, devices_file: Path | None = None) -> Cluster:
    """A cluster whose controllers lose no time."""
    settings = ControllerSettings(pods=PodTimes(termination=0.0), provisioning=0.0, events=True)
    return Cluster(nodes, devices=devices_file, settings=ClusterSettings(controllers=settings))


def node(name: str, **labels: str) -> Obj:
    """A node; ``zone`` is short for the label of its zone."""
    found = {key.replace("zone", "topology.kubernetes.io/zone"): value for key, value in labels.items()}
    labels = {"kubernetes.io/hostname": name, **found}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def pod(name: str = "p", node: str = "", **spec: Any) -> Obj:
    """A pod that runs until it is deleted."""
    made = bound_pod(name, node=node)
    made["metadata"].pop("uid")
    made.pop("status")
    return {**made, "spec": {**made["spec"], **spec}}


def claim_of(cluster: Cluster, name: str = "data") -> Obj:
    """A PersistentVolumeClaim that is there."""
    found = cluster.client.get("persistentvolumeclaims", "default", name)
    assert found is not None
    return found


def phase(cluster: Cluster, resource: str, name: str, namespace: str = "default") -> str | None:
    """The phase of an object; None once it is gone."""
    found = cluster.client.get(resource, namespace, name)
    return None if found is None else found["status"].get("phase")


def reasons(cluster: Cluster, name: str) -> dict[str, str]:
    """The reasons of the Events about an object, with the message of each."""
    found = (each for each in cluster.client.list("events") if each["involvedObject"]["name"] == name)
    return {each["reason"]: each["message"] for each in found}


def bind(cluster: Cluster, name: str, node: str) -> None:
    """Binds a pod to a node, as a scheduler does."""
    body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    subresources.bind(cluster.store, "default", name, body, WriteOptions(), utc_now())


def resource_claim(cluster: Cluster, name: str = "gpus") -> Obj:
    """A ResourceClaim that is there."""
    found = cluster.client.get("resource.k8s.io/resourceclaims", "default", name)
    assert found is not None
    return found


def allocate(
    cluster: Cluster,
    name: str,
    node: str,
    *devices: str,
    pods: Sequence[str],
    consumers: Sequence[Obj] = (),
    uid: str = "",
    result: Obj | None = None,
) -> None:
    """Allocates devices of a node's pool to a claim and reserves it, as a scheduler does.

    ``uid`` is that of the pods, if it is not their own; ``result`` is laid over each device of the allocation.
    """
    client = cluster.client
    found = [client.get("pods", "default", each) or {} for each in pods]
    users = [
        {"resource": "pods", "name": each["metadata"]["name"], "uid": uid or each["metadata"]["uid"]} for each in found
    ]
    status = manifests.allocated(resource_claim(cluster, name), node, *devices)["status"]
    if users or consumers:
        status["reservedFor"] = [*users, *consumers]
    for each in status["allocation"]["devices"]["results"]:
        each |= result or {}
    resource = "resource.k8s.io/resourceclaims"

    def protected(claim: Obj) -> Obj:
        return {**claim, "metadata": {**claim["metadata"], "finalizers": [manifests.FINALIZER]}}

    client.patch(resource, "default", name, protected)
    client.patch_status(resource, "default", name, lambda claim: {**claim, "status": status})
