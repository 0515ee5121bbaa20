"""A running embedded cluster for the tests of volumes and devices: what they ask of it, in few words."""

from __future__ import annotations

from typing import Any

from tests.sim.builders import pod as bound_pod
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.controllers import ControllerSettings, PodTimes

Obj = dict[str, Any]
SETTINGS = ControllerSettings(pods=PodTimes(termination=0.0), provisioning=0.0, events=True)


def cluster(nodes: int | list[Obj] = 3, **settings: Any) -> Cluster:
    chosen = ControllerSettings(**{"pods": PodTimes(termination=0.0), "provisioning": 0.0, "events": True, **settings})
    return Cluster(nodes, settings=ClusterSettings(controllers=chosen))


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
    cluster.client.patch("pods", "default", name, lambda pod: {**pod, "spec": {**pod["spec"], "nodeName": node}})
