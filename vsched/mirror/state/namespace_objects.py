"""An index of objects that concern the pods of their namespace, such as quotas and budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from vsched.model.pods.selections import Selections
from vsched.model.pods.shape import Selector

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


class NamespaceIndex(Generic[K, T, V]):
    """Items by namespace and identity. The cost of a snapshot follows the namespaces that changed."""

    def __init__(self, shown: Callable[[Mapping[K, T]], V]) -> None:
        self._shown = shown
        """What a snapshot shows of the items of one namespace."""
        self._items: dict[str, dict[K, T]] = {}
        self._changed: set[str] = set()
        self._published: Mapping[str, V] = {}

    def put(self, namespace: str, identity: K, item: T | None) -> bool:
        """Set the item of an object, None where it has none or is gone; True where it has changed."""
        items = self._items.get(namespace, {})
        if items.get(identity) == item:
            return False
        self._changed.add(namespace)
        if item is not None:
            self._items.setdefault(namespace, {})[identity] = item
            return True
        del items[identity]
        if not items:
            del self._items[namespace]
        return True

    def items(self, namespace: str) -> Mapping[K, T]:
        """The items of a namespace by identity."""
        return self._items.get(namespace, {})

    def publish(self) -> Mapping[str, V]:
        """What snapshots show of namespaces that have items; the same object while nothing changed."""
        if self._changed:
            published = dict(self._published)
            for namespace in sorted(self._changed):
                items = self._items.get(namespace)
                if items is None:
                    published.pop(namespace, None)
                else:
                    published[namespace] = self._shown(items)
            self._published = published
            self._changed.clear()
        return self._published

    def __len__(self) -> int:
        return sum(map(len, self._items.values()))


def as_selections(selectors: Mapping[K, Selector]) -> Selections:
    return Selections(selectors.values())


def in_order(items: Mapping[str, T]) -> tuple[T, ...]:
    """The items in the order of their names."""
    return tuple(items[name] for name in sorted(items))
