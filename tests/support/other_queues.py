"""Queues of Kueue and KAI for tests, and definitions of their kinds for an embedded cluster."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]
KUEUE = "kueue.x-k8s.io"
KAI = "scheduling.run.ai"


def definition(group: str, version: str, kind: str, plural: str, *, namespaced: bool = False) -> Obj:
    """A definition that takes any spec."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def kueue_definitions(version: str) -> list[Obj]:
    return [
        definition(KUEUE, version, "ClusterQueue", "clusterqueues"),
        definition(KUEUE, version, "Cohort", "cohorts"),
        definition(KUEUE, version, "ResourceFlavor", "resourceflavors"),
        definition(KUEUE, version, "LocalQueue", "localqueues", namespaced=True),
    ]


def kai_definitions() -> list[Obj]:
    return [definition(KAI, "v2", "Queue", "queues")]


def quota(resource: str, nominal: object, borrow: object = None, lend: object = None) -> Obj:
    limits = {"borrowingLimit": borrow, "lendingLimit": lend}
    return {"name": resource, "nominalQuota": nominal} | {key: value for key, value in limits.items() if value}


def flavor(name: str, *quotas: Obj) -> Obj:
    return {"name": name, "resources": list(quotas)}


def kueue(kind: str, name: str, namespace: str = "", version: str = "v1beta2", **spec: Any) -> Obj:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{KUEUE}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def cluster_queue(name: str, *flavors: Obj, **spec: Any) -> Obj:
    """A ClusterQueue for all namespaces, with one group of resources."""
    groups = [{"coveredResources": [], "flavors": list(flavors)}] if flavors else []
    return kueue("ClusterQueue", name, resourceGroups=groups, **{"namespaceSelector": {}, **spec})


def cohort(name: str, *flavors: Obj, **spec: Any) -> Obj:
    return kueue("Cohort", name, resourceGroups=[{"flavors": list(flavors)}] if flavors else [], **spec)


def local_queue(namespace: str, name: str, target: str, **spec: Any) -> Obj:
    return kueue("LocalQueue", name, namespace, clusterQueue=target, **spec)


def kai_queue(name: str, parent: str = "", **spec: Any) -> Obj:
    above = {"parentQueue": parent} if parent else {}
    return {"apiVersion": f"{KAI}/v2", "kind": "Queue", "metadata": {"name": name}, "spec": above | spec}


def numbers(quota: float, limit: float = -1, weight: float = 1, **more: object) -> Obj:
    return {"quota": quota, "limit": limit, "overQuotaWeight": weight, **more}
