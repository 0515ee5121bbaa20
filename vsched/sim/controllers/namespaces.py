"""The namespace controller: empties deleted namespaces, and gives new ones their default ServiceAccount."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import ClassVar

from vsched.apimachinery.meta.kinds import KindRegistry, Obj
from vsched.apimachinery.meta.objects import is_deleting
from vsched.apimachinery.workloads.actions import Action, After, Create, Update, delete
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import EVERYTHING, Controller
from vsched.sim.controllers.pod_index import PodIndex

BURST = 200
"""Objects deleted at a time."""


def empty(namespace: Obj, contents: Iterable[tuple[str, Obj]]) -> list[Action]:
    """Deletes the objects of a namespace, a burst at a time; removes its finalizer when it is empty."""
    burst = list(islice(contents, BURST))
    if not burst:
        spec = {**(namespace.get("spec") or {}), "finalizers": []}
        return [Update("namespaces", {**namespace, "spec": spec}, "finalize")]
    actions: list[Action] = [delete(resource, obj) for resource, obj in burst if not is_deleting(obj)]
    return [*actions, After(0.0)] if actions else []


class Namespaces(Controller):
    """Watches every kind, because it waits for deletions."""

    name: ClassVar[str] = "namespaces"
    primary: ClassVar[str] = "namespaces"
    watches: ClassVar[tuple[str, ...]] = (EVERYTHING,)

    def __init__(self, client: LocalClient, pod_index: PodIndex, registry: KindRegistry) -> None:
        super().__init__(client, pod_index)
        self._registry = registry
        self._ending: set[str] = set()

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == self.primary:
            return self._changed(obj, gone=gone)
        namespace = obj["metadata"].get("namespace")
        return (namespace,) if gone and namespace in self._ending else ()

    def _changed(self, namespace: Obj, *, gone: bool) -> Iterable[str]:
        name = namespace["metadata"]["name"]
        if gone:
            self._ending.discard(name)
            return ()
        if is_deleting(namespace):
            self._ending.add(name)
        return (name,)

    def reconcile(self, key: str) -> Sequence[Action]:
        namespace = self.find(key)
        if namespace is None:
            return ()
        if is_deleting(namespace):
            return empty(namespace, self._contents(key))
        if self.client.get("serviceaccounts", key, "default") is None:
            return [Create("serviceaccounts", _service_account(key))]
        return ()

    def _contents(self, namespace: str) -> Iterator[tuple[str, Obj]]:
        """Objects that are not being deleted come first, so that each burst makes progress."""
        seen: set[str] = set()
        leaving: list[tuple[str, Obj]] = []
        for kind in list(self._registry):
            if not kind.namespaced or "delete" not in kind.verbs or kind.storage in seen:
                continue
            seen.add(kind.storage)
            for obj in self.client.list(kind.path, namespace):
                if is_deleting(obj):
                    leaving.append((kind.path, obj))
                else:
                    yield kind.path, obj
        yield from leaving


def _service_account(namespace: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": namespace}}
