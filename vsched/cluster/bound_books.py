"""What bounds the pods of a namespace (disruption budgets, quotas), kept by object and shown by namespace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class BoundBooks(Generic[T]):
    """One kind of bound by namespace and name; a snapshot costs the namespaces that changed since the last one."""

    def __init__(self) -> None:
        self._bounds: dict[str, dict[str, T]] = {}
        self._changed: set[str] = set()
        self._published: Mapping[str, Sequence[T]] = {}

    def put(self, key: str, bound: T | None) -> bool:
        """The bound that the object ``namespace/name`` sets, None where it sets none or is gone; True where new."""
        namespace, _, name = key.partition("/")
        bounds = self._bounds.get(namespace, {})
        if bounds.get(name) == bound:
            return False
        self._changed.add(namespace)
        if bound is not None:
            self._bounds.setdefault(namespace, {})[name] = bound
            return True
        del bounds[name]
        if not bounds:
            del self._bounds[namespace]
        return True

    def publish(self) -> Mapping[str, Sequence[T]]:
        """Bounds in the order of their names, of namespaces that have any; the same object while nothing changed."""
        if self._changed:
            published = dict(self._published)
            for namespace in self._changed:
                bounds = self._bounds.get(namespace)
                if bounds is None:
                    published.pop(namespace, None)
                else:
                    published[namespace] = tuple(bounds[name] for name in sorted(bounds))
            self._published = published
            self._changed.clear()
        return self._published

    def __len__(self) -> int:
        return sum(map(len, self._bounds.values()))
