"""Objects of a plan as a watch would tell of them, and the kinds of which it makes pods, or none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsched import api
from vsched.api.resources import VCJOB

Manifest = dict[str, Any]
WORKLOADS: Mapping[str, str] = {
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "DaemonSet": "apps",
    "Job": "batch",
}
"""Kinds that become pods here, with their API groups."""
MOST_PODS = 20_000
"""An object that would make more is refused: somebody has mistyped a number."""
PODLESS = frozenset({"CronJob", "JobFlow", "ReplicationController", "PodTemplate"})
"""Kinds that make pods in a cluster, but not here."""


def is_vcjob(manifest: Manifest) -> bool:
    """Whether a manifest is a vcjob."""
    return api.kind_of(str(manifest.get("apiVersion") or ""), manifest["kind"]) == VCJOB


def names_scheduler(manifest: Manifest) -> bool:
    """Whether a pod or the template of a workload says which scheduler is to place it."""
    spec = manifest.get("spec") or {}
    pod = spec if manifest["kind"] == "Pod" else (spec.get("template") or {}).get("spec") or {}
    return bool(pod.get("schedulerName"))


def as_told(obj: Manifest, named: bool) -> Manifest:
    """An object as a watch brings it: versions on paper say nothing about those of the cluster.

    The server names a scheduler for pods that name none; who plans for such pods wants to know them.
    """
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    if obj["kind"] != "Pod" or named:
        return {**obj, "metadata": metadata}
    spec = {key: value for key, value in obj["spec"].items() if key != "schedulerName"}
    return {**obj, "metadata": metadata, "spec": spec}
