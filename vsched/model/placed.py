"""Which pods, by what selectors see of them, are on which nodes: the data behind pod affinity and spread.

Counts are kept by interned label set (not by pod), with an index from label pair to label sets, so that a selector
finds its pods without walking all of them. One writer, the mirror; ``publish`` brings a second index up to date at the
cost of what changed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TypeVar

from vsched.model.shape import PodAffinity, PodLabels, Selector

NodeCounts = dict[str, int]
Key = TypeVar("Key", bound=Hashable)


class PlacedPods:
    """Counts of pods by label set and node, and of pods with affinity terms by term set and node."""

    __slots__ = ("_by_namespace", "_by_pair", "_dirty", "_dirty_terms", "counts", "terms")

    def __init__(self) -> None:
        self.counts: dict[PodLabels, NodeCounts] = {}
        self.terms: dict[tuple[PodAffinity, str], NodeCounts] = {}
        """Pods that carry affinity terms, by terms and namespace."""
        self._by_pair: dict[tuple[str, str], dict[PodLabels, None]] = {}
        self._by_namespace: dict[str, dict[PodLabels, None]] = {}
        self._dirty: dict[PodLabels, None] = {}
        self._dirty_terms: dict[tuple[PodAffinity, str], None] = {}

    def shift(self, labels: PodLabels, affinity: PodAffinity | None, node: str, by: int) -> None:
        """One pod more (``by=1``) or less (``by=-1``) on a node."""
        if _shift(self.counts, labels, node, by):
            self._index(labels, labels in self.counts)
        self._dirty[labels] = None
        if affinity is not None:
            key = (affinity, labels.namespace)
            _shift(self.terms, key, node, by)
            self._dirty_terms[key] = None

    def matching(self, selector: Selector, namespaces: frozenset[str] | None) -> Iterator[PodLabels]:
        """Label sets with pods on nodes that the selector matches; ``namespaces`` None means all of them."""
        for labels in self._candidates(selector, namespaces):
            if (namespaces is None or labels.namespace in namespaces) and selector.matches(dict(labels.pairs)):
                yield labels

    def _candidates(self, selector: Selector, namespaces: frozenset[str] | None) -> list[PodLabels]:
        smallest: list[PodLabels] | None = None
        for requirement in selector.requirements:
            if requirement.operator == "In":
                found = [
                    labels for value in requirement.values for labels in self._by_pair.get((requirement.key, value), ())
                ]
                if smallest is None or len(found) < len(smallest):
                    smallest = found
        if smallest is not None:
            return smallest
        if namespaces is not None:
            return [labels for name in sorted(namespaces) for labels in self._by_namespace.get(name, ())]
        return list(self.counts)

    def publish(self, to: PlacedPods) -> None:
        """Bring ``to`` up to date with this index; cost follows what changed since the last call."""
        for labels in self._dirty:
            known = labels in to.counts
            counts = self.counts.get(labels)
            if counts is None:
                to.counts.pop(labels, None)
            else:
                to.counts[labels] = counts.copy()
            if known is not (counts is not None):
                to._index(labels, counts is not None)
        for key in self._dirty_terms:
            counts = self.terms.get(key)
            if counts is None:
                to.terms.pop(key, None)
            else:
                to.terms[key] = counts.copy()
        self._dirty.clear()
        self._dirty_terms.clear()

    def _index(self, labels: PodLabels, present: bool) -> None:
        groups = [self._by_namespace.setdefault(labels.namespace, {})]
        groups += [self._by_pair.setdefault(pair, {}) for pair in labels.pairs]
        for group in groups:
            if present:
                group[labels] = None
            else:
                group.pop(labels, None)
        if not present:
            self._drop_empty(labels)

    def _drop_empty(self, labels: PodLabels) -> None:
        if not self._by_namespace[labels.namespace]:
            del self._by_namespace[labels.namespace]
        for pair in labels.pairs:
            if not self._by_pair[pair]:
                del self._by_pair[pair]


def _shift(table: dict[Key, NodeCounts], key: Key, node: str, by: int) -> bool:
    """Change one count; True where the key came or went."""
    counts = table.get(key)
    if counts is None:
        table[key] = {node: by}
        return True
    left = counts.get(node, 0) + by
    if left:
        counts[node] = left
        return False
    counts.pop(node, None)
    if counts:
        return False
    del table[key]
    return True
