"""What to do for a ReplicaSet: pods to create or delete, and its status. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import (
    controller_of,
    controller_uid,
    is_active,
    is_available,
    is_deleting,
    is_ready,
    pod_from,
    reference_to,
    replicas_of,
    with_owners,
)
from vsched.apimachinery.workloads.actions import Action, After, Create, Update, delete, set_status

BURST = 100
"""Pods created or deleted at a time."""

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def reconcile(replica_set: Obj, pods: Sequence[Obj], orphans: Sequence[Obj], now: datetime) -> list[Action]:
    """``pods`` are those that the set controls, ``orphans`` those of the namespace without a controller."""
    uid, spec = replica_set["metadata"]["uid"], replica_set["spec"]
    mine, others = list[Obj](), list[Obj]()
    for pod in pods:
        (mine if matches_label_selector(spec.get("selector"), pod["metadata"].get("labels")) else others).append(pod)
    actions: list[Action] = [_release(pod, uid) for pod in others if not is_deleting(pod)]
    if is_deleting(replica_set):
        return [*actions, *_status(replica_set, mine, now)]
    reference = reference_to(replica_set, "apps/v1", "ReplicaSet")
    for pod in orphans:
        if is_active(pod) and matches_label_selector(spec.get("selector"), pod["metadata"].get("labels")):
            actions.append(Update("pods", with_owners(pod, [*_references(pod), reference])))
            mine.append(pod)
    active = [pod for pod in mine if is_active(pod)]
    return [*actions, *_scale(replica_set, active), *_status(replica_set, mine, now)]


def _references(pod: Obj) -> list[Obj]:
    return list(pod["metadata"].get("ownerReferences") or ())


def _release(pod: Obj, uid: str) -> Update:
    return Update("pods", with_owners(pod, [each for each in _references(pod) if each.get("uid") != uid]))


def _scale(replica_set: Obj, active: Sequence[Obj]) -> list[Action]:
    meta, spec = replica_set["metadata"], replica_set["spec"]
    missing = replicas_of(replica_set) - len(active)
    actions: list[Action]
    if missing > 0:
        reference = reference_to(replica_set, "apps/v1", "ReplicaSet")
        pod = pod_from(spec.get("template") or {}, meta["namespace"], reference)
        pod["metadata"]["generateName"] = f"{meta['name'][:243]}-"
        actions = [Create("pods", pod)] * min(missing, BURST)
    else:
        surplus = sorted(active, key=deletion_rank)[:-missing] if missing else []
        actions = [delete("pods", pod) for pod in surplus[:BURST]]
    if abs(missing) > BURST:
        actions.append(After(0))
    return actions


def deletion_rank(pod: Obj) -> tuple[bool, bool, bool, int, str, str]:
    """The order of deletion: unbound, pending, not ready, low deletion cost, and then the youngest."""
    meta, status = pod["metadata"], pod.get("status", {})
    cost = (meta.get("annotations") or {}).get(DELETION_COST, "0")
    return (
        bool(pod["spec"].get("nodeName")),
        status.get("phase") == "Running",
        is_ready(pod),
        int(cost) if cost.lstrip("-").isdecimal() else 0,
        _inverted(meta.get("creationTimestamp", "")),
        meta["name"],
    )


def _inverted(timestamp: str) -> str:
    """Sorts later time stamps first."""
    return "".join(chr(0x7F - ord(letter)) for letter in timestamp)


def _status(replica_set: Obj, mine: Sequence[Obj], now: datetime) -> list[Action]:
    meta, spec = replica_set["metadata"], replica_set["spec"]
    active = [pod for pod in mine if is_active(pod)]
    min_ready = spec.get("minReadySeconds") or 0
    wanted = (spec.get("template") or {}).get("metadata", {}).get("labels") or {}
    labelled = [pod for pod in active if wanted.items() <= (pod["metadata"].get("labels") or {}).items()]
    ready = [pod for pod in active if is_ready(pod)]
    available = [pod for pod in ready if is_available(pod, min_ready, now)]
    status: Obj = {
        "replicas": len(active),
        "fullyLabeledReplicas": len(labelled),
        "readyReplicas": len(ready),
        "availableReplicas": len(available),
        "observedGeneration": meta.get("generation", 0),
    }
    status = {key: count for key, count in status.items() if count or key == "replicas"}
    old = replica_set.get("status") or {}
    if old.get("conditions"):
        status["conditions"] = old["conditions"]
    waits = [After(1.0)] if len(available) < len(ready) else []
    return [*set_status("apps/replicasets", replica_set, status), *waits]


def owned_by(objects: Sequence[Obj], owner: Obj) -> list[Obj]:
    """The objects whose controller is the owner."""
    uid = owner["metadata"]["uid"]
    return [obj for obj in objects if controller_uid(obj) == uid]


def unowned(objects: Sequence[Obj]) -> list[Obj]:
    return [obj for obj in objects if controller_of(obj) is None]
