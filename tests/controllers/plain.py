"""Pods and workloads that name no PodGroup, and the PodGroups that are made for them."""

from __future__ import annotations

from typing import Any

from tests.support.running import PODGROUPS, pod
from vsched.mirror.ingest.implicit import GROUP_NAME
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
MIN_RESOURCES = "scheduling.volcano.sh/group-min-resources"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"

RESOURCES = {
    "Deployment": "apps/deployments",
    "ReplicaSet": "apps/replicasets",
    "StatefulSet": "apps/statefulsets",
    "DaemonSet": "apps/daemonsets",
    "Job": "batch/jobs",
}


def workload(kind: str, name: str, size: int, says: dict[str, str] | None = None, **spec: Any) -> Obj:
    """A workload of so many pods with these annotations; more of the pods' spec by name."""
    template = {"metadata": {"labels": {"app": name}}, "spec": pod(name)["spec"] | spec}
    metadata = {"name": name, "namespace": "default", "annotations": says or {}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        return {
            "apiVersion": "batch/v1",
            "kind": kind,
            "metadata": metadata,
            "spec": {"parallelism": size, "completions": size, "template": template},
        }
    fields: Obj = {"selector": {"matchLabels": {"app": name}}, "template": template}
    if kind != "DaemonSet":
        fields["replicas"] = size
    if kind == "StatefulSet":
        fields |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": fields}


def say(cluster: Cluster, kind: str, name: str, **notes: str | None) -> None:
    """Set annotations of an object by the last part of their names; None takes one away."""
    resource = RESOURCES.get(kind, kind)
    namespace = "" if kind == "namespaces" else "default"

    def change(obj: Obj) -> Obj:
        annotations = dict(obj["metadata"].get("annotations") or {})
        for key, value in notes.items():
            annotations.pop(f"scheduling.volcano.sh/{key.replace('_', '-')}", None)
            if value is not None:
                annotations[f"scheduling.volcano.sh/{key.replace('_', '-')}"] = value
        return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}

    cluster.client.patch(resource, namespace, name, change)


def scale(cluster: Cluster, kind: str, name: str, size: int) -> None:
    cluster.client.patch(
        RESOURCES[kind], "default", name, lambda obj: {**obj, "spec": {**obj["spec"], "replicas": size}}
    )


def groups(cluster: Cluster) -> dict[str, Obj]:
    """Every PodGroup by name."""
    return {found["metadata"]["name"]: found for found in cluster.client.list(PODGROUPS)}


def only_group(cluster: Cluster) -> Obj:
    found = list(groups(cluster).values())
    assert len(found) == 1, [group["metadata"]["name"] for group in found]
    return found[0]


def spec_of(cluster: Cluster) -> Obj:
    """The spec of the only PodGroup, empty where there is none."""
    found = list(groups(cluster).values())
    return found[0]["spec"] if len(found) == 1 else {}


def named(cluster: Cluster) -> dict[str, str]:
    """The PodGroup that each pod names, by pod; those that name none are left out."""
    return {
        found["metadata"]["name"]: found["metadata"]["annotations"][GROUP_NAME]
        for found in cluster.client.list("pods")
        if GROUP_NAME in (found["metadata"].get("annotations") or {})
    }


def uid_of(cluster: Cluster, resource: str, name: str) -> str:
    found = cluster.client.get(resource, "default", name)
    assert found is not None
    return str(found["metadata"]["uid"])


def writes(cluster: Cluster, resource: str) -> list[str]:
    """The changes of a resource so far, as words: what happened and to whom."""
    events = cluster.store.subscribe(cluster.client.kind(resource), after=0).take(100_000)
    return [f"{event.type} {event.obj['metadata']['name']}" for event in events]
