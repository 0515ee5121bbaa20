"""What the objects of one namespace select by labels: the pods that belong together when nobody says so.

kube-scheduler spreads pods that say nothing of spread by the selectors of their Services and of the ReplicaSet,
StatefulSet or ReplicationController that owns them.
"""

from __future__ import annotations

from collections.abc import Iterable

from vsched.model.shape import PodLabels, Requirement, Selector

Pair = tuple[str, str]


class Selections:
    """The selectors of one namespace, found by a pod's labels.

    Immutable but for the index, which is made when a pod first asks: most namespaces that change place no pod.
    """

    __slots__ = ("_by_pair", "_rest", "selectors")

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self.selectors = tuple(selectors)
        self._by_pair: dict[Pair, list[Selector]] | None = None
        self._rest: list[Selector] = []

    def merged(self, labels: PodLabels) -> Selector | None:
        """All the selectors that match the labels as one; None where none does."""
        found: set[Requirement] = set()
        pairs = dict(labels.pairs)
        index = self._index()
        for selectors in (*(index.get(pair, ()) for pair in labels.pairs), self._rest):
            for selector in selectors:
                if selector.matches(pairs):
                    found.update(selector.requirements)
        return Selector(tuple(sorted(found, key=_order))) if found else None

    def _index(self) -> dict[Pair, list[Selector]]:
        """Each selector once: under the pair fewest others are found by, or with the rest where it names no pair."""
        index = self._by_pair
        if index is None:
            index = self._by_pair = {}
            for selector in dict.fromkeys(self.selectors):
                lists = [index.setdefault(pair, []) for pair in _pairs(selector)]
                min(lists, key=len, default=self._rest).append(selector)
        return index


def _pairs(selector: Selector) -> list[Pair]:
    """The labels a pod cannot do without."""
    return [
        (requirement.key, requirement.values[0])
        for requirement in selector.requirements
        if requirement.operator == "In" and len(requirement.values) == 1
    ]


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values
