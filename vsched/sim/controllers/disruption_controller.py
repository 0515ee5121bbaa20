"""The disruption controller: keeps the status of PodDisruptionBudgets up to date.

``disruption_budgets`` decides what the status is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.label_selectors import matches_label_selector
from vsched.apimachinery.meta.objects import is_deleting, is_finished, is_ready, replicas_of
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads.actions import Action
from vsched.sim.controllers import disruption_budgets
from vsched.sim.controllers.controller import Controller
from vsched.sim.store.store import key_of

SCALED = {
    "Deployment": "apps/deployments",
    "ReplicaSet": "apps/replicasets",
    "StatefulSet": "apps/statefulsets",
    "ReplicationController": "replicationcontrollers",
}
"""The kinds of owners that have replicas."""


class DisruptionBudgets(Controller):
    """Reconciles a budget once for any number of changes to its pods."""

    name: ClassVar[str] = "disruption budgets"
    primary: ClassVar[str] = "policy/poddisruptionbudgets"
    watches: ClassVar[tuple[str, ...]] = ("policy/poddisruptionbudgets", "pods")
    settle_seconds: ClassVar[float] = 0.02

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == self.primary:
            return () if gone else (key_of(obj),)
        budgets = self.client.list(self.primary, obj["metadata"]["namespace"])
        if not budgets or (not gone and old is not None and _looks_the_same(obj, old)):
            return ()
        return [
            key_of(budget)
            for budget in budgets
            if _selected(budget, obj) or (old is not None and _selected(budget, old))
        ]

    def reconcile(self, key: str) -> Sequence[Action]:
        budget = self.find(key)
        if budget is None or is_deleting(budget):
            return ()
        pods = [pod for pod in self.pod_index.in_namespace(budget["metadata"]["namespace"]) if _selected(budget, pod)]
        return disruption_budgets.reconcile(budget, pods, self._scale, utc_now())

    def _scale(self, reference: Obj) -> int | None:
        """The wanted replicas of an owner."""
        resource = SCALED.get(reference["kind"])
        if resource is None:
            return None
        owner = self.client.get(resource, reference["namespace"], reference["name"])
        return None if owner is None else replicas_of(owner)


def _selected(budget: Obj, pod: Obj) -> bool:
    return matches_label_selector(budget["spec"].get("selector"), pod["metadata"].get("labels"))


def _looks_the_same(pod: Obj, old: Obj) -> bool:
    """Whether nothing changed that a budget counts."""
    seen = [
        (is_ready(each), is_finished(each), is_deleting(each), each["metadata"].get("labels")) for each in (pod, old)
    ]
    return seen[0] == seen[1]
