"""What the objects of one namespace select by labels: the pods that belong together by default.

kube-scheduler spreads pods without spread constraints by the selectors of their Services and of the ReplicaSet,
StatefulSet or ReplicationController that owns them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vsched.model.pods.shape import PodLabels, Requirement, Selector

Pair = tuple[str, str]


class Index(NamedTuple):
    """An index of selectors; each selector is in it once."""

    by_pair: dict[Pair, list[Selector]]
    """By label pair: a selector is under the one of its pairs that has the fewest selectors."""
    rest: list[Selector]
    """Selectors that require no single label pair."""


class Selections:
    """The selectors of one namespace, found by a pod's labels.

    Immutable except for the index. It is made at the first use, because most changed namespaces place no pod.
    """

    __slots__ = ("_known", "selectors")

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self.selectors = tuple(selectors)
        self._known: Index | None = None

    def merged(self, labels: PodLabels) -> Selector | None:
        """One selector with the requirements of all selectors that match the labels; None where none matches."""
        found: set[Requirement] = set()
        pairs = dict(labels.pairs)
        by_pair, rest = self._index()
        for selectors in (*(by_pair.get(pair, ()) for pair in labels.pairs), rest):
            for selector in selectors:
                if selector.matches(pairs):
                    found.update(selector.requirements)
        return Selector(tuple(sorted(found, key=_order))) if found else None

    def _index(self) -> Index:
        if self._known is None:
            by_pair: dict[Pair, list[Selector]] = {}
            rest: list[Selector] = []
            for selector in dict.fromkeys(self.selectors):
                lists = [by_pair.setdefault(pair, []) for pair in _pairs(selector)]
                min(lists, key=len, default=rest).append(selector)
            self._known = Index(by_pair, rest)
        return self._known


def _pairs(selector: Selector) -> list[Pair]:
    """The label pairs that a matching pod must have."""
    return [
        (requirement.key, requirement.values[0])
        for requirement in selector.requirements
        if requirement.operator == "In" and len(requirement.values) == 1
    ]


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values
