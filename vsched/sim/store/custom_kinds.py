"""Serves the kinds of the custom resource definitions in the store.

Definitions are established at once: their resources are served as soon as they exist. As in the real server, the
storage starts on first use: the first list or watch gets a 429.
"""

from __future__ import annotations

from dataclasses import replace

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import Clock, format_time
from vsched.apimachinery.objects.crds import established_conditions, installing, is_definition, kinds_of
from vsched.sim.store.deletion import Deleted, DeleteOptions, check_preconditions, delete
from vsched.sim.store.store import Store, StoredObject

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class CustomKinds:
    """Keeps the registry up to date with the definitions in the store."""

    def __init__(self, store: Store, now: Clock) -> None:
        self._store = store
        self._now = now
        self._unused: set[str] = set()
        """The storages that have not been used yet."""

    def first_use(self, kind: Kind) -> bool:
        """Whether this is the first use of a custom kind since its definition was made."""
        if kind.storage not in self._unused:
            return False
        self._unused.discard(kind.storage)
        return True

    def all_used(self) -> None:
        """Marks all custom kinds as used."""
        self._unused.clear()

    def on_write(self, kind: Kind, obj: Obj) -> None:
        """After any write: serves the kinds of a new or changed definition."""
        if not is_definition(kind):
            self._unused.discard(kind.storage)
            return
        served = kinds_of(obj)
        for each in served:
            self._store.registry.add(each)
        self._withdraw_others(obj, {each.version for each in served})
        if not any(each.get("type") == "Established" for each in obj.get("status", {}).get("conditions") or ()):
            self._establish(kind, obj)

    def is_terminating(self, kind: Kind) -> bool:
        """Whether the definition of a kind is being deleted."""
        record = self._definition(kind)
        return record is not None and bool(record.obj["metadata"].get("deletionTimestamp"))

    def _definition(self, kind: Kind) -> StoredObject | None:
        definitions = self._store.registry.resource("apiextensions.k8s.io/customresourcedefinitions")
        return self._store.get(definitions, "", f"{kind.plural}.{kind.group}")

    def on_remove(self, kind: Kind) -> None:
        """After any object was removed: removes a definition that waits for its last object."""
        if not kind.custom or self._store.count(kind):
            return
        record = self._definition(kind)
        if record is not None and record.obj["metadata"].get("deletionTimestamp"):
            self._retire(self._store.registry.resource("apiextensions.k8s.io/customresourcedefinitions"), record)

    def delete_definition(self, definitions: Kind, record: StoredObject, options: DeleteOptions) -> Deleted:
        """Deletes the objects of a definition, and the definition itself once they are gone."""
        check_preconditions(definitions, record.obj, options)
        marked = record.obj if record.obj["metadata"].get("deletionTimestamp") else self._terminating(record.obj)
        if options.dry_run:
            return Deleted(marked, gone=False)
        marked = self._store.replace(definitions, marked, record)
        name, spec = marked["metadata"]["name"], marked["spec"]
        kind = self._store.registry.preferred(spec["group"], spec["names"]["plural"])
        for each in self._store.items(kind) if kind is not None else ():
            assert kind is not None
            delete(self._store, kind, each, DeleteOptions(propagation="Background"), self._now())
        current = self._store.get(definitions, "", name)
        if current is not None and (kind is None or not self._store.count(kind)):
            self._retire(definitions, current)
        return Deleted(marked, gone=False)

    def _terminating(self, obj: Obj) -> Obj:
        metadata = dict(obj["metadata"])
        now = format_time(self._now())
        metadata["deletionTimestamp"] = now
        metadata["finalizers"] = [*(metadata.get("finalizers") or ()), CLEANUP]
        condition = {
            "type": "Terminating",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InstanceDeletionPending",
            "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        }
        status = obj.get("status", {})
        status = {**status, "conditions": [*(status.get("conditions") or ()), condition]}
        return {**obj, "metadata": metadata, "status": status}

    def _retire(self, definitions: Kind, record: StoredObject) -> None:
        """Removes the cleanup finalizer, and the kinds; the definition as well if it has no other finalizer."""
        metadata = dict(record.obj["metadata"])
        metadata["finalizers"] = [each for each in metadata.get("finalizers") or () if each != CLEANUP]
        spec = record.obj["spec"]
        kind = self._store.registry.preferred(spec["group"], spec["names"]["plural"])
        if kind is not None:
            self._store.registry.remove(kind.group, kind.plural)
            self._store.discard(kind)
        if metadata["finalizers"]:
            self._store.replace(definitions, {**record.obj, "metadata": metadata}, record)
        else:
            self._store.remove(definitions, "", metadata["name"])

    def _establish(self, kind: Kind, obj: Obj) -> None:
        name = obj["metadata"]["name"]
        record = self._store.get(kind, "", name)
        if record is None:
            raise Failure(500, "InternalError", f"definition {name} vanished while it was established")
        conditions = established_conditions(obj, format_time(self._now()))
        status = {**obj.get("status", {}), "acceptedNames": obj["spec"]["names"]}
        before = [installing(each) for each in conditions]
        # Names are accepted first and served then; a watch sees both steps.
        for step in (before, conditions):
            self._store.replace(kind, {**obj, "status": {**status, "conditions": step}}, record)
            record = self._store.get(kind, "", name)
            assert record is not None
        self._unused.add(f"{obj['spec']['group']}/{obj['spec']['names']['plural']}")

    def _withdraw_others(self, obj: Obj, versions: set[str]) -> None:
        group, plural = obj["spec"]["group"], obj["spec"]["names"]["plural"]
        registry = self._store.registry
        if any(each.group == group and each.plural == plural and each.version not in versions for each in registry):
            kept = kinds_of(obj)
            registry.remove(group, plural)
            for each in kept:
                registry.add(replace(each))
