"""Scores that are normalized over the candidates: node affinity, taints, pod affinity, soft spread. Not a plugin.

Each score is 0 to 100 over the candidates, as from kube-scheduler's NormalizeScore, with hardPodAffinityWeight 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.kernels.domains import LabelDomains, topology
from vsched.kernels.podaffinity import (
    namespaces_of,
    preferences,
    preferred,
    scaled_to_most,
    term_matches,
)
from vsched.kernels.selectors import preference
from vsched.kernels.taints import discouraged, discourages
from vsched.model.nodes.table import Floats, Mask, NodeStatics
from vsched.model.pods.shape import PodLabels, PodTerm, Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.plugins.pods.carried import CarriedTerms, Signature
from vsched.plugins.pods.pods import DomainCounter, PodsOnNodes
from vsched.plugins.pods.soft_spread import SoftSpread


class PreferenceWeights(NamedTuple):
    """Weights of the four scores; 0 leaves one out."""

    node_affinity: int
    pod_affinity: int
    taints: int
    spread: int


class Preferences:
    """The preferences of one cycle; they follow its placements."""

    def __init__(self, snapshot: Snapshot, statics: NodeStatics, weights: PreferenceWeights) -> None:
        self._statics = statics
        self._weights = weights
        self._tainted: bool | None = None
        """Whether any node has a taint that counts; None until somebody asks."""
        self._namespaces = snapshot.namespaces
        self._pods = PodsOnNodes(snapshot.placed, statics)
        self._carried = CarriedTerms(snapshot.placed.preferring, preferences, snapshot.namespaces)
        self._spread = SoftSpread(snapshot, statics, self._pods)

    def move(self, task: Task, row: int, by: int) -> None:
        """Note one placement (``by=1``), or its undoing (``by=-1``)."""
        self._pods.move(task, row, by)
        affinity = task.shape.affinity
        if affinity is not None and by > 0:
            self._carried.arrive(affinity, task.labels.namespace)

    def concern(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether any preference could give nodes different scores for such a pod."""
        weights, affinity = self._weights, shape.affinity
        if self._tainted is None:
            self._tainted = bool(weights.taints) and discourages(self._statics)
        return bool(
            (shape.rules.preferred and weights.node_affinity)
            or (self._carried.are_any and weights.pod_affinity)
            or (affinity is not None and weights.pod_affinity and (affinity.preferred or affinity.anti_preferred))
            or ((shape.spread or self._spread.are_defaults) and weights.spread and self._spread.concerns(shape, labels))
            or (self._tainted and discouraged(self._statics, shape.rules.tolerations) is not None)
        )

    def score(self, shape: Shape, labels: PodLabels, candidates: Mask) -> Floats | None:
        """float64[nodes]: the weighted sum; None where no preference gives candidates different scores."""
        weights, rules = self._weights, shape.rules
        total: Floats | None = None
        if weights.node_affinity and rules.preferred:
            total = _plus(total, scaled_to_most(preference(rules, self._statics), candidates), weights.node_affinity)
        if weights.taints:
            counts = discouraged(self._statics, rules.tolerations)
            if counts is not None:
                total = _plus(total, scaled_to_most(counts, candidates, reverse=True), weights.taints)
        if weights.pod_affinity:
            total = _plus(total, self._pod_affinity(shape, labels, candidates), weights.pod_affinity)
        if weights.spread:
            total = _plus(total, self._spread.score(shape, labels, candidates), weights.spread)
        return total

    # -- pod affinity -------------------------------------------------------------------------------------------

    def state(self, shape: Shape, labels: PodLabels) -> bytes:
        """What the scores follow from: equal as long as the counts are of the pods that the preferences are about."""
        counters, keys = list[DomainCounter](), list[str]()
        if self._weights.pod_affinity:
            counters += self._affinity_counters(shape, labels)
            keys += [key for key, _ in self._carried.weights(self._carried.signature(labels))]
        if self._weights.spread:
            counters += self._spread.counters(shape, labels)
        return msgspec.msgpack.encode((keys, [one.sums.data for one in counters]))

    def _pod_affinity(self, shape: Shape, labels: PodLabels, candidates: Mask) -> Floats | None:
        counters = self._affinity_counters(shape, labels)
        sums = [(counter.domains, counter.sums) for counter in counters if counter.occupied]
        return preferred(sums, candidates) if sums else None

    def _affinity_counters(self, shape: Shape, labels: PodLabels) -> list[DomainCounter]:
        """Counters of the pods that its own terms match, and of those whose terms match it, by the terms' weights."""
        counters: list[DomainCounter] = []
        own = preferences(shape.affinity) if shape.affinity is not None else ()
        if own:
            counters += self._pods.counters(("own", shape), lambda: self._own_counters(own))
        signature = self._carried.signature(labels) if self._carried.are_any else ()
        if signature:
            counters += self._pods.counters(("carried", signature), lambda: self._carried_counters(signature))
        return counters

    def _own_counters(self, own: Sequence[tuple[int, PodTerm]]) -> list[DomainCounter]:
        """By topology key: a counter of the pods that the pod's own terms match, by the terms' weights."""
        by_key: dict[str, list[tuple[int, PodTerm]]] = {}
        for weight, term in own:
            by_key.setdefault(term.topology_key, []).append((weight, term))
        return [self._own_counter(topology(self._statics, key), terms) for key, terms in by_key.items()]

    def _own_counter(self, domains: LabelDomains, terms: Sequence[tuple[int, PodTerm]]) -> DomainCounter:
        selectors = [
            (term.selector, namespaces_of(term, self._namespaces)) for _, term in terms if term.selector is not None
        ]

        def weigh(labels: PodLabels) -> int:
            pairs = self._pods.pairs(labels)
            return sum(weight for weight, term in terms if term_matches(term, labels, self._namespaces, pairs))

        return self._pods.by_labels(domains, selectors, weigh)

    def _carried_counters(self, signature: Signature) -> list[DomainCounter]:
        """By topology key: a counter of the pods on nodes whose terms match such a pod, by the terms' weights."""
        return [
            self._pods.by_carried(topology(self._statics, key), self._carried.carriers(signature), weigh)
            for key, weigh in self._carried.weights(signature)
        ]


def _plus(total: Floats | None, scores: Floats | None, weight: int) -> Floats | None:
    if scores is None:
        return total
    scores *= weight
    return scores if total is None else np.add(total, scores, out=total)
