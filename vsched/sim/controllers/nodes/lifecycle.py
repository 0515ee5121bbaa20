"""The node controllers: taints by a node's conditions, eviction by taints, pods of nodes that are gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, is_finished, tolerates, with_condition
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads.actions import Action, After, delete, set_status
from vsched.clock import monotonic
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.nodes.node_status import retaint
from vsched.sim.controllers.pod_index import PodIndex


class NodeLifecycle(Controller):
    """Keeps the not-ready, unreachable and unschedulable taints up to date."""

    name: ClassVar[str] = "node lifecycle"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes",)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return () if gone else (obj["metadata"]["name"],)

    def reconcile(self, key: str) -> Sequence[Action]:
        node = self.find(key)
        return () if node is None else retaint(node, utc_now())


def tolerated_seconds(pod: Obj, taint: Obj) -> float | None:
    """How long a pod tolerates a NoExecute taint: 0 for not at all, None for ever."""
    found: list[float] = []
    for toleration in pod["spec"].get("tolerations") or ():
        if not tolerates(toleration, taint):
            continue
        seconds = toleration.get("tolerationSeconds")
        if seconds is None:
            return None
        found.append(max(0.0, float(seconds)))
    return min(found, default=0.0)


class TaintEviction(Controller):
    """Deletes pods from nodes with a NoExecute taint that they do not tolerate, or no longer."""

    name: ClassVar[str] = "taint eviction"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes", "pods")

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._seen: dict[str, dict[tuple[str, str], float]] = {}

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == "nodes":
            name = obj["metadata"]["name"]
            if gone:
                self._seen.pop(name, None)
                return ()
            return (name,) if name in self._seen or _no_execute(obj) else ()
        node = obj["spec"].get("nodeName")
        return (node,) if node in self._seen and not gone else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        node = self.find(key)
        taints = _no_execute(node) if node else []
        if not taints:
            self._seen.pop(key, None)
            return ()
        now, before = monotonic(), self._seen.get(key, {})
        seen = {(each["key"], each.get("value", "")): now for each in taints}
        self._seen[key] = {**seen, **{taint: since for taint, since in before.items() if taint in seen}}
        actions: list[Action] = []
        waits: list[float] = []
        for pod in self._pods_on(key):
            left = self._left(pod, key, taints, now)
            if left is not None and left <= 0:
                actions.append(delete("pods", pod))
            elif left is not None:
                waits.append(left)
        return [*actions, *([After(min(waits))] if waits else [])]

    def _pods_on(self, node: str) -> list[Obj]:
        return [pod for pod in self.pod_index.on(node) if not is_deleting(pod)]

    def _left(self, pod: Obj, node: str, taints: Sequence[Obj], now: float) -> float | None:
        """Seconds until the pod has to go; None if it may stay."""
        ends: list[float] = []
        for taint in taints:
            seconds = tolerated_seconds(pod, taint)
            if seconds is not None:
                ends.append(self._seen[node][taint["key"], taint.get("value", "")] + seconds - now)
        return min(ends, default=None)


def _no_execute(node: Obj) -> list[Obj]:
    return [taint for taint in node["spec"].get("taints") or () if taint.get("effect") == "NoExecute"]


class OrphanedPods(Controller):
    """Removes pods whose node does not exist, some time after that was first seen."""

    name: ClassVar[str] = "orphaned pods"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes", "pods")

    def __init__(self, client: LocalClient, pod_index: PodIndex, quarantine_seconds: float) -> None:
        super().__init__(client, pod_index)
        self._quarantine = quarantine_seconds
        self._missing: dict[str, float] = {}

    def keys(self) -> Iterable[str]:
        return self.pod_index.nodes()

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == "nodes":
            name = obj["metadata"]["name"]
            return (name,) if gone or name in self._missing else ()
        node = obj["spec"].get("nodeName")
        if gone or not node or (old is not None and old["spec"].get("nodeName") == node):
            return ()
        return (node,) if self.client.get("nodes", "", node) is None else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        pods = self.pod_index.on(key)
        if self.find(key) is not None or not pods:
            self._missing.pop(key, None)
            return ()
        since = self._missing.setdefault(key, monotonic())
        left = self._quarantine - (monotonic() - since)
        if left > 0:
            return [After(left)]
        return [action for pod in pods for action in _remove(pod)]


def _remove(pod: Obj) -> list[Action]:
    """Sets a condition with the reason, and deletes the pod without grace, because there is no kubelet."""
    meta, now = pod["metadata"], utc_now()
    actions: list[Action] = []
    if not is_finished(pod):
        why = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
        }
        old = pod.get("status") or {}
        status = {**old, "phase": "Failed", "conditions": with_condition(old.get("conditions"), why, now)}
        actions += set_status("pods", pod, status)
    if not (is_deleting(pod) and meta.get("deletionGracePeriodSeconds") == 0):
        actions.append(delete("pods", pod, grace_seconds=0))
    return actions
