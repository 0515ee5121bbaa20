"""Finds the storage capacities that are for a node, without a look at all of them for each volume that is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vsched.mirror.state.claims.volumes import VolumeStore
from vsched.mirror.whatif.claim_records import Labels
from vsched.model.claims.volumes import StorageCapacity


class StorageByLabel:
    """The storage capacities of a store by labels of nodes.

    Valid as long as none comes or goes; how much is free may change.
    """

    def __init__(self, store: VolumeStore) -> None:
        self._store = store
        self._classes: dict[str, _OfClass] = {}

    def of(self, storage_class: str, labels: Labels) -> Iterator[StorageCapacity]:
        """The capacities of a class on a node with these labels, by key."""
        found = self._classes.get(storage_class)
        if found is None:
            found = self._classes[storage_class] = _OfClass(self._store.capacities_of(storage_class).values())
        plain = dict(labels)
        for key in sorted(found.near(plain)):
            one = self._store.capacities_of(storage_class)[key]
            if one.nodes is not None and one.nodes.matches(plain):
                yield one


class _OfClass:
    def __init__(self, capacities: Iterable[StorageCapacity]) -> None:
        self._by_label: dict[tuple[str, str], list[str]] = {}
        self._others: list[str] = []
        for one in capacities:
            asked = one.nodes.requirements if one.nodes is not None else ()
            listed = next((each for each in asked if each.operator == "In"), None)
            if listed is None:
                self._others.append(one.key)
            else:
                for value in listed.values:
                    self._by_label.setdefault((listed.key, value), []).append(one.key)

    def near(self, labels: dict[str, str]) -> set[str]:
        """The keys of those that may be for a node with these labels, and of few others."""
        return {*self._others, *(key for label in labels.items() for key in self._by_label.get(label, ()))}
