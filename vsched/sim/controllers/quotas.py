"""The quota controller: keeps the status of ResourceQuotas up to date.

Admission adds new objects to the usage in the status. This controller counts everything again, and so gives back what
deleted and finished objects used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from vsched.apimachinery.admission.quota import in_scope, usage
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.objects import is_deleting, is_finished
from vsched.apimachinery.validation.resources import COUNTED_OBJECTS
from vsched.apimachinery.workloads.actions import Action, set_status
from vsched.cel import quantities
from vsched.sim.controllers.controller import Controller
from vsched.sim.store.store import key_of

COUNTED = (
    *COUNTED_OBJECTS,
    *("apps/deployments", "apps/replicasets", "apps/statefulsets", "batch/jobs", "batch/cronjobs"),
)
"""What a quota can count here."""


class Quotas(Controller):
    """Reconciles a quota once for any number of changes in its namespace."""

    name: ClassVar[str] = "quotas"
    primary: ClassVar[str] = "resourcequotas"
    watches: ClassVar[tuple[str, ...]] = COUNTED
    settle_seconds: ClassVar[float] = 0.02

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == self.primary and not gone:
            return (key_of(obj),)
        quotas = self.client.list(self.primary, obj["metadata"]["namespace"])
        if not quotas or (not gone and old is not None and _costs_the_same(resource, obj, old)):
            return ()
        return [key_of(quota) for quota in quotas]

    def reconcile(self, key: str) -> Sequence[Action]:
        quota = self.find(key)
        if quota is None or is_deleting(quota):
            return ()
        hard = (quota.get("spec") or {}).get("hard") or {}
        status = {"hard": hard, "used": self._used(quota, hard)} if hard else {}
        return set_status(self.primary, quota, status)

    def _used(self, quota: Obj, hard: Obj) -> dict[str, str]:
        found: dict[str, list[str]] = {name: ["0"] for name in hard}
        for kind, obj in self._objects(quota["metadata"]["namespace"], hard):
            if in_scope(kind, obj, quota):
                for name, amount in usage(kind, obj).items():
                    if name in found:
                        found[name].append(amount)
        return {name: quantities.total(amounts) for name, amounts in found.items()}

    def _objects(self, namespace: str, hard: Obj) -> Iterator[tuple[Kind, Obj]]:
        for resource in COUNTED:
            kind = self.client.kind(resource)
            if resource in ("pods", "persistentvolumeclaims") or not hard.keys().isdisjoint(
                (kind.plural, f"count/{kind.resource}")
            ):
                for obj in self.client.list(resource, namespace):
                    yield kind, obj


def _costs_the_same(resource: str, obj: Obj, old: Obj) -> bool:
    """Whether a change makes no difference for quotas; for a pod, whether it finished or its spec changed counts."""
    if resource == "pods":
        return is_finished(obj) == is_finished(old) and obj["spec"] == old["spec"]
    return resource != "persistentvolumeclaims" or obj.get("spec") == old.get("spec")
