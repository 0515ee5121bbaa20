"""What to do for a Deployment: a ReplicaSet for each template, rolled out within maxSurge and maxUnavailable. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import (
    by_age,
    condition,
    controller_of,
    is_deleting,
    reference_to,
    replicas_of,
    seconds_since,
    template_hash,
    whole_or_percent,
    with_condition,
    with_owners,
)
from vsched.apimachinery.meta.times import format_time
from vsched.apimachinery.workloads.actions import Action, After, Create, Update, delete, set_status

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"


@dataclass(frozen=True, slots=True)
class RolloutBounds:
    """The limits of a rollout around the wanted number of replicas."""

    replicas: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, deployment: Obj) -> RolloutBounds:
        replicas = replicas_of(deployment)
        rolling = deployment["spec"].get("strategy", {}).get("rollingUpdate") or {}
        surge = whole_or_percent(rolling.get("maxSurge", "25%"), replicas, round_up=True)
        unavailable = whole_or_percent(rolling.get("maxUnavailable", "25%"), replicas, round_up=False)
        if not surge and not unavailable:
            unavailable = 1
        return cls(replicas, surge, min(unavailable, replicas))


def reconcile(deployment: Obj, sets: Sequence[Obj], pods_of_old: int, now: datetime) -> list[Action]:
    """``sets`` are the ReplicaSets of the namespace; ``pods_of_old`` counts all pods of old ones."""
    uid = deployment["metadata"]["uid"]
    owned = [each for each in sets if (controller_of(each) or {}).get("uid") == uid]
    if is_deleting(deployment):
        return _status(deployment, None, owned, now)
    selector = deployment["spec"].get("selector")
    adopted = [
        each
        for each in sets
        if controller_of(each) is None
        and not is_deleting(each)
        and matches_label_selector(selector, each["metadata"].get("labels"))
    ]
    if adopted:
        return [_adopt(deployment, each) for each in adopted]
    current = current_set(deployment, owned)
    old = by_age(each for each in owned if each is not current)
    return [*_roll(deployment, current, old, pods_of_old), *_status(deployment, current, owned, now)]


def current_set(deployment: Obj, owned: Sequence[Obj]) -> Obj | None:
    """The ReplicaSet of the present template."""
    label = template_hash(deployment["spec"]["template"])
    return next((each for each in owned if (each["metadata"].get("labels") or {}).get(HASH_LABEL) == label), None)


def _adopt(deployment: Obj, replica_set: Obj) -> Update:
    references = replica_set["metadata"].get("ownerReferences") or ()
    return Update(
        "apps/replicasets", with_owners(replica_set, [*references, reference_to(deployment, "apps/v1", "Deployment")])
    )


def _roll(deployment: Obj, current: Obj | None, old: list[Obj], pods_of_old: int) -> list[Action]:
    bounds = RolloutBounds.of(deployment)
    recreate = deployment["spec"].get("strategy", {}).get("type") == "Recreate"
    paused = deployment["spec"].get("paused", False)
    if current is None:
        if paused:
            return _hold(deployment, [], old, bounds)
        return (
            _begin_recreate(deployment, old, pods_of_old)
            if recreate
            else [_new_set(deployment, old, _room(bounds, old))]
        )
    revision = _next_revision(current, old)
    actions: list[Action] = _record_revision(deployment, current, revision)
    if actions:
        return actions
    if paused:
        return _hold(deployment, [current], old, bounds)
    if recreate:
        return _recreate(bounds, current, old, pods_of_old)
    return [*_roll_over(bounds, current, old), *_clean_up(deployment, old)]


def _hold(deployment: Obj, current: list[Obj], old: list[Obj], bounds: RolloutBounds) -> list[Action]:
    """For a paused Deployment: only scales, if a single ReplicaSet is active."""
    sets = [*current, *old]
    surplus = bounds.replicas - sum(replicas_of(each) for each in sets)
    active = [each for each in sets if replicas_of(each)] or sets[:1]
    if len(active) != 1 or not surplus:
        return []
    return [_scaled(active[0], bounds.replicas)]


def _room(bounds: RolloutBounds, others: Sequence[Obj]) -> int:
    total = sum(replicas_of(each) for each in others)
    return max(0, min(bounds.replicas, bounds.replicas + bounds.surge - total))


def _begin_recreate(deployment: Obj, old: list[Obj], pods_of_old: int) -> list[Action]:
    """Removes all old pods before the new set is made."""
    actions: list[Action] = [_scaled(each, 0) for each in old if replicas_of(each)]
    return actions if actions or pods_of_old else [_new_set(deployment, old, replicas_of(deployment))]


def _recreate(bounds: RolloutBounds, current: Obj, old: list[Obj], pods_of_old: int) -> list[Action]:
    actions: list[Action] = [_scaled(each, 0) for each in old if replicas_of(each)]
    if not actions and not pods_of_old and replicas_of(current) != bounds.replicas:
        actions.append(_scaled(current, bounds.replicas))
    return actions


def _roll_over(bounds: RolloutBounds, current: Obj, old: list[Obj]) -> list[Action]:
    have = replicas_of(current)
    total = have + sum(replicas_of(each) for each in old)
    wanted = have
    if have > bounds.replicas:
        wanted = bounds.replicas
    elif have < bounds.replicas:
        wanted = have + max(0, min(bounds.replicas - have, bounds.replicas + bounds.surge - total))
    actions: list[Action] = [] if wanted == have else [_scaled(current, wanted)]
    return [*actions, *_shrink_old(bounds, current, [each for each in old if replicas_of(each)], total)]


def _shrink_old(bounds: RolloutBounds, current: Obj, old: list[Obj], total: int) -> list[Action]:
    """Scales old sets down: unavailable replicas first, then as many others as availability allows."""
    if not old:
        return []
    floor = bounds.replicas - bounds.unavailable
    new_unavailable = replicas_of(current) - _available(current)
    budget = total - floor - new_unavailable
    sizes = {id(each): replicas_of(each) for each in old}
    for each in old:
        sick = max(0, min(budget, sizes[id(each)] - _available(each)))
        sizes[id(each)] -= sick
        budget -= sick
    spare = _available(current) + sum(min(_available(each), sizes[id(each)]) for each in old) - floor
    for each in old:
        taken = max(0, min(spare, sizes[id(each)]))
        sizes[id(each)] -= taken
        spare -= taken
    return [_scaled(each, sizes[id(each)]) for each in old if sizes[id(each)] != replicas_of(each)]


def _available(replica_set: Obj) -> int:
    return int((replica_set.get("status") or {}).get("availableReplicas", 0))


def _scaled(replica_set: Obj, replicas: int) -> Update:
    return Update("apps/replicasets", {**replica_set, "spec": {**replica_set["spec"], "replicas": replicas}})


def _new_set(deployment: Obj, old: Sequence[Obj], replicas: int) -> Create:
    meta, spec = deployment["metadata"], deployment["spec"]
    template = spec["template"]
    label = template_hash(template)
    template_meta = template.get("metadata") or {}
    labels = {**(template_meta.get("labels") or {}), HASH_LABEL: label}
    selector = spec.get("selector") or {}
    bounds = RolloutBounds.of(deployment)
    annotations = {
        **_inherited(meta),
        REVISION: str(_next_revision(None, old)),
        DESIRED: str(bounds.replicas),
        MAX_REPLICAS: str(bounds.replicas + bounds.surge),
    }
    return Create("apps/replicasets", {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{meta['name']}-{label}",
            "namespace": meta["namespace"],
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [reference_to(deployment, "apps/v1", "Deployment")],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": spec.get("minReadySeconds", 0),
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: label}},
            "template": {**template, "metadata": {**template_meta, "labels": labels}},
        },
    })  # fmt: skip


def _inherited(meta: Obj) -> dict[str, str]:
    private = (REVISION, DESIRED, MAX_REPLICAS, "kubectl.kubernetes.io/last-applied-configuration")
    return {key: value for key, value in (meta.get("annotations") or {}).items() if key not in private}


def _revision(obj: Obj) -> int:
    text = (obj["metadata"].get("annotations") or {}).get(REVISION, "0")
    return int(text) if text.isdecimal() else 0


def _next_revision(current: Obj | None, old: Sequence[Obj]) -> int:
    """The revision of the current set if it is the highest, else one above all others."""
    highest = max((_revision(each) for each in old), default=0)
    own = _revision(current) if current else 0
    return own if own > highest else highest + 1


def _record_revision(deployment: Obj, current: Obj, revision: int) -> list[Action]:
    actions: list[Action] = []
    said, says = current["metadata"].get("annotations") or {}, _inherited(deployment["metadata"])
    if _revision(current) != revision or not says.items() <= said.items():
        current = {**current, "metadata": {**current["metadata"], "annotations": {**said, **says}}}
        actions.append(Update("apps/replicasets", _annotated(current, revision)))
    if _revision(deployment) != revision:
        actions.append(Update("apps/deployments", _annotated(deployment, revision)))
    return actions


def _annotated(obj: Obj, revision: int) -> Obj:
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), REVISION: str(revision)}}}


def _clean_up(deployment: Obj, old: list[Obj]) -> list[Action]:
    limit = deployment["spec"].get("revisionHistoryLimit", 10)
    idle = [each for each in old if not replicas_of(each) and not (each.get("status") or {}).get("replicas")]
    idle = [each for each in idle if not is_deleting(each)]
    surplus = sorted(idle, key=_revision)[: max(0, len(idle) - limit)]
    return [delete("apps/replicasets", each) for each in surplus]


def _status(deployment: Obj, current: Obj | None, owned: Sequence[Obj], now: datetime) -> list[Action]:
    meta, old_status = deployment["metadata"], deployment.get("status") or {}
    counted = [each.get("status") or {} for each in owned]
    total = sum(each.get("replicas", 0) for each in counted)
    available = sum(each.get("availableReplicas", 0) for each in counted)
    wanted = sum(replicas_of(each) for each in owned)
    counts = {
        "observedGeneration": meta.get("generation", 0),
        "replicas": total,
        "updatedReplicas": ((current or {}).get("status") or {}).get("replicas", 0),
        "readyReplicas": sum(each.get("readyReplicas", 0) for each in counted),
        "availableReplicas": available,
        "unavailableReplicas": max(0, wanted - available),
    }
    status: Obj = {key: count for key, count in counts.items() if count}
    conditions = list(old_status.get("conditions") or ())
    conditions = with_condition(conditions, _availability(deployment, available), now)
    wait = None
    if current is not None:
        progress, wait = _progress(deployment, current, status, now)
        conditions = _with_progress(conditions, progress, now)
    status["conditions"] = conditions
    waits = [] if wait is None else [After(wait)]
    return [*set_status("apps/deployments", deployment, status), *waits]


def _availability(deployment: Obj, available: int) -> Obj:
    bounds = RolloutBounds.of(deployment)
    enough = available >= bounds.replicas - bounds.unavailable
    return {
        "type": "Available",
        "status": "True" if enough else "False",
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
    }


def _progress(deployment: Obj, current: Obj, status: Obj, now: datetime) -> tuple[Obj, float | None]:
    """The Progressing condition, and the seconds until the progress deadline is checked again."""
    name, replicas = current["metadata"]["name"], replicas_of(deployment)
    old = condition(deployment, "Progressing") or {}
    was_done = old.get("reason") == "NewReplicaSetAvailable"
    complete = status.get("updatedReplicas", 0) == status.get("replicas", 0)
    if complete and (was_done or status.get("replicas", 0) == status.get("availableReplicas", 0) == replicas):
        return _progressing("NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'), None
    deadline = float(deployment["spec"].get("progressDeadlineSeconds", 600))
    counts = ("updatedReplicas", "availableReplicas", "readyReplicas", "replicas")
    moved = any(status.get(key, 0) != (deployment.get("status") or {}).get(key, 0) for key in counts)
    fresh = moved or was_done
    waited = 0.0 if fresh else seconds_since(old.get("lastUpdateTime"), now)
    if waited >= deadline or (old.get("reason") == "ProgressDeadlineExceeded" and not fresh):
        late = _progressing("ProgressDeadlineExceeded", f'ReplicaSet "{name}" has timed out progressing.')
        return {**late, "status": "False"}, None
    progress = _progressing("ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.')
    if not waited:
        progress["lastUpdateTime"] = ""
    return progress, max(1.0, deadline - waited)


def _progressing(reason: str, message: str) -> Obj:
    return {"type": "Progressing", "status": "True", "reason": reason, "message": message}


def _with_progress(conditions: list[Obj], progress: Obj, now: datetime) -> list[Obj]:
    old = next((each for each in conditions if each.get("type") == "Progressing"), {})
    changed = old.get("reason") != progress["reason"]
    kept = old.get("lastUpdateTime") if not changed and "lastUpdateTime" not in progress else None
    return with_condition(conditions, {**progress, "lastUpdateTime": kept or format_time(now)}, now)
