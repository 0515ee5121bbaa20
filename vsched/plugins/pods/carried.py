"""Pod (anti-)affinity terms of pods on nodes, found by the labels of the pods that they match. Not a plugin.

The signature of a label set says which of these terms match it. A whole gang usually has one signature, and so shares
one answer, even where each pod has a label of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vsched.kernels.podaffinity import term_matches
from vsched.model.pods.shape import PodAffinity, PodLabels, PodTerm
from vsched.model.pods.termindex import TermIndex, TermKey
from vsched.model.queues.queue import Namespace

WeightedTerms = Sequence[tuple[int, PodTerm]]
Weigh = Callable[[PodAffinity], int]
Signature = tuple[tuple[int, int], ...]
"""Terms that match a pod, each as (number of the carrier's affinity, position of the term in that affinity)."""


class CarriedTerms:
    """The terms of one kind (such as required anti-affinity) of the snapshot's pods and of pods placed since."""

    __slots__ = (
        "_affinities",
        "_arrived",
        "_carriers",
        "_namespaces",
        "_numbers",
        "_placed",
        "_seen",
        "_signatures",
        "_terms_of",
        "_version",
        "are_any",
    )

    def __init__(
        self,
        placed: TermIndex,
        terms_of: Callable[[PodAffinity], WeightedTerms],
        namespaces: Mapping[str, Namespace],
    ) -> None:
        self._placed = placed
        self._terms_of = terms_of
        self._namespaces = namespaces
        self._arrived: TermIndex | None = None
        """Those of pods placed since; None where there are none."""
        self._affinities: list[PodAffinity] = []
        self._numbers: dict[PodAffinity, int] = {}
        self._seen: dict[int, tuple[PodAffinity, int]] = {}
        """By ``id`` of an affinity: the affinity itself, which keeps the id valid, and its number."""
        self._signatures: dict[int, tuple[int, PodLabels, Signature]] = {}
        self._carriers: dict[Signature, list[TermKey]] = {}
        self._version = 0
        self.are_any = bool(placed)
        """Whether there are any terms; asked before each placement."""

    def arrive(self, affinity: PodAffinity, namespace: str) -> None:
        """Note that this cycle placed a pod with these terms. They stay when the pod leaves, and then count no pod."""
        if id(affinity) in self._seen:
            return
        known = affinity in self._numbers
        self._number(affinity)
        terms = [term for _, term in self._terms_of(affinity)]
        if terms and not known:
            if self._arrived is None:
                self._arrived = TermIndex()
            self._arrived.add((affinity, namespace), terms)
            self._version += 1
            self.are_any = True

    def signature(self, labels: PodLabels) -> Signature:
        """The terms that match a pod with these labels."""
        found = self._signatures.get(id(labels))
        if found is not None and found[0] == self._version:
            return found[2]
        entries: set[tuple[int, int]] = set()
        carriers: list[TermKey] = []
        placed, pairs = self._placed.about(labels), dict(labels.pairs)
        arrived = () if self._arrived is None else self._arrived.about(labels)
        for position, key in enumerate((*placed, *arrived)):
            meant = self._meant(key[0], labels, pairs)
            entries.update(meant)
            if meant and position < len(placed):
                carriers.append(key)
        signature = tuple(sorted(entries))
        self._signatures[id(labels)] = (self._version, labels, signature)
        self._carriers.setdefault(signature, carriers)
        return signature

    def carriers(self, signature: Signature) -> list[TermKey]:
        """The carriers in the snapshot whose terms make up the signature."""
        return self._carriers[signature]

    def weights(self, signature: Signature) -> list[tuple[str, Weigh]]:
        """By topology key: a function from a carrier's affinity to its weight for a pod with this signature."""
        entries = frozenset(signature)
        keys = [self._terms_of(self._affinities[number])[position][1].topology_key for number, position in signature]
        return [(key, self._weigher(key, entries)) for key in dict.fromkeys(keys)]

    def _weigher(self, topology_key: str, entries: frozenset[tuple[int, int]]) -> Weigh:
        def weigh(affinity: PodAffinity) -> int:
            number = self._number(affinity)
            return sum(
                weight
                for position, (weight, term) in enumerate(self._terms_of(affinity))
                if term.topology_key == topology_key and (number, position) in entries
            )

        return weigh

    def _meant(self, affinity: PodAffinity, labels: PodLabels, pairs: dict[str, str]) -> list[tuple[int, int]]:
        return [
            (self._number(affinity), position)
            for position, (_, term) in enumerate(self._terms_of(affinity))
            if term_matches(term, labels, self._namespaces, pairs)
        ]

    def _number(self, affinity: PodAffinity) -> int:
        seen = self._seen.get(id(affinity))
        if seen is None:
            number = self._numbers.get(affinity)
            if number is None:
                number = self._numbers[affinity] = len(self._affinities)
                self._affinities.append(affinity)
            seen = self._seen[id(affinity)] = (affinity, number)
        return seen[1]
