"""What to do for a StatefulSet: pods by ordinal, in order or all at once, updated from the highest down. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import datetime

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import (
    is_available,
    is_deleting,
    is_finished,
    is_ready,
    pod_from,
    reference_to,
    replicas_of,
    template_hash,
)
from vsched.apimachinery.workloads.actions import Action, After, Create, delete, set_status

REVISION_LABEL = "controller-revision-hash"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def ordinal_of(pod: Obj) -> int:
    text = str(pod["metadata"]["name"]).rpartition("-")[2]
    return int(text) if text.isdecimal() else -1


def revision_of(stateful_set: Obj) -> str:
    return f"{stateful_set['metadata']['name']}-{template_hash(stateful_set['spec']['template'])}"


def reconcile(stateful_set: Obj, pods: Sequence[Obj], claims: Container[str], now: datetime) -> list[Action]:
    """``pods`` are those that the set controls, ``claims`` the names of claims that are there."""
    by_ordinal = {ordinal_of(pod): pod for pod in pods}
    status = _status(stateful_set, pods, now)
    moves = [] if is_deleting(stateful_set) else _moves(stateful_set, by_ordinal, claims, now)
    return [*moves, *status]


def _moves(stateful_set: Obj, pods: dict[int, Obj], claims: Container[str], now: datetime) -> list[Action]:
    """The next pods to create, delete or update; one at a time unless the set is Parallel."""
    spec = stateful_set["spec"]
    first = (spec.get("ordinals") or {}).get("start", 0)
    wanted = range(first, first + replicas_of(stateful_set))
    in_order = spec.get("podManagementPolicy", "OrderedReady") != "Parallel"
    min_ready = spec.get("minReadySeconds") or 0
    actions: list[Action] = []
    for ordinal in wanted:
        pod = pods.get(ordinal)
        if pod is None:
            actions += _birth(stateful_set, ordinal, pods, claims)
        elif is_finished(pod) and not is_deleting(pod):
            actions.append(delete("pods", pod))
        elif is_available(pod, min_ready, now) and not is_deleting(pod):
            continue
        if in_order:
            return actions
    doomed = [pods[ordinal] for ordinal in sorted(pods, reverse=True) if ordinal not in wanted]
    if in_order and doomed:
        return [*actions, *([] if is_deleting(doomed[0]) else [delete("pods", doomed[0])])]
    actions += [delete("pods", pod) for pod in doomed if not is_deleting(pod)]
    return actions or _renew(stateful_set, pods, wanted, now)


def _renew(stateful_set: Obj, pods: dict[int, Obj], wanted: range, now: datetime) -> list[Action]:
    """Deletes the highest pod of an older template, once all pods above it are available."""
    strategy = stateful_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return []
    partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    revision, min_ready = revision_of(stateful_set), stateful_set["spec"].get("minReadySeconds") or 0
    for ordinal in reversed(wanted):
        pod = pods[ordinal]
        if ordinal < partition:
            return []
        if pod["metadata"].get("labels", {}).get(REVISION_LABEL) != revision:
            return [] if is_deleting(pod) else [delete("pods", pod)]
        if is_deleting(pod) or not is_available(pod, min_ready, now):
            return []
    return []


def _birth(stateful_set: Obj, ordinal: int, pods: Mapping[int, Obj], claims: Container[str]) -> list[Action]:
    """Creates the pod of an ordinal, and its missing volume claims."""
    meta, spec = stateful_set["metadata"], stateful_set["spec"]
    name = f"{meta['name']}-{ordinal}"
    labels = {POD_NAME: name, POD_INDEX: str(ordinal), REVISION_LABEL: revision_of(stateful_set)}
    pod = pod_from(
        spec["template"], meta["namespace"], reference_to(stateful_set, "apps/v1", "StatefulSet"), labels=labels
    )
    pod["metadata"]["name"] = name
    pod["metadata"]["generateName"] = f"{meta['name']}-"
    pod["spec"] = {**pod["spec"], "hostname": name, "subdomain": spec.get("serviceName", "")}
    actions: list[Action] = []
    volumes = []
    for template in spec.get("volumeClaimTemplates") or ():
        volume = template["metadata"]["name"]
        claim = f"{volume}-{name}"
        volumes.append({"name": volume, "persistentVolumeClaim": {"claimName": claim}})
        if claim not in claims:
            actions.append(Create("persistentvolumeclaims", _claim(stateful_set, template, claim)))
    if volumes:
        named = {each["name"] for each in volumes}
        kept = [each for each in pod["spec"].get("volumes") or () if each["name"] not in named]
        pod["spec"]["volumes"] = [*kept, *volumes]
    return [*actions, Create("pods", pod)]


def _claim(stateful_set: Obj, template: Obj, name: str) -> Obj:
    labels = {**template["metadata"].get("labels", {}), **(stateful_set["spec"]["selector"].get("matchLabels") or {})}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": stateful_set["metadata"]["namespace"], "labels": labels},
        "spec": template.get("spec") or {},
    }


def _status(stateful_set: Obj, pods: Sequence[Obj], now: datetime) -> list[Action]:
    """The status to write, and a wait for pods that are ready but not yet available."""
    meta, old = stateful_set["metadata"], stateful_set.get("status") or {}
    update = revision_of(stateful_set)
    live = [pod for pod in pods if not is_deleting(pod) and not is_finished(pod)]
    ready = [pod for pod in live if is_ready(pod)]
    available = [pod for pod in ready if is_available(pod, stateful_set["spec"].get("minReadySeconds") or 0, now)]
    updated = [pod for pod in live if pod["metadata"].get("labels", {}).get(REVISION_LABEL) == update]
    replicas = replicas_of(stateful_set)
    settled = len(updated) == len(live) == replicas and len(ready) == replicas
    current = update if settled else old.get("currentRevision", update)
    counts = {
        "observedGeneration": meta.get("generation", 0),
        "readyReplicas": len(ready),
        "currentReplicas": sum(pod["metadata"].get("labels", {}).get(REVISION_LABEL) == current for pod in live),
        "updatedReplicas": len(updated),
    }
    status: Obj = {
        "replicas": len(live),
        **{key: count for key, count in counts.items() if count},
        "availableReplicas": len(available),
        "currentRevision": current,
        "updateRevision": update,
        "collisionCount": 0,
    }
    waits = [After(1.0)] if len(available) < len(ready) and not is_deleting(stateful_set) else []
    return [*set_status("apps/statefulsets", stateful_set, status), *waits]
