"""Counts of pods on nodes by labels, affinity terms and host ports: the data behind pod affinity, spread and ports.

Counts are kept by interned label set, not by pod. An index from label pair to label sets finds the pods of a selector
without a walk over all of them. Only the mirror writes; ``publish`` copies what changed into a second index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from vsched.model.pods.groups import Groups
from vsched.model.pods.shape import HostPort, PodLabels, PodTerm, Selector, Shape
from vsched.model.pods.termindex import TermIndex, TermKey

NodeCounts = dict[str, int]
Key = TypeVar("Key", bound=Hashable)
_MANY = 256
"""From so many changed label sets on, they are published in steps."""


class PlacedPods:
    """Counts of pods by label set, by their affinity terms and by host port; each count is by node."""

    __slots__ = (
        "_by_namespace",
        "_by_pair",
        "_dirty",
        "_dirty_ports",
        "_dirty_terms",
        "counts",
        "ports",
        "preferring",
        "repelling",
        "terms",
    )

    def __init__(self) -> None:
        self.counts: dict[PodLabels, NodeCounts] = {}
        self.terms: dict[TermKey, NodeCounts] = {}
        """Pods with affinity terms, by terms and namespace."""
        self.ports: dict[HostPort, NodeCounts] = {}
        """Pods with host ports, by port."""
        self.repelling = TermIndex()
        """Carriers in ``terms`` with required anti-affinity, by the pods that they repel."""
        self.preferring = TermIndex()
        """Carriers in ``terms`` with preferred (anti-)affinity, by the pods that it is about."""
        self._by_namespace: Groups[str, PodLabels] = Groups()
        self._by_pair: Groups[tuple[str, str], PodLabels] = Groups()
        self._dirty: dict[PodLabels, None] = {}
        self._dirty_ports: dict[HostPort, None] = {}
        self._dirty_terms: dict[TermKey, None] = {}

    @classmethod
    def of(
        cls,
        counts: Iterable[tuple[PodLabels, NodeCounts]],
        terms: Iterable[tuple[TermKey, NodeCounts]],
        ports: Iterable[tuple[HostPort, NodeCounts]],
    ) -> PlacedPods:
        """An index of these counts, in this order."""
        made = cls()
        made.counts, made.terms, made.ports = dict(counts), dict(terms), dict(ports)
        for labels in made.counts:
            made._index(labels, present=True)
        for key in made.terms:
            made._index_terms(key, present=True)
        return made

    def shift(self, labels: PodLabels, shape: Shape, node: str, by: int) -> None:
        """Count one pod more (``by=1``) or less (``by=-1``) on a node."""
        if _shift(self.counts, labels, node, by):
            self._index(labels, labels in self.counts)
        self._dirty[labels] = None
        if shape.affinity is not None:
            key = (shape.affinity, labels.namespace)
            if _shift(self.terms, key, node, by):
                self._index_terms(key, key in self.terms)
            self._dirty_terms[key] = None
        for port in shape.ports:
            _shift(self.ports, port, node, by)
            self._dirty_ports[port] = None

    def matching(
        self,
        selector: Selector,
        namespaces: frozenset[str] | None,
        pairs_of: Callable[[PodLabels], dict[str, str]] = lambda labels: dict(labels.pairs),
    ) -> Iterator[PodLabels]:
        """Label sets with pods on nodes that the selector matches; ``namespaces`` None means all of them.

        A caller with many selectors passes a ``pairs_of`` that caches the pairs of each label set.
        """
        for labels in self._candidates(selector, namespaces):
            if (namespaces is None or labels.namespace in namespaces) and selector.matches(pairs_of(labels)):
                yield labels

    def looked_at(self, selector: Selector, namespaces: frozenset[str] | None) -> int:
        """How many label sets ``matching`` compares."""
        smallest: int | None = None
        for requirement in selector.requirements:
            if requirement.operator == "In":
                found = sum(self._by_pair.count((requirement.key, value)) for value in requirement.values)
                smallest = found if smallest is None else min(smallest, found)
        if smallest is not None:
            return smallest
        if namespaces is not None:
            return sum(map(self._by_namespace.count, namespaces))
        return len(self.counts)

    def _candidates(self, selector: Selector, namespaces: frozenset[str] | None) -> list[PodLabels]:
        smallest: list[PodLabels] | None = None
        for requirement in selector.requirements:
            if requirement.operator == "In":
                found = [
                    labels for value in requirement.values for labels in self._by_pair.of((requirement.key, value))
                ]
                if smallest is None or len(found) < len(smallest):
                    smallest = found
        if smallest is not None:
            return smallest
        if namespaces is not None:
            return [labels for name in sorted(namespaces) for labels in self._by_namespace.of(name)]
        return list(self.counts)

    def prepare(self, to: PlacedPods) -> Iterator[None]:
        """Do most of what ``publish`` has to do, a label set a step; nothing where little has changed.

        At once that takes 340 ms for 140,000 pods each with labels of its own.
        """
        if len(self._dirty) < _MANY:
            return
        for labels in [*self._dirty]:
            if labels in self._dirty:
                del self._dirty[labels]
                self._publish_one(labels, to)
                yield

    def _publish_one(self, labels: PodLabels, to: PlacedPods) -> None:
        if _copy(self.counts, to.counts, labels):
            to._index(labels, labels in to.counts)

    def publish(self, to: PlacedPods) -> None:
        """Update ``to`` from this index; the cost follows what changed since the last call."""
        for labels in self._dirty:
            self._publish_one(labels, to)
        for key in self._dirty_terms:
            if _copy(self.terms, to.terms, key):
                to._index_terms(key, key in to.terms)
        for port in self._dirty_ports:
            _copy(self.ports, to.ports, port)
        self._dirty.clear()
        self._dirty_terms.clear()
        self._dirty_ports.clear()

    def copy(self) -> PlacedPods:
        """A read-only copy. It shares the counts: a published index replaces them and never changes them in place."""
        other = PlacedPods()
        other.counts, other.terms, other.ports = self.counts.copy(), self.terms.copy(), self.ports.copy()
        other.repelling, other.preferring = self.repelling.copy(), self.preferring.copy()
        other._by_namespace, other._by_pair = self._by_namespace.copy(), self._by_pair.copy()
        return other

    def writable(self) -> PlacedPods:
        """A copy that may be changed."""
        other = self.copy()
        other.counts = {labels: counts.copy() for labels, counts in self.counts.items()}
        other.terms = {key: counts.copy() for key, counts in self.terms.items()}
        other.ports = {port: counts.copy() for port, counts in self.ports.items()}
        return other

    def clear(self, node: str) -> None:
        """Remove all pods from a node."""
        for labels, counts in _on(self.counts, node):
            if _shift(self.counts, labels, node, -counts[node]):
                self._index(labels, present=False)
            self._dirty[labels] = None
        for key, counts in _on(self.terms, node):
            if _shift(self.terms, key, node, -counts[node]):
                self._index_terms(key, present=False)
            self._dirty_terms[key] = None
        for port, counts in _on(self.ports, node):
            _shift(self.ports, port, node, -counts[node])
            self._dirty_ports[port] = None

    def _index(self, labels: PodLabels, present: bool) -> None:
        if present:
            self._by_namespace.add(labels.namespace, labels)
            for pair in labels.pairs:
                self._by_pair.add(pair, labels)
        else:
            self._by_namespace.discard(labels.namespace, labels)
            for pair in labels.pairs:
                self._by_pair.discard(pair, labels)

    def _index_terms(self, key: TermKey, present: bool) -> None:
        affinity = key[0]
        preferences: list[PodTerm] = [term for _, term in (*affinity.preferred, *affinity.anti_preferred)]
        for index, terms in ((self.repelling, affinity.anti_required), (self.preferring, preferences)):
            if not terms:
                continue
            if present:
                index.add(key, terms)
            else:
                index.discard(key, terms)


def _on(table: dict[Key, NodeCounts], node: str) -> list[tuple[Key, NodeCounts]]:
    return [(key, counts) for key, counts in table.items() if node in counts]


def _shift(table: dict[Key, NodeCounts], key: Key, node: str, by: int) -> bool:
    """Change one count; True where the key was added or removed."""
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


def _copy(table: dict[Key, NodeCounts], to: dict[Key, NodeCounts], key: Key) -> bool:
    """Update one key of ``to``; True where it was added or removed."""
    known = key in to
    counts = table.get(key)
    if counts is None:
        to.pop(key, None)
    else:
        to[key] = counts.copy()
    return known is (counts is None)
