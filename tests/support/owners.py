"""Workloads whose pods come back: ReplicaSets and Jobs in gangs, their queues, and what became of all their pods."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.support.running import Obj, pod
from vsched.sim.cluster import Cluster

GROUP = "scheduling.k8s.io/group-name"


def queue(name: str, **spec: Any) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec},
    }


def machine(name: str, **amounts: str) -> Obj:
    """A node with these amounts."""
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110", **amounts}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def template(name: str, requests: Obj, **spec: Any) -> Obj:
    made = pod(name)["spec"] | spec
    made["containers"] = [{"name": "main", "image": "busybox", "resources": {"requests": requests, "limits": requests}}]
    return {"metadata": {"labels": {"app": name}, "annotations": {GROUP: name}}, "spec": made}


def replica_set(name: str, size: int, requests: Obj, **spec: Any) -> Obj:
    """A ReplicaSet whose pods are of the PodGroup of its name."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": size,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, requests, **spec),
        },
    }


def batch_job(name: str, size: int, requests: Obj, **spec: Any) -> Obj:
    """A Job whose pods are of the PodGroup of its name; to be disrupted does not count as a failure."""
    ignored = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "parallelism": size,
            "completions": size,
            "podFailurePolicy": {"rules": [ignored]},
            "template": template(name, requests, restartPolicy="Never", **spec),
        },
    }


def running(cluster: Cluster) -> Counter[str]:
    """How many pods of each PodGroup run and are not about to go."""
    return Counter(
        found["metadata"]["annotations"][GROUP]
        for found in cluster.client.list("pods", "default")
        if found["status"].get("phase") == "Running" and not found["metadata"].get("deletionTimestamp")
    )


class Life:
    """What became of one pod, as the API server saw it."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.node = ""
        self.bound_at = 0
        """The resourceVersion at which it got its node."""
        self.nominated: list[str] = []
        """The nodes it was nominated to, in order."""
        self.evicted_at = 0
        """The resourceVersion at which its eviction began, 0 where it was not evicted."""

    def follow(self, seen: Obj) -> None:
        metadata, status = seen["metadata"], seen.get("status") or {}
        version = int(metadata["resourceVersion"])
        node, nominated = seen["spec"].get("nodeName", ""), status.get("nominatedNodeName", "")
        if node and not self.node:
            self.node, self.bound_at = node, version
        if nominated and not node and nominated not in self.nominated[-1:]:
            self.nominated.append(nominated)
        told = {condition["type"] for condition in status.get("conditions") or ()}
        if metadata.get("deletionTimestamp") and "DisruptionTarget" in told and not self.evicted_at:
            self.evicted_at = version


def lives(cluster: Cluster) -> list[Life]:
    """What became of every pod there ever was."""
    found: dict[str, Life] = {}
    for event in cluster.store.subscribe(cluster.client.kind("pods"), after=0).take(1_000_000):
        metadata = event.obj["metadata"]
        found.setdefault(metadata["uid"], Life(metadata["annotations"][GROUP])).follow(event.obj)
    return list(found.values())
