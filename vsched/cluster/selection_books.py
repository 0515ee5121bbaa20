"""What Services, ReplicaSets, StatefulSets and ReplicationControllers select, kept by namespace for snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.model.selections import Selections
from vsched.model.shape import Selector


class SelectionBooks:
    """Selectors by namespace and object; a snapshot costs the namespaces that changed since the last one."""

    def __init__(self) -> None:
        self._selectors: dict[str, dict[tuple[str, str], Selector]] = {}
        """By namespace, then by kind and name."""
        self._changed: set[str] = set()
        self._published: Mapping[str, Selections] = {}

    def put(self, kind: str, key: str, selector: Selector | None) -> None:
        """An object as it is now; None where it selects nothing, or is gone."""
        namespace = key.partition("/")[0]
        selectors = self._selectors.get(namespace, {})
        if selectors.get((kind, key)) == selector:
            return
        self._changed.add(namespace)
        if selector is not None:
            self._selectors.setdefault(namespace, {})[kind, key] = selector
            return
        del selectors[kind, key]
        if not selectors:
            del self._selectors[namespace]

    def publish(self) -> Mapping[str, Selections]:
        """What is selected, of namespaces where anything is; the same object while nothing changed."""
        if self._changed:
            published = dict(self._published)
            for namespace in self._changed:
                selectors = self._selectors.get(namespace)
                if selectors is None:
                    published.pop(namespace, None)
                else:
                    published[namespace] = Selections(selectors.values())
            self._published = published
            self._changed.clear()
        return self._published

    def __len__(self) -> int:
        return sum(map(len, self._selectors.values()))
