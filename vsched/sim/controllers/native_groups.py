"""The protection of native PodGroups: a deleted one stays until no pod that has not ended names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting, is_finished, without_finalizer
from vsched.apimachinery.objects.native_groups import GROUP, PROTECTION
from vsched.apimachinery.workloads.actions import Action, Update
from vsched.sim.controllers.controller import Controller
from vsched.sim.store.store import key_of

GROUPS, COMPOSITES = f"{GROUP}/podgroups", f"{GROUP}/compositepodgroups"


class PodGroupProtection(Controller):
    """Lets PodGroups go whose pods have ended."""

    name: ClassVar[str] = "PodGroup protection"
    primary: ClassVar[str] = GROUPS
    watches: ClassVar[tuple[str, ...]] = (GROUPS, "pods")

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == GROUPS:
            return (key_of(obj),) if not gone and is_deleting(obj) else ()
        group = group_of(obj)
        return (f"{obj['metadata']['namespace']}/{group}",) if group and (gone or is_finished(obj)) else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        group = self.find(key)
        if group is None or not is_deleting(group) or PROTECTION not in (group["metadata"].get("finalizers") or ()):
            return ()
        namespace, name = key.split("/", 1)
        if any(group_of(pod) == name and not is_finished(pod) for pod in self.pod_index.in_namespace(namespace)):
            return ()
        return [Update(GROUPS, without_finalizer(group, PROTECTION))]


class CompositePodGroupProtection(Controller):
    """Lets CompositePodGroups go that no group names as its parent."""

    name: ClassVar[str] = "CompositePodGroup protection"
    primary: ClassVar[str] = COMPOSITES
    watches: ClassVar[tuple[str, ...]] = (COMPOSITES, GROUPS)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        parent = (obj.get("spec") or {}).get("parentCompositePodGroupName") if gone else None
        above = (f"{obj['metadata']['namespace']}/{parent}",) if parent else ()
        own = (key_of(obj),) if resource == COMPOSITES and not gone and is_deleting(obj) else ()
        return (*own, *above)

    def reconcile(self, key: str) -> Sequence[Action]:
        group = self.find(key)
        if group is None or not is_deleting(group) or PROTECTION not in (group["metadata"].get("finalizers") or ()):
            return ()
        namespace, name = key.split("/", 1)
        below = (each for kind in (GROUPS, COMPOSITES) for each in self.client.list(kind, namespace))
        if any((each.get("spec") or {}).get("parentCompositePodGroupName") == name for each in below):
            return ()
        return [Update(COMPOSITES, without_finalizer(group, PROTECTION))]


def group_of(pod: Obj) -> str:
    """The native PodGroup that a pod names."""
    return str((pod["spec"].get("schedulingGroup") or {}).get("podGroupName") or "")
