"""Rules about the pods on nodes: host ports, required pod (anti-)affinity, hard topology spread. Not a plugin.

Answers as kube-scheduler's NodePorts, InterPodAffinity and PodTopologySpread filters do, for all nodes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.node_points import Check
from vsched.kernels.domains import HOSTNAME, Topology, domains_with, labelled_nodes, single_nodes, topology
from vsched.kernels.podaffinity import attracted, namespaces_of, term_matches
from vsched.kernels.ports import conflicts
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.spread import within_skew
from vsched.kernels.taints import tolerated_mask
from vsched.model.nodes import Mask, NodeStatics
from vsched.model.shape import PodAffinity, PodLabels, PodTerm, Rules, Shape, Spread
from vsched.model.snapshot import Snapshot
from vsched.model.task import Task
from vsched.plugins._carried import CarriedTerms, Signature, WeightedTerms
from vsched.plugins._pods import DomainCounter, PodsOnNodes

NO_PORTS = "node(s) didn't have free ports for the requested pod ports"
NO_AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"
SKEWED = "node(s) didn't match pod topology spread constraints"


class PodClass(NamedTuple):
    """What of a pod's labels and namespace decides besides its shape."""

    namespace: str = ""
    """Where spread constraints count, empty without them."""
    repelled_by: Signature = ()
    attracts_itself: bool = False
    """Its own required affinity means it."""
    counts_itself: tuple[bool, ...] = ()
    """For each hard spread constraint: whether it counts the pod."""


NO_CLASS = PodClass()


class Constraint(NamedTuple):
    """One spread constraint over the nodes."""

    rule: Spread
    domains: Topology
    eligible: Mask | None
    """bool[nodes]: nodes that count; None for all."""
    eligible_domains: Mask


class PodRules:
    """The rules of one cycle, current with its placements."""

    def __init__(self, snapshot: Snapshot, statics: NodeStatics, ports: bool, affinity: bool, spread: bool) -> None:
        self._statics = statics
        self._namespaces = snapshot.namespaces
        self._pods = PodsOnNodes(snapshot.placed, statics)
        self._repelling = CarriedTerms(snapshot.placed.repelling, _repelling_terms, snapshot.namespaces)
        self._ports = ports
        self._affinity = affinity
        self._spread = spread
        self._constraints: dict[Shape, tuple[Constraint, ...]] = {}

    def move(self, task: Task, row: int, by: int) -> None:
        """Take note of one placement, or of its undoing."""
        self._pods.move(task, row, by)
        affinity = task.shape.affinity
        if affinity is not None and by > 0:
            self._repelling.arrive(affinity, task.labels.namespace)

    def class_of(self, shape: Shape, labels: PodLabels) -> PodClass | None:
        """What besides the shape decides for a pod of these labels; None where nothing does."""
        repelled_by = self._repelling.signature(labels) if self._affinity and self._repelling else ()
        affinity = shape.affinity if self._affinity else None
        hard = hard_spread(shape) if self._spread else ()
        if not hard and affinity is None:
            return PodClass(repelled_by=repelled_by) if repelled_by else None
        required = affinity.required if affinity is not None else ()
        found = PodClass(
            labels.namespace if hard else "",
            repelled_by,
            bool(required) and all(term_matches(term, labels, self._namespaces) for term in required),
            tuple(_means(rule, labels) for rule in hard),
        )
        return None if found == NO_CLASS else found

    def concern(self, shape: Shape, pod_class: PodClass) -> bool:
        """Whether any of the rules can keep such a pod off a node."""
        affinity = shape.affinity
        return bool(
            (self._ports and shape.ports)
            or pod_class.repelled_by
            or (self._affinity and affinity is not None and (affinity.required or affinity.anti_required))
            or pod_class.counts_itself
        )

    def checks(self, shape: Shape, pod_class: PodClass) -> list[Check]:
        """One check a rule that some node may fail, in the order of kube-scheduler's filters.

        Masks follow later placements: they are good until the next one.
        """
        found: list[Check] = []
        if self._ports and shape.ports:
            self._free(found, NO_PORTS, Code.PORTS, self._port_counters(shape))
        affinity = shape.affinity if self._affinity else None
        if affinity is not None and affinity.required:
            attracting = self._attracted(shape, affinity, pod_class)
            found.append(Check(NO_AFFINITY, attracting, code=Code.POD_AFFINITY))
        if affinity is not None and affinity.anti_required:
            self._free(found, ANTI_AFFINITY, Code.POD_AFFINITY, self._own_counters(shape, affinity))
        if pod_class.repelled_by:
            self._free(found, REPELLED, Code.POD_AFFINITY, self._repelling_counters(pod_class.repelled_by))
        if pod_class.counts_itself:
            skewed = self._spread_mask(shape, pod_class)
            found.append(Check(SKEWED, skewed, resolvable=True, code=Code.SPREAD))
        return found

    def _free(self, found: list[Check], reason: str, code: Code, counters: Sequence[DomainCounter]) -> None:
        """A check that no counter has anything on the node; none where they have nothing anywhere."""
        busy = [counter.clear for counter in counters if counter.occupied]
        if busy:
            passes = busy[0] if len(busy) == 1 else np.logical_and.reduce(busy)
            found.append(Check(reason, passes, resolvable=True, code=code))

    # -- ports --------------------------------------------------------------------------------------------------

    def _port_counters(self, shape: Shape) -> list[DomainCounter]:
        return self._pods.counters(
            ("ports", shape),
            lambda: [self._pods.by_ports(single_nodes(self._statics), lambda held: conflicts(shape.ports, held))],
        )

    # -- pod affinity -------------------------------------------------------------------------------------------

    def _own_counters(self, shape: Shape, affinity: PodAffinity) -> list[DomainCounter]:
        """For each of the pod's own anti-affinity terms, the pods that it means."""
        return self._pods.counters(
            ("anti", shape), lambda: [self._meaning(term, (term,)) for term in affinity.anti_required]
        )

    def _meaning(self, term: PodTerm, terms: Sequence[PodTerm]) -> DomainCounter:
        """Pods in the domains of one term that all the terms mean."""
        selectors = [] if term.selector is None else [(term.selector, namespaces_of(term, self._namespaces))]
        return self._pods.by_labels(
            topology(self._statics, term.topology_key),
            selectors,
            lambda labels: int(all(term_matches(one, labels, self._namespaces) for one in terms)),
        )

    def _attracted(self, shape: Shape, affinity: PodAffinity, pod_class: PodClass) -> Mask:
        counters = self._pods.counters(
            ("required", shape), lambda: [self._meaning(term, affinity.required) for term in affinity.required]
        )
        return attracted(
            [(counter.domains, ~counter.clear) for counter in counters],
            found=any(counter.occupied for counter in counters),
            matches_itself=pod_class.attracts_itself,
        )

    def _repelling_counters(self, signature: Signature) -> list[DomainCounter]:
        """By topology, the pods whose anti-affinity means a pod of this signature."""
        return self._pods.counters(
            ("repelled", signature),
            lambda: [
                self._pods.by_carried(topology(self._statics, key), self._repelling.carriers(signature), weigh)
                for key, weigh in self._repelling.weights(signature)
            ],
        )

    # -- spread -------------------------------------------------------------------------------------------------

    def _spread_mask(self, shape: Shape, pod_class: PodClass) -> Mask:
        constraints = self._constraints.get(shape)
        if constraints is None:
            constraints = self._constraints[shape] = constraints_of(shape.rules, hard_spread(shape), self._statics)
        counters = self._pods.counters(
            ("spread", shape, pod_class.namespace),
            lambda: [spread_counter(self._pods, one, pod_class.namespace) for one in constraints],
        )
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


def hard_spread(shape: Shape) -> tuple[Spread, ...]:
    """Constraints that keep pods off nodes."""
    spread = shape.spread
    return tuple(rule for rule in spread if rule.hard) if spread else ()


def constraints_of(
    rules: Rules, group: tuple[Spread, ...], statics: NodeStatics, need_keys: bool = True
) -> tuple[Constraint, ...]:
    """The constraints of one group with their topologies and what counts for each; remembered with the nodes.

    Pods on nodes that lack a key of the group do not count, unless keys are not needed.
    """

    def compute() -> tuple[Constraint, ...]:
        return tuple(_constraint(rule, rules, group if need_keys else (), statics) for rule in group)

    return statics.remember(("spread", rules, group, need_keys), compute)


def _constraint(rule: Spread, rules: Rules, group: Sequence[Spread], statics: NodeStatics) -> Constraint:
    if not rule.hard and rule.topology_key == HOSTNAME:
        # A soft constraint by host name counts a node's own pods, whatever its policies.
        alone = labelled_nodes(statics, HOSTNAME)
        return Constraint(rule, alone, None, alone.present)
    domains = topology(statics, rule.topology_key)
    eligible = eligible_nodes(rule, rules, group, statics)
    return Constraint(rule, domains, eligible, domains_with(domains, eligible))


def eligible_nodes(rule: Spread, rules: Rules, group: Sequence[Spread], statics: NodeStatics) -> Mask | None:
    """bool[nodes]: nodes that count for a constraint, by its policies and the keys of its group; None for all."""
    mask: Mask | None = None
    masks = [topology(statics, one.topology_key).present for one in group]
    if rule.honours_node_affinity:
        allowed = affinity_mask(rules, statics)
        masks += [] if allowed is None else [allowed]
    if rule.honours_node_taints:
        allowed = tolerated_mask(statics, rules.tolerations)
        masks += [] if allowed is None else [allowed]
    for one in masks:
        mask = one if mask is None else mask & one
    return None if mask is None or mask.all() else mask


def spread_counter(pods: PodsOnNodes, constraint: Constraint, namespace: str) -> DomainCounter:
    """Pods that a constraint counts. An empty selector counts none, though it does mean the pod itself."""
    selector = constraint.rule.selector
    if selector is None or not selector.requirements:
        return pods.by_labels(constraint.domains, [], lambda _: 0, constraint.eligible)
    return pods.by_labels(
        constraint.domains,
        [(selector, frozenset((namespace,)))],
        lambda labels: int(labels.namespace == namespace and selector.matches(dict(labels.pairs))),
        constraint.eligible,
    )


def _means(rule: Spread, labels: PodLabels) -> bool:
    return rule.selector is not None and rule.selector.matches(dict(labels.pairs))


def _repelling_terms(affinity: PodAffinity) -> WeightedTerms:
    return [(1, term) for term in affinity.anti_required]
