"""The garbage collector: deletes objects whose owners are gone, in the background or foreground, or orphans them.

The collector follows owner references; ``decide`` says what to do with an object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from vsched.apimachinery.meta.kinds import KindRegistry, Obj
from vsched.apimachinery.meta.objects import is_deleting, split_key, with_owners, without_finalizer
from vsched.apimachinery.workloads.actions import Action, Update, delete
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import EVERYTHING, Controller
from vsched.sim.controllers.pod_index import PodIndex

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


class OwnerState(Enum):
    """The state of the object that an owner reference names."""

    SOLID = "there"
    WAITING = "deleted in the foreground, waits for its dependents"
    ABSENT = "gone, or another object of that name by now"
    UNKNOWN = "of a kind nobody serves"


@dataclass(frozen=True, slots=True)
class Dependent:
    """An object that names an owner."""

    resource: str
    obj: Obj


def finalizers_of(obj: Obj) -> tuple[str, ...]:
    return tuple(obj["metadata"].get("finalizers") or ())


def decide(
    resource: str, obj: Obj, dependents: Sequence[Dependent], owners: Callable[[Obj], OwnerState], has_dependents: bool
) -> list[Action]:
    """What to do with an object: release its dependents while it is deleted, or delete it if its owners are gone."""
    if is_deleting(obj) and ORPHAN in finalizers_of(obj):
        freed: list[Action] = [_without_owner(each, obj) for each in dependents]
        return [*freed, Update(resource, without_finalizer(obj, ORPHAN))]
    if is_deleting(obj):
        if FOREGROUND in finalizers_of(obj) and not any(_blocks(each.obj, obj) for each in dependents):
            return [Update(resource, without_finalizer(obj, FOREGROUND))]
        return []
    references = obj["metadata"].get("ownerReferences") or ()
    states = [(reference, owners(reference)) for reference in references]
    if not states or any(state is OwnerState.UNKNOWN for _, state in states):
        return []
    solid = [reference for reference, state in states if state is OwnerState.SOLID]
    if len(solid) == len(states):
        return []
    if solid:
        return [Update(resource, with_owners(obj, solid))]
    waited_for = any(state is OwnerState.WAITING for _, state in states)
    propagation = "Foreground" if (waited_for and has_dependents) or FOREGROUND in finalizers_of(obj) else "Background"
    return [delete(resource, obj, propagation=propagation)]


def _blocks(dependent: Obj, owner: Obj) -> bool:
    uid = owner["metadata"]["uid"]
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(each.get("uid") == uid and each.get("blockOwnerDeletion") for each in references)


def _without_owner(dependent: Dependent, owner: Obj) -> Update:
    uid = owner["metadata"]["uid"]
    references = [each for each in dependent.obj["metadata"].get("ownerReferences") or () if each.get("uid") != uid]
    return Update(dependent.resource, with_owners(dependent.obj, references))


class GarbageCollector(Controller):
    """Follows every kind; its keys are ``resource|namespace/name``."""

    name: ClassVar[str] = "garbage collector"
    primary: ClassVar[str] = EVERYTHING
    watches: ClassVar[tuple[str, ...]] = (EVERYTHING,)

    def __init__(
        self, client: LocalClient, pod_index: PodIndex, registry: KindRegistry, catch_up: Callable[[], None]
    ) -> None:
        super().__init__(client, pod_index)
        self._registry = registry
        self._catch_up = catch_up
        self._dependents: dict[str, dict[str, None]] = defaultdict(dict)
        self._owners: dict[str, tuple[str, ...]] = {}

    def keys(self) -> Iterable[str]:
        return list(self._owners)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        meta = obj["metadata"]
        references = meta.get("ownerReferences") or ()
        owned = references or (old is not None and old["metadata"].get("ownerReferences"))
        if not owned and not gone and not meta.get("finalizers"):
            return ()
        key = f"{resource}|{meta.get('namespace', '')}/{meta['name']}"
        owners_changed = self._note(key, () if gone else tuple(each["uid"] for each in references))
        if gone:
            return [*self._dependents.get(meta["uid"], ()), *self._keys_of_owners(obj)]
        if owners_changed and old is not None:
            return [key, *self._keys_of_owners(old)]
        if owners_changed or (meta.get("deletionTimestamp") and meta.get("finalizers")):
            return [key, *self._dependents.get(meta["uid"], ())]
        return ()

    def reconcile(self, key: str) -> Sequence[Action]:
        resource, _, path = key.partition("|")
        obj = self._read(key)
        if obj is None:
            return ()
        if is_deleting(obj):
            # All dependents must be known before the object may go.
            self._catch_up()
        uid = obj["metadata"]["uid"]
        keys = list(self._dependents.get(uid, ()))
        dependents = []
        if is_deleting(obj):
            found = ((each.partition("|")[0], self._read(each)) for each in keys)
            dependents = [Dependent(where, each) for where, each in found if each is not None]
        namespace = split_key(path)[0]
        return decide(resource, obj, dependents, lambda reference: self._owner(reference, namespace), bool(keys))

    def _note(self, key: str, owners: tuple[str, ...]) -> bool:
        """Records the owners of an object; whether they changed."""
        before = self._owners.get(key, ())
        if before == owners:
            return False
        for uid in before:
            keys = self._dependents.get(uid)
            if keys is not None:
                keys.pop(key, None)
                if not keys:
                    del self._dependents[uid]
        for uid in owners:
            self._dependents[uid][key] = None
        if owners:
            self._owners[key] = owners
        else:
            self._owners.pop(key, None)
        return True

    def _keys_of_owners(self, obj: Obj) -> list[str]:
        """The owners that may wait for this object to be deleted or released."""
        meta = obj["metadata"]
        found: list[str] = []
        for reference in meta.get("ownerReferences") or ():
            kind = self._registry.of(reference["apiVersion"], reference["kind"])
            if kind is not None:
                namespace = meta.get("namespace", "") if kind.namespaced else ""
                found.append(f"{kind.path}|{namespace}/{reference['name']}")
        return found

    def _owner(self, reference: Obj, namespace: str) -> OwnerState:
        kind = self._registry.of(reference["apiVersion"], reference["kind"])
        if kind is None:
            return OwnerState.UNKNOWN
        owner = self.client.get(kind.path, namespace if kind.namespaced else "", reference["name"])
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return OwnerState.ABSENT
        waiting = is_deleting(owner) and FOREGROUND in finalizers_of(owner) and reference.get("blockOwnerDeletion")
        return OwnerState.WAITING if waiting else OwnerState.SOLID

    def _read(self, key: str) -> Obj | None:
        resource, _, path = key.partition("|")
        group, _, plural = resource.rpartition("/")
        if self._registry.preferred(group, plural) is None:
            return None
        return self.client.get(resource, *split_key(path))
