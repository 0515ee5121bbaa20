"""What to do for a DaemonSet: one pod for each node that fits, updated a few nodes at a time. Pure.

A pod names its node by affinity; the scheduler binds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import (
    is_available,
    is_deleting,
    is_finished,
    is_ready,
    pod_from,
    reference_to,
    template_hash,
    whole_or_percent,
)
from vsched.apimachinery.workloads.actions import Action, After, Create, delete, set_status
from vsched.apimachinery.workloads.node_fit import is_open_to

REVISION_LABEL = "controller-revision-hash"
BURST = 100
"""Pods made or deleted at a time."""

_DAEMON_TOLERATIONS: tuple[tuple[str, str], ...] = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
"""The tolerations that the pods of a DaemonSet get."""


def reconcile(daemon_set: Obj, pods: Sequence[Obj], nodes: Sequence[Obj], now: datetime) -> list[Action]:
    """``pods`` are those the set controls, ``nodes`` all there are."""
    wanted = [node["metadata"]["name"] for node in nodes if fits(daemon_set, node)]
    by_node: dict[str, list[Obj]] = {}
    for pod in pods:
        by_node.setdefault(node_of(pod), []).append(pod)
    status = _status(daemon_set, wanted, by_node, now)
    if is_deleting(daemon_set):
        return status
    moves = _moves(daemon_set, wanted, by_node) or _renew(daemon_set, wanted, by_node, now)
    more: list[Action] = [After(0)] if len(moves) > BURST else []
    return [*moves[:BURST], *status, *more]


def node_of(pod: Obj) -> str:
    """The node that a daemon pod is bound to, or is meant for."""
    if bound := pod["spec"].get("nodeName"):
        return str(bound)
    required = (
        (pod["spec"].get("affinity") or {})
        .get("nodeAffinity", {})
        .get("requiredDuringSchedulingIgnoredDuringExecution", {})
    )
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def fits(daemon_set: Obj, node: Obj) -> bool:
    """Whether the pods of the set fit the labels and taints of the node."""
    spec = daemon_set["spec"]["template"]["spec"]
    return is_open_to(spec, _tolerations(spec), node)


def _tolerations(spec: Obj) -> list[Obj]:
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _DAEMON_TOLERATIONS]
    return [*(spec.get("tolerations") or ()), *added]


def _moves(daemon_set: Obj, wanted: Sequence[str], by_node: Mapping[str, Sequence[Obj]]) -> list[Action]:
    """Creates missing pods; deletes finished, duplicate and misplaced ones."""
    actions: list[Action] = [_create(daemon_set, name) for name in wanted if name not in by_node]
    for name, pods in by_node.items():
        alive = [pod for pod in pods if not is_finished(pod)]
        keep = alive[:1] if name in wanted else []
        actions += [delete("pods", pod) for pod in pods if pod not in keep and not is_deleting(pod)]
    return actions


def _renew(daemon_set: Obj, wanted: Sequence[str], by_node: Mapping[str, Sequence[Obj]], now: datetime) -> list[Action]:
    """Deletes pods of an older template, as many at a time as may be unavailable."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return []
    limit = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
    budget = max(1, whole_or_percent(limit, len(wanted), round_up=True))
    min_ready = daemon_set["spec"].get("minReadySeconds") or 0
    pods = [pod for name in wanted for pod in by_node.get(name, ())]
    well = [pod for pod in pods if is_available(pod, min_ready, now) and not is_deleting(pod)]
    old = [pod for pod in pods if not _is_current(daemon_set, pod) and not is_deleting(pod)]
    sick = [pod for pod in old if pod not in well]
    budget = max(0, budget - (len(wanted) - len(well)))
    return [delete("pods", pod) for pod in [*sick, *[pod for pod in old if pod in well][:budget]]]


def _is_current(daemon_set: Obj, pod: Obj) -> bool:
    revision = template_hash(daemon_set["spec"]["template"])
    return bool((pod["metadata"].get("labels") or {}).get(REVISION_LABEL) == revision)


def _create(daemon_set: Obj, node: str) -> Create:
    meta, template = daemon_set["metadata"], daemon_set["spec"]["template"]
    labels = {REVISION_LABEL: template_hash(template)}
    pod = pod_from(template, meta["namespace"], reference_to(daemon_set, "apps/v1", "DaemonSet"), labels=labels)
    pod["metadata"]["generateName"] = f"{meta['name']}-"
    affinity = pod["spec"].get("affinity") or {}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    only = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    pod["spec"] = {
        **pod["spec"],
        "affinity": {**affinity, "nodeAffinity": {**affinity.get("nodeAffinity", {}), **only}},
        "tolerations": _tolerations(pod["spec"]),
    }
    return Create("pods", pod)


def _status(
    daemon_set: Obj, wanted: Sequence[str], by_node: Mapping[str, Sequence[Obj]], now: datetime
) -> list[Action]:
    meta, min_ready = daemon_set["metadata"], daemon_set["spec"].get("minReadySeconds") or 0
    placed = [pod for name in wanted for pod in by_node.get(name, ())[:1] if not is_deleting(pod)]
    available = sum(is_available(pod, min_ready, now) for pod in placed)
    counts = {
        "updatedNumberScheduled": sum(_is_current(daemon_set, pod) for pod in placed),
        "numberAvailable": available,
        "numberUnavailable": len(wanted) - available,
        "observedGeneration": meta.get("generation", 0),
    }
    status: Obj = {
        "currentNumberScheduled": len(placed),
        "numberMisscheduled": sum(name not in wanted for name in by_node),
        "desiredNumberScheduled": len(wanted),
        "numberReady": sum(is_ready(pod) for pod in placed),
        **{key: count for key, count in counts.items() if count},
    }
    waits = [After(1.0)] if available < status["numberReady"] else []
    return [*set_status("apps/daemonsets", daemon_set, status), *waits]
