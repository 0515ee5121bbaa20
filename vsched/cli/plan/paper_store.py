"""The objects of an API server on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from vsched.apimachinery.meta.api_errors import already_exists
from vsched.apimachinery.meta.kinds import Kind, KindRegistry, Obj

R = TypeVar("R")


class PaperStore:
    """What is there now, by kind: no history, and nobody watches."""

    def __init__(self) -> None:
        self.registry = KindRegistry()
        self._objects: dict[str, dict[tuple[str, str], Obj]] = {}
        self._revision = 0

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        """The object of this name, as it is stored."""
        return self._objects.get(kind.storage, {}).get((namespace, name))

    def find(self, resource: str, namespace: str, name: str) -> Obj | None:
        """The object of this name; a resource is named ``pods`` or ``group/plural``."""
        return self.get(self.registry.resource(resource), namespace, name)

    def objects(self, resource: str, namespace: str = "") -> list[Obj]:
        """All objects of a resource, or those of a namespace, by name."""
        found = self._objects.get(self.registry.resource(resource).storage, {})
        return [found[key] for key in sorted(found) if not namespace or key[0] == namespace]

    def derived(self, resource: str, work_out: Callable[[list[Obj]], R]) -> R:
        """What a function makes of all objects of a resource."""
        return work_out(self.objects(resource))

    def create(self, kind: Kind, obj: Obj) -> Obj:
        """Store a new object; raises a 409 Failure where its name is taken."""
        metadata = obj["metadata"]
        if self.get(kind, metadata.get("namespace", ""), metadata["name"]) is not None:
            raise already_exists(kind, metadata["name"])
        return self.put(kind, obj)

    def put(self, kind: Kind, obj: Obj) -> Obj:
        """Store an object in place of the one that has its name, if any."""
        self._revision += 1
        metadata = {**obj["metadata"], "resourceVersion": str(self._revision)}
        stored = {**obj, "metadata": metadata}
        self._objects.setdefault(kind.storage, {})[metadata.get("namespace", ""), metadata["name"]] = stored
        return stored
