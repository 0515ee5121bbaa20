"""Kubernetes objects as dictionaries, and decoded as a watch stream would deliver them."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched import api

Fields = dict[str, Any]


def merged(base: Fields, extra: Fields) -> Fields:
    """``extra`` laid over ``base``, field by field."""
    result = dict(base)
    for key, value in extra.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def container(cpu: str | None = None, memory: str | None = None, **fields: Any) -> Fields:
    requests = {name: value for name, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": "main", "resources": {"requests": requests}, **fields}


BOUND: Fields = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
"""The status of a pod that was bound, and whose node has not spoken yet."""


def pod(name: str = "p", *, namespace: str = "ns", node: str = "", group: str = "", **fields: Any) -> Fields:
    """A pod of ours that asks for one core; ``fields`` are laid over it."""
    base: Fields = {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"schedulerName": "volcano", "containers": [container("1")]},
        "status": {"phase": "Running" if node else "Pending"},
    }
    if node:
        base["spec"]["nodeName"] = node
    if group:
        base["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group}
    return merged(base, fields)


def pod_group(name: str = "pg", *, namespace: str = "ns", **fields: Any) -> Fields:
    base = {
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"minMember": 1, "queue": "q"},
        "status": {"phase": "Inqueue"},
    }
    return merged(base, fields)


def node(name: str = "n1", **fields: Any) -> Fields:
    base = {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "110"}},
    }
    return merged(base, fields)


def queue(name: str = "q", **fields: Any) -> Fields:
    return merged(
        {"kind": "Queue", "metadata": {"name": name, "uid": f"uid-{name}"}, "status": {"state": "Open"}}, fields
    )


def priority_class(name: str, value: int, is_default: bool = False) -> Fields:
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, "globalDefault": is_default}


def namespace(name: str, **fields: Any) -> Fields:
    return merged({"kind": "Namespace", "metadata": {"name": name}}, fields)


def quota(name: str, weight: Any, *, namespace: str = "ns") -> Fields:
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": {"volcano.sh/namespace.weight": weight}},
    }


def budget(name: str = "b", selector: Any = None, *, namespace: str = "ns", **status: Any) -> Fields:
    """A PodDisruptionBudget; without a selector it is about no pod."""
    spec = {} if selector is None else {"selector": selector}
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
        "status": status,
    }


def limits(name: str = "q", *, namespace: str = "ns", **fields: Any) -> Fields:
    """A ResourceQuota with these parts of ``spec`` and ``status``."""
    base = {"kind": "ResourceQuota", "metadata": {"name": name, "namespace": namespace}}
    return merged(base, fields)


def selecting(kind: str, name: str = "s", *, namespace: str = "ns", **labels: str) -> Fields:
    """A Service or a workload controller that selects pods with these labels."""
    plain = kind in ("Service", "ReplicationController")
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": labels if plain else {"matchLabels": labels}},
    }


def read(fields: Fields) -> api.Object:
    """The object as the stream delivers it: malformed ones as ``Malformed``."""
    return api.read(fields["kind"], msgspec.json.encode(fields))


def decode(fields: Fields) -> Any:
    """The object; raises BadObject."""
    return api.decode(fields["kind"], msgspec.json.encode(fields))
