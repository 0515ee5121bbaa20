"""Rules about the pods on nodes: host ports, required pod (anti-)affinity, hard topology spread. Not a plugin.

They decide as kube-scheduler's filters NodePorts, InterPodAffinity and PodTopologySpread do, for all nodes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.words import nodes as words
from vsched.kernels.domains import single_nodes, topology
from vsched.kernels.podaffinity import attracted, namespaces_of, term_matches
from vsched.kernels.ports import conflicting
from vsched.kernels.spread import within_skew
from vsched.model.nodes.table import Ints, Mask, NodeStatics
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.shape import PodAffinity, PodLabels, PodTerm, Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace
from vsched.model.snapshot import Snapshot
from vsched.plugins.pods.carried import CarriedTerms, Signature, WeightedTerms
from vsched.plugins.pods.constraints import SpreadConstraint, constraints_of, counts_pod, hard_spread, spread_counter
from vsched.plugins.pods.pods import DomainCounter, PodsOnNodes
from vsched.plugins.words.nodes import rules_too_costly

COMPARISONS_MAX = 250_000
"""The most comparisons of label sets with the rules of one shape of pods in a session: less than a second of work."""


class PodClass(NamedTuple):
    """What the rules need to know of a pod's labels and namespace, besides its shape."""

    namespace: str = ""
    """The namespace whose pods the spread constraints count; empty without such constraints."""
    repelled_by: Signature = ()
    attracts_itself: bool = False
    """Whether its own required affinity matches the pod itself."""
    counts_itself: tuple[bool, ...] = ()
    """For each hard spread constraint: whether it counts the pod itself."""
    too_costly: bool = False
    """Whether its own rules about other pods take too many comparisons, which would delay all other pods."""


NO_CLASS = PodClass()


class PodRules:
    """The rules of one cycle; they follow its placements."""

    def __init__(self, snapshot: Snapshot, statics: NodeStatics, ports: bool, affinity: bool, spread: bool) -> None:
        self._statics = statics
        self._namespaces = snapshot.namespaces
        self._pods = PodsOnNodes(snapshot.placed, statics)
        self._evicted = PodsOnNodes(PlacedPods(), statics)
        """Pods that this cycle evicts. They still hold their ports, and repel others, until they are gone."""
        self._repelling = CarriedTerms(snapshot.placed.repelling, _repelling_terms, snapshot.namespaces)
        self._ports = ports
        self._affinity = affinity
        self._spread = spread
        self._constraints: dict[Shape, tuple[SpreadConstraint, ...]] = {}
        self._placed = snapshot.placed
        self._costly: dict[tuple[Shape, str], bool] = {}

    def move(self, task: Task, row: int, by: int) -> None:
        """Note one placement (``by=1``), or its undoing (``by=-1``)."""
        self._pods.move(task, row, by)
        if task.node:  # it was there when the cycle began
            self._evicted.move(task, row, -by)
        affinity = task.shape.affinity
        if affinity is not None and by > 0:
            self._repelling.arrive(affinity, task.labels.namespace)

    def reads_labels(self, shape: Shape) -> bool:
        """Whether ``class_of`` may differ among pods of a shape; never for one without rules while none repels pods."""
        return shape.affinity is not None or bool(shape.spread) or (self._affinity and self._repelling.are_any)

    def class_of(self, shape: Shape, labels: PodLabels) -> PodClass | None:
        """What the rules need besides the shape for a pod with these labels; None where the shape is enough."""
        has_rules = shape.affinity is not None or shape.spread
        if not has_rules and not (self._affinity and self._repelling.are_any):
            return None
        if has_rules and self._is_costly(shape, labels.namespace):
            return PodClass(too_costly=True)
        repelled_by = self._repelling.signature(labels) if self._affinity and self._repelling.are_any else ()
        affinity = shape.affinity if self._affinity else None
        hard = hard_spread(shape) if self._spread else ()
        if not hard and affinity is None:
            return PodClass(repelled_by=repelled_by) if repelled_by else None
        required = affinity.required if affinity is not None else ()
        pairs = dict(labels.pairs)
        found = PodClass(
            labels.namespace if hard else "",
            repelled_by,
            bool(required) and all(term_matches(term, labels, self._namespaces, pairs) for term in required),
            tuple(counts_pod(rule, pairs) for rule in hard),
        )
        return None if found == NO_CLASS else found

    def _is_costly(self, shape: Shape, namespace: str) -> bool:
        """Whether the rules of such pods, preferences included, take too many comparisons with the pods on nodes."""
        key = (shape, namespace if shape.spread else "")
        found = self._costly.get(key)
        if found is None:
            found = self._costly[key] = self._comparisons(shape, namespace) > COMPARISONS_MAX
        return found

    def _comparisons(self, shape: Shape, namespace: str) -> int:
        placed, affinity, own = self._placed, shape.affinity, frozenset((namespace,))
        count = sum(placed.looked_at(rule.selector, own) for rule in shape.spread if rule.selector is not None)
        if affinity is None:
            return count

        def found(term: PodTerm) -> int:
            if term.selector is None:
                return 0
            return placed.looked_at(term.selector, namespaces_of(term, self._namespaces))

        count += sum(found(term) for term in affinity.anti_required)
        # Pods that the first required term finds are compared with all required terms. Pods that a preferred term
        # finds are compared with all preferred terms of the same topology key.
        count += sum(found(term) for term in affinity.required[:1]) * len(affinity.required)
        by_key: dict[str, list[int]] = {}
        for _, term in (*affinity.preferred, *affinity.anti_preferred):
            by_key.setdefault(term.topology_key, []).append(found(term))
        return count + sum(sum(each) + len(each) * min(sum(each), len(placed.counts)) for each in by_key.values())

    def concern(self, shape: Shape, pod_class: PodClass) -> bool:
        """Whether any of the rules could rule out a node for such a pod."""
        affinity = shape.affinity
        return bool(
            pod_class.too_costly
            or (self._ports and shape.ports)
            or pod_class.repelled_by
            or (self._affinity and affinity is not None and (affinity.required or affinity.anti_required))
            or pod_class.counts_itself
        )

    def checks(self, shape: Shape, pod_class: PodClass) -> list[Check]:
        """One check for each rule that some node may fail, in the order of kube-scheduler's filters.

        The masks are valid until the next placement.
        """
        found: list[Check] = []
        if pod_class.too_costly:
            nowhere = np.zeros(len(self._statics), dtype=np.bool_)
            return [Check(rules_too_costly(COMPARISONS_MAX), nowhere, code=Code.POD_AFFINITY)]
        if self._ports and shape.ports:
            self._free(found, words.NO_PORTS, Code.PORTS, partial(self._port_counters, shape))
        affinity = shape.affinity if self._affinity else None
        if affinity is not None and affinity.required:
            attracting = self._attracted(shape, affinity, pod_class)
            found.append(Check(words.NO_AFFINITY, attracting, code=Code.POD_AFFINITY))
        if affinity is not None and affinity.anti_required:
            self._free(found, words.ANTI_AFFINITY, Code.POD_AFFINITY, partial(self._own_counters, shape, affinity))
        if pod_class.repelled_by:
            repelling = partial(self._repelling_counters, pod_class.repelled_by)
            self._free(found, words.REPELLED, Code.POD_AFFINITY, repelling)
        if pod_class.counts_itself:
            skewed = self._spread_mask(shape, pod_class)
            found.append(Check(words.SKEWED, skewed, resolvable=True, code=Code.SPREAD))
        return found

    def state(self, shape: Shape, pod_class: PodClass) -> bytes:
        """What the checks follow from: equal as long as the counts are of the pods that the rules are about."""
        if pod_class.too_costly:
            return b"too costly"
        affinity = shape.affinity if self._affinity else None
        signature = pod_class.repelled_by
        keys = [key for key, _ in self._repelling.weights(signature)]
        counters: list[DomainCounter] = []
        if affinity is not None and affinity.required:
            counters += self._attracting_counters(shape, affinity)
        if pod_class.counts_itself:
            counters += self._spread_counters(shape, pod_class)
        for pods in (self._pods, self._evicted) if self._evicted.moves else (self._pods,):
            if self._ports and shape.ports:
                counters += self._port_counters(shape, pods)
            if affinity is not None and affinity.anti_required:
                counters += self._own_counters(shape, affinity, pods)
            counters += self._repelling_counters(signature, pods) if signature else []
        # The terms that repel the pod have numbers that only this session knows.
        return msgspec.msgpack.encode((pod_class._replace(repelled_by=()), keys, [one.sums.data for one in counters]))

    def _free(
        self, found: list[Check], reason: str, code: Code, counters: Callable[[PodsOnNodes], Sequence[DomainCounter]]
    ) -> None:
        """Add a check that all counters are 0 for the node's domain; add none where they are 0 for all domains."""
        busy = _occupied(counters(self._pods))
        evicted = _occupied(counters(self._evicted)) if self._evicted.moves else []
        if busy or evicted:
            later = self._all(busy) if evicted else None
            found.append(Check(reason, self._all(busy + evicted), True, code, later, tightens=True))

    def _all(self, masks: Sequence[Mask]) -> Mask:
        """bool[nodes]: the nodes that pass all of these."""
        if len(masks) == 1:
            return masks[0]
        return np.logical_and.reduce(masks) if masks else np.ones(len(self._statics), np.bool_)

    # -- ports --------------------------------------------------------------------------------------------------

    def _port_counters(self, shape: Shape, pods: PodsOnNodes) -> list[DomainCounter]:
        return pods.counters(
            ("ports", shape), lambda: [pods.by_ports(single_nodes(self._statics), conflicting(shape.ports))]
        )

    # -- pod affinity -------------------------------------------------------------------------------------------

    def _own_counters(self, shape: Shape, affinity: PodAffinity, pods: PodsOnNodes) -> list[DomainCounter]:
        """For each of the pod's own anti-affinity terms, a counter of the pods that it matches."""

        def made(term: PodTerm) -> DomainCounter:
            return self._counted(pods, term.topology_key, term, lambda labels: self._all_mean((term,), labels))

        return pods.counters(("anti", shape), lambda: [made(term) for term in affinity.anti_required])

    def _counted(
        self, pods: PodsOnNodes, key: str, finding: PodTerm, means: Callable[[PodLabels], bool]
    ) -> DomainCounter:
        """A counter of the pods that ``means`` accepts, by domains of a key; the term ``finding`` preselects them."""
        found = finding.selector
        selectors = [] if found is None else [(found, namespaces_of(finding, self._namespaces))]
        return pods.by_labels(topology(self._statics, key), selectors, lambda labels: int(means(labels)))

    def _all_mean(self, terms: Sequence[PodTerm], labels: PodLabels) -> bool:
        pairs = self._pods.pairs(labels)
        return all(term_matches(one, labels, self._namespaces, pairs) for one in terms)

    def _attracted(self, shape: Shape, affinity: PodAffinity, pod_class: PodClass) -> Mask:
        counters = self._attracting_counters(shape, affinity)
        return attracted(
            [(counter.domains, ~counter.clear) for counter in counters],
            found=any(counter.occupied for counter in counters),
            matches_itself=pod_class.attracts_itself,
        )

    def _attracting_counters(self, shape: Shape, affinity: PodAffinity) -> list[DomainCounter]:
        """By topology key: a counter of the pods that all required terms match."""

        def made() -> list[DomainCounter]:
            # Each counter counts the pods that all terms match, so that match is computed once, not once a term.
            known: dict[PodLabels, bool] = {}

            def means(labels: PodLabels) -> bool:
                found = known.get(labels)
                if found is None:
                    found = known[labels] = self._all_mean(affinity.required, labels)
                return found

            keys = dict.fromkeys(term.topology_key for term in affinity.required)
            return [self._counted(self._pods, key, affinity.required[0], means) for key in keys]

        return self._pods.counters(("required", shape), made)

    def _repelling_counters(self, signature: Signature, pods: PodsOnNodes) -> list[DomainCounter]:
        """By topology key: a counter of the pods whose anti-affinity matches a pod with this signature."""
        found = self._repelling.carriers(signature) if pods is self._pods else ()
        return pods.counters(
            ("repelled", signature),
            lambda: [
                pods.by_carried(topology(self._statics, key), found, weigh)
                for key, weigh in self._repelling.weights(signature)
            ],
        )

    # -- spread -------------------------------------------------------------------------------------------------

    def _spread_constraints(self, shape: Shape) -> tuple[SpreadConstraint, ...]:
        found = self._constraints.get(shape)
        if found is None:
            found = self._constraints[shape] = constraints_of(shape.rules, hard_spread(shape), self._statics)
        return found

    def _spread_counters(self, shape: Shape, pod_class: PodClass) -> list[DomainCounter]:
        """For each hard constraint, a counter of the pods that it counts."""
        constraints, namespace = self._spread_constraints(shape), pod_class.namespace
        return self._pods.counters(
            ("spread", shape, namespace), lambda: [spread_counter(self._pods, one, namespace) for one in constraints]
        )

    def _spread_mask(self, shape: Shape, pod_class: PodClass) -> Mask:
        constraints, counters = self._spread_constraints(shape), self._spread_counters(shape, pod_class)
        mask: Mask | None = None
        for constraint, counter, itself in zip(constraints, counters, pod_class.counts_itself, strict=True):
            rule = constraint.rule
            passes = within_skew(
                constraint.domains,
                counter.sums,
                constraint.eligible_domains,
                rule.max_skew,
                rule.min_domains,
                itself,
            )
            mask = passes if mask is None else mask & passes
        return np.ones(len(self._statics), dtype=np.bool_) if mask is None else mask


def _repelling_terms(affinity: PodAffinity) -> WeightedTerms:
    return [(1, term) for term in affinity.anti_required]


def _occupied(counters: Sequence[DomainCounter]) -> list[Mask]:
    """Of each counter that is not 0 for all domains: the nodes for whose domain it is."""
    return [counter.clear for counter in counters if counter.occupied]


def one_a_domain(
    affinity: PodAffinity,
    labels: Collection[PodLabels],
    rows: Ints,
    statics: NodeStatics,
    namespaces: Mapping[str, Namespace],
) -> int:
    """How many pods of one shape could be placed at once, given their required anti-affinity to each other.

    ``rows`` is int64[nodes]: how many of the pods each node could hold by other rules. Only terms that match all
    label sets in ``labels`` count; such a term allows one pod a topology domain.
    """
    least = int(rows.sum())
    for term in affinity.anti_required:
        if all(term_matches(term, one, namespaces) for one in labels):
            domains = topology(statics, term.topology_key)
            taken = np.unique(domains.ids[domains.present & (rows > 0)])
            least = min(least, len(taken) + int(rows[~domains.present].sum()))
    return least
