"""The status of a PodDisruptionBudget: how many pods are healthy, must be healthy, and may be disrupted. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import (
    controller_of,
    is_deleting,
    is_finished,
    is_ready,
    seconds_since,
    whole_or_percent,
    with_condition,
)
from vsched.apimachinery.workloads.actions import Action, After, set_status
from vsched.errors import BadObject

DISRUPTED_SECONDS = 120.0
"""How long a granted eviction counts while its pod is not deleted."""

Scale = Callable[[Obj], int | None]
"""The wanted replicas of the owner that a reference names; None if it has none."""


def reconcile(budget: Obj, pods: Sequence[Obj], scale: Scale, now: datetime) -> list[Action]:
    """``pods`` are those the budget selects."""
    meta, spec, old = budget["metadata"], budget["spec"], budget.get("status") or {}
    counted = [pod for pod in pods if not is_finished(pod)]
    disrupted, wait = _still_disrupted(old.get("disruptedPods") or {}, counted, now)
    healthy = sum(
        is_ready(pod) and not is_deleting(pod) and pod["metadata"]["name"] not in disrupted for pod in counted
    )
    try:
        expected, desired = _wanted(spec, counted, scale)
    except BadObject as problem:
        return _failed(budget, str(problem), now)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    status: Obj = {
        "observedGeneration": meta.get("generation", 0),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": with_condition(old.get("conditions"), _condition(budget, allowed), now),
    }
    if disrupted:
        status["disruptedPods"] = disrupted
    waits = [After(wait)] if wait else []
    return [*set_status("policy/poddisruptionbudgets", budget, status), *waits]


def _condition(budget: Obj, allowed: int) -> Obj:
    return {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": budget["metadata"].get("generation", 0),
    }


def _still_disrupted(recorded: Obj, pods: Sequence[Obj], now: datetime) -> tuple[Obj, float]:
    """Granted evictions of pods that are not terminating yet, and the seconds until the first of them expires."""
    waiting = {pod["metadata"]["name"] for pod in pods if not is_deleting(pod)}
    ages = {name: seconds_since(moment, now) for name, moment in recorded.items() if name in waiting}
    kept = {name: recorded[name] for name, age in ages.items() if age < DISRUPTED_SECONDS}
    return kept, DISRUPTED_SECONDS - max((ages[name] for name in kept), default=DISRUPTED_SECONDS)


def _wanted(spec: Obj, pods: Sequence[Obj], scale: Scale) -> tuple[int, int]:
    """Expected and desired healthy pods; percentages and maxUnavailable refer to the sizes of the owners."""
    if spec.get("maxUnavailable") is not None:
        expected = _expected(pods, scale)
        unavailable = whole_or_percent(spec["maxUnavailable"], expected, round_up=True)
        return expected, max(0, expected - unavailable)
    minimum = spec.get("minAvailable")
    if minimum is None:
        return len(pods), 1 if pods else 0
    if isinstance(minimum, int):
        return len(pods), minimum
    expected = _expected(pods, scale)
    return expected, whole_or_percent(minimum, expected, round_up=True)


def _expected(pods: Sequence[Obj], scale: Scale) -> int:
    """The wanted replicas of every owner of these pods, each owner once."""
    owners: dict[str, Obj] = {}
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            raise BadObject(f"found no controller ref for pod {pod['metadata']['name']!r}")
        owners.setdefault(reference["uid"], {**reference, "namespace": pod["metadata"]["namespace"]})
    total = 0
    for reference in owners.values():
        replicas = scale(reference)
        if replicas is None:
            raise BadObject(f"{reference['kind']} {reference['name']!r} does not implement the scale subresource")
        total += replicas
    return total


def _failed(budget: Obj, message: str, now: datetime) -> list[Action]:
    """The status of a budget whose numbers cannot be worked out: no disruptions are allowed."""
    meta, old = budget["metadata"], budget.get("status") or {}
    failed = {**_condition(budget, 0), "reason": "SyncFailed", "message": message}
    zero = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    status = {
        **zero,
        **old,
        "disruptionsAllowed": 0,
        "observedGeneration": meta.get("generation", 0),
        "conditions": with_condition(old.get("conditions"), failed, now),
    }
    return set_status("policy/poddisruptionbudgets", budget, status)
