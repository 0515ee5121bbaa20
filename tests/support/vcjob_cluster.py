"""Volcano's Jobs (vcjobs) of an embedded cluster: making them, giving Commands about them, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
VCJOBS = "batch.volcano.sh/jobs"
COMMANDS = "bus.volcano.sh/commands"
VERSION = "batch.volcano.sh/v1alpha1"


def task(name: str, replicas: int, seconds: str = "", exit_code: int = 0, **spec: Any) -> Obj:
    """A task whose pods run so long, or until they are deleted, and end with this exit code."""
    annotations = {"vsched.io/duration": seconds, "vsched.io/exit-code": str(exit_code)} if seconds else {}
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "100m"}}}
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    return {"name": name, "replicas": replicas, "template": template, **spec}


def vcjob(name: str, *tasks: Obj, **spec: Any) -> Obj:
    """A vcjob of the scheduler that tests run."""
    return {
        "apiVersion": VERSION,
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "vsched", "tasks": list(tasks), **spec},
    }


def on(event: str, action: str, **more: Any) -> Obj:
    """A policy: what is done about an event."""
    return {"event": event, "action": action, **more}


def job(cluster: Cluster, name: str) -> Obj:
    """A vcjob as it is; empty where there is none."""
    return cluster.client.get(VCJOBS, "default", name) or {}


def status(cluster: Cluster, name: str) -> Obj:
    return job(cluster, name).get("status") or {}


def phase(cluster: Cluster, name: str) -> str:
    return str(status(cluster, name).get("state", {}).get("phase", ""))


def pods(cluster: Cluster, name: str) -> dict[str, Obj]:
    """The pods of a vcjob, by name."""
    labelled = (each for each in cluster.client.list("pods", "default"))
    return {
        each["metadata"]["name"]: each
        for each in labelled
        if (each["metadata"].get("labels") or {}).get("volcano.sh/job-name") == name
    }


def phases(cluster: Cluster, name: str) -> dict[str, str]:
    """The phases of the pods of a vcjob, by name."""
    return {pod: each.get("status", {}).get("phase", "") for pod, each in pods(cluster, name).items()}


def command(cluster: Cluster, action: str, name: str, uid: str = "") -> None:
    """Give a Command about a vcjob, as ``vcctl`` does."""
    target = {"apiVersion": VERSION, "kind": "Job", "name": name, "uid": uid or job(cluster, name)["metadata"]["uid"]}
    cluster.client.create(
        COMMANDS,
        {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {"generateName": f"{name}-", "namespace": "default"},
            "action": action,
            "target": target,
        },
    )


def commands(cluster: Cluster) -> list[Obj]:
    return list(cluster.client.list(COMMANDS, "default"))


def change(cluster: Cluster, name: str, how: Callable[[Obj], Obj]) -> None:
    """Change the spec of a vcjob."""
    cluster.client.patch(VCJOBS, "default", name, lambda found: {**found, "spec": how(found["spec"])})
