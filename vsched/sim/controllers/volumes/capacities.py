"""Which CSIStorageCapacities there are for a class in a place, without looking at those of all other places. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from vsched.apimachinery.meta.kinds import Obj
from vsched.sim.store.store import key_of

_Labels = frozenset[tuple[str, str]] | None
"""The labels of the nodes; None for a topology that is more than labels."""


class CapacityIndex:
    """The keys (``namespace/name``) of the CSIStorageCapacities by class and topology."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, _Labels], dict[str, None]] = {}
        self._places: dict[str, tuple[str, _Labels]] = {}
        self._names: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        """The names of the labels that the capacities of a class go by: few, however many places there are."""

    def note(self, capacity: Obj, *, gone: bool) -> None:
        key = key_of(capacity)
        before = self._places.pop(key, None)
        if before is not None:
            del self._keys[before][key]
            if not self._keys[before]:
                del self._keys[before]
            self._count(before, -1)
        if not gone:
            place = self._places[key] = _place_of(capacity)
            self._keys.setdefault(place, {})[key] = None
            self._count(place, 1)

    def _count(self, place: tuple[str, _Labels], change: int) -> None:
        class_, labels = place
        if labels is not None:
            self._names[class_][tuple(sorted(key for key, _ in labels))] += change

    def keys(self, class_: str, labels: Mapping[str, str]) -> Iterator[str]:
        """Those that may be for a node with these labels."""
        yield from self._keys.get((class_, None), ())
        for names, count in self._names.get(class_, Counter()).items():
            if count and all(name in labels for name in names):
                yield from self._keys.get((class_, frozenset((name, labels[name]) for name in names)), ())


def _place_of(capacity: Obj) -> tuple[str, _Labels]:
    topology = capacity.get("nodeTopology")
    if topology is None or topology.get("matchExpressions"):
        return capacity["storageClassName"], None
    return capacity["storageClassName"], frozenset((topology.get("matchLabels") or {}).items())
