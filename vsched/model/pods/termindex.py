"""An index of pod affinity terms by the labels they select, to find the terms that may match a pod.

A term that requires one of a few label values is indexed under these label pairs. Any other term is a candidate for
each pod. The index only leaves out terms that cannot match; the caller still has to match the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable

from vsched.model.pods.groups import Groups
from vsched.model.pods.shape import PodAffinity, PodLabels, PodTerm

TermKey = tuple[PodAffinity, str]
"""The affinity of a pod (its terms), and the pod's namespace."""

Pair = tuple[str, str]


class TermIndex:
    """Affinities by the label pairs that their terms select."""

    __slots__ = ("_by_pair", "_others")

    def __init__(self) -> None:
        self._by_pair: Groups[Pair, TermKey] = Groups()
        self._others: dict[TermKey, None] = {}

    def __bool__(self) -> bool:
        return bool(len(self._by_pair) or self._others)

    def add(self, key: TermKey, terms: Iterable[PodTerm]) -> None:
        """Index one affinity by its terms."""
        for term in terms:
            pairs = _pairs(term)
            if pairs is None:
                self._others[key] = None
            else:
                for pair in pairs:
                    self._by_pair.add(pair, key)

    def discard(self, key: TermKey, terms: Iterable[PodTerm]) -> None:
        """Remove an affinity that was added with the same terms."""
        for term in terms:
            for pair in _pairs(term) or ():
                self._by_pair.discard(pair, key)
        self._others.pop(key, None)

    def copy(self) -> TermIndex:
        """A copy that later changes do not affect."""
        other = TermIndex()
        other._by_pair = self._by_pair.copy()
        other._others = self._others.copy()
        return other

    def about(self, labels: PodLabels) -> list[TermKey]:
        """Affinities with a term that may match a pod with these labels, each once."""
        found = {id(key): key for key in self._others}
        by_pair = self._by_pair
        if by_pair:
            for pair in labels.pairs:
                for key in by_pair.of(pair):
                    found[id(key)] = key
        return list(found.values())


def _pairs(term: PodTerm) -> list[Pair] | None:
    """Label pairs of which each matching pod has at least one; None where the term names no such pairs."""
    if term.selector is None:
        return []
    smallest: list[Pair] | None = None
    for requirement in term.selector.requirements:
        if requirement.operator == "In" and (smallest is None or len(requirement.values) < len(smallest)):
            smallest = [(requirement.key, value) for value in requirement.values]
    return smallest
