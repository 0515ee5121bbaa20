"""Soft topology spread: candidates with the fewest similar pods in their domains score highest. Not a plugin.

It scores as kube-scheduler's PodTopologySpread does with system defaulting. Pods with constraints of their own use the
soft ones (ScheduleAnyway). All other pods are spread over hosts and zones, among the pods that their Services and
owners select.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from vsched.kernels.domains import HOSTNAME, topology
from vsched.kernels.spread import candidate_domains, crowding, emptier_is_better, size_weight
from vsched.model.nodes.table import Floats, Mask, NodeStatics
from vsched.model.pods.shape import PodLabels, Selector, Shape, Spread
from vsched.model.snapshot import Snapshot
from vsched.plugins.pods.constraints import SpreadConstraint, constraints_of, spread_counter
from vsched.plugins.pods.pods import DomainCounter, PodsOnNodes

ZONE = "topology.kubernetes.io/zone"
SYSTEM_DEFAULTS = ((HOSTNAME, 3), (ZONE, 5))
"""kube-scheduler's default constraints (ScheduleAnyway) for pods without any: topology key and maxSkew."""


class ScoredConstraints(NamedTuple):
    """The constraints that one pod is scored by, and the nodes that they apply to."""

    key: Hashable
    """The key of its counters."""
    constraints: tuple[SpreadConstraint, ...]
    keyed: Mask | None
    """bool[nodes]: nodes with all topology keys; other nodes score 0. None for defaults: a missing key adds nothing."""


class SoftSpread:
    """The soft spread of one cycle; it follows the placements."""

    def __init__(self, snapshot: Snapshot, statics: NodeStatics, pods: PodsOnNodes) -> None:
        self._statics = statics
        self._pods = pods
        self._selections = snapshot.selections
        self.are_defaults = bool(snapshot.selections)
        """Whether pods may have default constraints."""
        self._own: dict[Shape, ScoredConstraints] = {}
        self._defaults: dict[tuple[Shape, int], ScoredConstraints] = {}
        """By shape and ``id`` of the rules."""
        self._rules: dict[tuple[str, Selector], tuple[Spread, ...]] = {}
        self._ruled: dict[int, tuple[PodLabels, tuple[Spread, ...]]] = {}
        """By ``id`` of labels: the labels themselves, which keep the id valid, and their default rules."""

    def concerns(self, shape: Shape, labels: PodLabels) -> bool:
        """Whether such a pod has soft constraints: its own or default ones."""
        if shape.spread:
            return any(not rule.hard for rule in shape.spread)
        return labels.namespace in self._selections and bool(self._default_rules(labels))

    def score(self, shape: Shape, labels: PodLabels, candidates: Mask) -> Floats | None:
        """float64[nodes], 0 to 100; None where the pod has no such constraint."""
        group = self._group(shape, labels)
        if group is None:
            return None
        constraints, counters = group.constraints, self._counters(group, labels.namespace)
        scored = candidates if group.keyed is None else candidates & group.keyed
        raw = np.zeros(len(self._statics))
        for constraint, counter in zip(constraints, counters, strict=True):
            domains = constraint.domains
            # Candidates without the key count as one more domain; only default constraints admit them.
            size = int(np.count_nonzero(scored if domains.size == len(scored) else candidate_domains(domains, scored)))
            raw += crowding(domains, counter.sums, size_weight(size), constraint.rule.max_skew)
        return emptier_is_better(raw, scored)

    def counters(self, shape: Shape, labels: PodLabels) -> list[DomainCounter]:
        """Counters of the pods that its constraints are about."""
        group = self._group(shape, labels)
        return [] if group is None else self._counters(group, labels.namespace)

    def _counters(self, group: ScoredConstraints, namespace: str) -> list[DomainCounter]:
        return self._pods.counters(
            (group.key, namespace),
            lambda: [spread_counter(self._pods, one, namespace) for one in group.constraints],
        )

    def _group(self, shape: Shape, labels: PodLabels) -> ScoredConstraints | None:
        return self._own_group(shape) if shape.spread else self._default_group(shape, labels)

    def _own_group(self, shape: Shape) -> ScoredConstraints | None:
        soft = tuple(rule for rule in shape.spread if not rule.hard)
        if not soft:
            return None
        found = self._own.get(shape)
        if found is None:
            keys = [topology(self._statics, rule.topology_key).present for rule in soft]
            constraints = constraints_of(shape.rules, soft, self._statics)
            found = self._own[shape] = ScoredConstraints(("soft", shape), constraints, np.logical_and.reduce(keys))
        return found

    def _default_group(self, shape: Shape, labels: PodLabels) -> ScoredConstraints | None:
        rules = self._default_rules(labels) if labels.namespace in self._selections else ()
        if not rules:
            return None
        key = (shape, id(rules))
        found = self._defaults.get(key)
        if found is None:
            constraints = constraints_of(shape.rules, rules, self._statics, need_keys=False)
            found = self._defaults[key] = ScoredConstraints(("default", *key), constraints, None)
        return found

    def _default_rules(self, labels: PodLabels) -> tuple[Spread, ...]:
        """The default constraints; label sets that the same selectors match share one object."""
        ruled = self._ruled.get(id(labels))
        if ruled is None:
            ruled = self._ruled[id(labels)] = (labels, self._made_rules(labels))
        return ruled[1]

    def _made_rules(self, labels: PodLabels) -> tuple[Spread, ...]:
        # kube-scheduler finds the owner by its reference; here labels are matched. Both give the same result: a
        # controller selects its pods, and adopts all other pods it selects unless they have another controller.
        selector = self._selections[labels.namespace].merged(labels)
        if selector is None:
            return ()
        made = tuple(Spread(key, max_skew, False, selector) for key, max_skew in SYSTEM_DEFAULTS)
        return self._rules.setdefault((labels.namespace, selector), made)
