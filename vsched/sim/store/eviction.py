"""The eviction of a pod, if its disruption budget allows it.

The disruption controller counts the pods of a budget; an eviction takes one off disruptionsAllowed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from vsched.apimachinery.meta.api_errors import Failure, not_found, success, too_many_requests
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import with_condition
from vsched.apimachinery.meta.times import format_time
from vsched.sim.store.deletion import DeleteOptions, check_preconditions, delete
from vsched.sim.store.store import Store, StoredObject

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_MORE_THAN_ONE = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_UNGUARDED = frozenset({"Pending", "Succeeded", "Failed"})
_MOST_DISRUPTED = 2000


def evict(store: Store, kind: Kind, namespace: str, name: str, options: DeleteOptions, now: datetime) -> Obj:
    """Evicts a pod; raises a 429 Failure if its budget allows no disruption."""
    record = store.get(kind, namespace, name)
    if record is None:
        raise not_found(kind, name)
    # The budget comes first, as in the real server: it is spent even if the preconditions fail.
    if _is_guarded(record.obj):
        _spend(store, record.obj, options.dry_run, now)
    check_preconditions(kind, record.obj, options)
    if not options.dry_run:
        record = _announced(store, kind, record, now)
        # The precondition was checked; the condition has made a new version.
        options = replace(options, resource_version="")
    delete(store, kind, record, options, now)
    return success(201)


def _is_guarded(pod: Obj) -> bool:
    phase = pod.get("status", {}).get("phase")
    return phase not in _UNGUARDED and not pod["metadata"].get("deletionTimestamp")


def _spend(store: Store, pod: Obj, dry_run: bool, now: datetime) -> None:
    kind = store.registry.resource("policy/poddisruptionbudgets")
    found = [each for each in store.items(kind, pod["metadata"]["namespace"]) if _covers(each.obj, pod)]
    if not found:
        return
    if len(found) > 1:
        raise Failure(500, "", _MORE_THAN_ONE)
    budget = found[0]
    if not _is_ready(pod) and _lets_unready_go(budget.obj):
        return
    spent = _spent(budget.obj, pod, now)
    if not dry_run:
        store.replace(kind, spent, budget)


def _covers(budget: Obj, pod: Obj) -> bool:
    return matches_label_selector(budget["spec"].get("selector"), pod["metadata"].get("labels") or {})


def _lets_unready_go(budget: Obj) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _spent(budget: Obj, pod: Obj, now: datetime) -> Obj:
    """The budget with one disruption less, and with the pod in disruptedPods."""
    name = budget["metadata"]["name"]
    status = budget.get("status", {})
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refusal(f"The disruption budget {name} is still being processed by the server.", retry_after_seconds=10)
    allowed = status.get("disruptionsAllowed", 0)
    disrupted = status.get("disruptedPods") or {}
    if allowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(disrupted) > _MOST_DISRUPTED:
        raise _forbidden(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if not allowed:
        needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _refusal(f"The disruption budget {name} needs {needs} healthy pods and has {has} currently")
    status = {**status, "disruptionsAllowed": allowed - 1}
    status["disruptedPods"] = {**disrupted, pod["metadata"]["name"]: format_time(now)}
    if allowed == 1:
        condition = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}
        condition["observedGeneration"] = status.get("observedGeneration", 0)
        status["conditions"] = with_condition(status.get("conditions"), condition, now)
    return {**budget, "status": status}


def _forbidden(name: str, why: str) -> Failure:
    """The server has the singular of the resource here."""
    details = {"name": name, "group": "policy", "kind": "poddisruptionbudget"}
    return Failure(403, "Forbidden", f'poddisruptionbudget.policy "{name}" is forbidden: {why}', details=details)


def _refusal(text: str, *, retry_after_seconds: int = 0) -> Failure:
    details = {"causes": [{"reason": "DisruptionBudget", "message": text}]}
    return too_many_requests(_REFUSED, details=details, retry_after_seconds=retry_after_seconds)


def _is_ready(pod: Obj) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _announced(store: Store, kind: Kind, record: StoredObject, now: datetime) -> StoredObject:
    """The pod with the condition DisruptionTarget."""
    obj = record.obj
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    status = obj.get("status", {})
    status = {**status, "conditions": with_condition(status.get("conditions"), condition, now)}
    store.replace(kind, {**obj, "status": status}, record)
    metadata = obj["metadata"]
    current = store.get(kind, metadata["namespace"], metadata["name"])
    return current if current is not None else record
