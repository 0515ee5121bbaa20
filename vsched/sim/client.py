"""The client for controllers in this process: the semantics of the API server without HTTP.

Everything but ``watch`` is synchronous. Errors are the same ``Failure`` that becomes the answer to an HTTP client.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.sim.store.deletion import DeleteOptions
from vsched.sim.store.managed_fields import Author
from vsched.sim.store.store import Behind, StoredObject, key_of
from vsched.sim.writer import ObjectWriter, WriteOptions

Change = tuple[str, Obj, Obj | None]
"""ADDED, MODIFIED or DELETED, the object, and the object before the change."""


class LocalClient:
    """Reads and writes by resource name: ``pods``, ``apps/deployments``, ``scheduling.volcano.sh/queues``."""

    def __init__(self, writer: ObjectWriter, manager: str = "kube-controller-manager") -> None:
        self._writer = writer
        self._store = writer.store
        self.manager = manager
        """The field manager of its writes."""

    def named(self, manager: str) -> LocalClient:
        """A client with another field manager."""
        return LocalClient(self._writer, manager)

    def author(self, subresource: str = "") -> Author:
        """The author of a write that is done now."""
        return Author(self.manager, subresource, self._writer.now())

    def kind(self, resource: str) -> Kind:
        return self._store.registry.resource(resource)

    def get(self, resource: str, namespace: str, name: str) -> Obj | None:
        return self._store.find(resource, namespace, name)

    def list(self, resource: str, namespace: str = "") -> list[Obj]:
        return self._store.objects(resource, namespace)

    def create(self, resource: str, obj: Obj) -> Obj:
        return self._writer.create(self.kind(resource), obj["metadata"].get("namespace", ""), obj, self._options())

    def update(self, resource: str, obj: Obj, subresource: str = "") -> Obj:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        kind, name, options = self.kind(resource), metadata["name"], self._options()
        return self._writer.update(kind, namespace, name, obj, options, subresource).obj

    def patch(self, resource: str, namespace: str, name: str, change: Callable[[Obj], Obj]) -> Obj:
        """Stores what ``change`` returns for the current object, which it must not change in place."""
        return self._writer.change(self.kind(resource), namespace, name, change, self._options())

    def patch_status(self, resource: str, namespace: str, name: str, change: Callable[[Obj], Obj]) -> Obj:
        """As patch, for the status subresource."""
        return self._writer.change(self.kind(resource), namespace, name, change, self._options(), "status")

    def delete(
        self,
        resource: str,
        namespace: str,
        name: str,
        *,
        grace_seconds: int | None = None,
        uid: str = "",
        propagation: str = "Background",
    ) -> None:
        options = DeleteOptions(grace_seconds=grace_seconds, uid=uid, propagation=propagation)
        self._writer.delete(self.kind(resource), namespace, name, options)

    def _options(self) -> WriteOptions:
        return WriteOptions(field_manager=self.manager)

    async def watch(self, resource: str) -> AsyncIterator[Change]:
        """ADDED for every object, then all changes; a reader that was too slow gets the difference."""
        kind = self.kind(resource)
        known: dict[str, Obj] = {}
        while True:
            subscription = self._store.subscribe(kind)
            for change in _difference(known, self._store.items(kind)):
                yield change
            try:
                while True:
                    over = subscription.closed
                    for event in subscription.take():
                        yield event.type, event.obj, event.previous.obj if event.previous else None
                        if event.type == "DELETED":
                            known.pop(event.key, None)
                        else:
                            known[event.key] = event.obj
                    if over:
                        return
                    await subscription.wait()
            except Behind:
                continue


def _difference(known: dict[str, Obj], records: list[StoredObject]) -> list[Change]:
    """The changes from the objects a reader knows to the present ones; brings ``known`` up to date."""
    current = {key_of(record.obj): record.obj for record in records}
    changes: list[Change] = [("DELETED", known[key], known[key]) for key in known.keys() - current.keys()]
    for key, obj in current.items():
        old = known.get(key)
        if old is None:
            changes.append(("ADDED", obj, None))
        elif old is not obj:
            changes.append(("MODIFIED", obj, old))
    known.clear()
    known.update(current)
    return changes
