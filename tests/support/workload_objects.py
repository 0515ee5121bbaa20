"""Objects for tests of controllers, as short as they can be told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from vsched.apimachinery.meta.times import format_time

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
LABELS = {"app": "web"}


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


def controlled_by(owner: dict[str, Any], kind: str, api_version: str = "apps/v1") -> dict[str, Any]:
    meta = owner["metadata"]
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod(name: str = "p", *, ready: bool = False, phase: str = "", node: str = "n1", **meta: Any) -> dict[str, Any]:
    """A bound pod; ``ready`` makes it Running and Ready."""
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}
    if node:
        spec["nodeName"] = node
    status: dict[str, Any] = {"phase": phase or ("Running" if ready else "Pending")}
    if ready:
        status["startTime"] = ago(60)
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": ago(60)}]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": dict(LABELS), **meta}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def deleting(obj: dict[str, Any], *, grace: int = 30, finalizers: list[str] | None = None) -> dict[str, Any]:
    meta = {**obj["metadata"], "deletionTimestamp": ago(0), "deletionGracePeriodSeconds": grace}
    if finalizers:
        meta["finalizers"] = finalizers
    return {**obj, "metadata": meta}


def workload(kind: str, name: str = "w", *, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A workload object with a selector and a template of one container."""
    template = {"metadata": {"labels": dict(LABELS)}, "spec": {"containers": [{"name": "main", "image": "i:1"}]}}
    base = {"selector": {"matchLabels": dict(LABELS)}, "template": template}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "generation": 1, **more.pop("meta", {})}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": {**base, **(spec or {})}, **more}
