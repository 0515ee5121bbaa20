"""Pods of the size that real ones have: about 3 KB each, as an API server shows them once they run.

What makes a pod large is not what a scheduler reads: environment, mounts, tolerations that admission adds, a status,
and who owns which field (managedFields, a third of it).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from vsched.api.resources import PODS
from vsched.lab.sender import Obj
from vsched.sim.store.field_ownership import owned_paths, to_fields
from vsched.sim.store.store import Store

LABELS = {"app.kubernetes.io/component": "worker", "app.kubernetes.io/managed-by": "bench", "team": "batch"}
MOMENT = "2026-01-01T00:00:00Z"
TOKEN = "kube-api-access"


def as_real(pod: Obj) -> Obj:
    """The pod with all that a real one has besides; what it asks for is left as it is."""
    metadata, spec = pod["metadata"], pod["spec"]
    [container] = spec["containers"]
    full = {
        **pod,
        "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **LABELS}},
        "spec": {
            **spec,
            "serviceAccountName": "default",
            "priority": 0,
            "containers": [{**container, **_container(container.get("resources") or {})}],
            "volumes": [*(spec.get("volumes") or ()), *_volumes()],
        },
    }
    full["metadata"]["managedFields"] = _owners(orjson.dumps(_shape(full)))
    return full


def _container(resources: Obj) -> Obj:
    environment: list[Obj] = [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(2)]
    environment.append({"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}})
    limits = {"limits": resources["requests"]} if resources.get("requests") else {}
    return {
        "image": "registry.example/team/worker:1.42.0",
        "command": ["/bin/worker", "--config=/etc/worker/config.yaml"],
        "env": environment,
        "resources": {**resources, **limits},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/worker", "readOnly": True},
            {"name": TOKEN, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        ],
    }


def _volumes() -> list[Obj]:
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    roots = {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}
    return [
        {"name": "config", "emptyDir": {}},
        {"name": TOKEN, "projected": {"sources": [token, roots]}},
    ]


def _shape(pod: Obj) -> Obj:
    """The pod without what differs from pod to pod, so that equal ones share their owners."""
    metadata = {key: value for key, value in pod["metadata"].items() if key in ("labels", "annotations")}
    return {"metadata": {key: dict.fromkeys(sorted(value), "") for key, value in metadata.items()}, "spec": pod["spec"]}


@cache
def _owners(shape: bytes) -> list[Obj]:
    """The managedFields of a pod that its controller has just created."""
    kind = Store().registry.resource(PODS.plural)
    created: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", **orjson.loads(shape)}
    return [
        {
            "manager": "kube-controller-manager",
            "operation": "Update",
            "apiVersion": "v1",
            "time": MOMENT,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields(owned_paths(kind, created)),
        }
    ]
