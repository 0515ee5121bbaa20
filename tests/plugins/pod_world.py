"""Nodes and pods for tests of rules, and the same rules read out loud: node by node, pod by pod, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.extension import SessionContext
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.table import NodeAttributes, NodeStatics, NodeTable, Taint
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.selections import Selections
from vsched.model.pods.shape import PodLabels, PodTerm, Requirement, Selector, Shape, ShapeTable, Spread
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace
from vsched.model.snapshot import Snapshot

HOST = "kubernetes.io/hostname"
ZONE = "zone"
SYSTEM_ZONE = "topology.kubernetes.io/zone"
JOB = JobView(Job("ns/job", JobSpec("ns", "job")))


def app(*names: str) -> Selector:
    """Pods whose label ``app`` is one of these."""
    return Selector((Requirement("app", "In", names),))


def term(key: str, selector: Selector | None, *namespaces: str, wider: Selector | None = None) -> PodTerm:
    return PodTerm(key, selector, namespaces or (() if wider else ("ns",)), wider)


class Pod(NamedTuple):
    """A pod on a node, as the plain readings below see it."""

    labels: PodLabels
    shape: Shape
    node: str


class World:
    """Collects nodes and pods; ``opening`` is what a plugin gets to see."""

    def __init__(self) -> None:
        self.axis = ResourceAxis()
        self.shapes = ShapeTable()
        self.attributes: dict[str, NodeAttributes] = {}
        self.amounts: dict[str, dict[str, int]] = {}
        self.pods: list[Pod] = []
        self.namespaces = {
            "ns": Namespace("ns", labels=(("team", "red"),)),
            "other": Namespace("other", labels=(("team", "blue"),)),
        }
        self.selectors: dict[str, list[Selector]] = {}
        """What Services and workload controllers select, by namespace."""
        self._made = 0

    def node(
        self,
        name: str,
        labels: dict[str, str] | None = None,
        *taints: Taint,
        cordoned: bool = False,
        images: dict[str, int] | None = None,
        **amounts: int,
    ) -> World:
        self.attributes[name] = NodeAttributes(name, {HOST: name, **(labels or {})}, taints, cordoned, images or {})
        self.amounts[name] = {"cpu": 4000, "memory": 16 << 30, "pods": 110, **amounts}
        return self

    def shape(self, request: dict[str, int] | None = None, **rules: Any) -> Shape:
        amounts = {"pods": 1, **(request or {})}
        found = tuple(sorted((self.axis.column(name), value) for name, value in amounts.items() if value))
        return self.shapes.shape(found, **rules)

    def labels(self, namespace: str = "ns", **labels: str) -> PodLabels:
        return self.shapes.labels(namespace, labels)

    def pod(self, node: str, labels: PodLabels, shape: Shape | None = None) -> World:
        self.pods.append(Pod(labels, shape or self.shape(), node))
        return self

    def task(self, labels: PodLabels, shape: Shape) -> Task:
        self._made += 1
        name = f"pod-{self._made}"
        return Task(name, labels.namespace, name, "ns/job", shape, labels, Status.PENDING)

    def table(self) -> NodeTable:
        names = sorted(self.attributes)
        size = (len(self.axis), len(names))
        allocatable = np.zeros(size, dtype=np.int64)
        for row, name in enumerate(names):
            for resource, amount in self.amounts[name].items():
                if self.axis.column(resource) < size[0]:
                    allocatable[self.axis.column(resource), row] = amount
        statics = NodeStatics([self.attributes[name] for name in names])
        none = np.zeros(size, dtype=np.int64)
        scoring = np.zeros((2, len(names)), dtype=np.int64)
        return NodeTable(self.axis, statics, allocatable, allocatable.copy(), none, none.copy(), none.copy(), scoring)

    def opening(self) -> SessionContext:
        for amounts in self.amounts.values():
            for resource in amounts:
                self.axis.column(resource)
        placed = PlacedPods()
        for pod in self.pods:
            placed.shift(pod.labels, pod.shape, pod.node, 1)
        nodes = self.table()
        snapshot = Snapshot(
            now=0.0,
            axis=self.axis,
            nodes=nodes,
            jobs={},
            active=(),
            changed=(),
            nominated=(),
            holders={},
            queues={},
            books={},
            shares={},
            namespaces=self.namespaces,
            selections={name: Selections(selectors) for name, selectors in self.selectors.items()},
            placed=placed,
            total=(),
            used=(),
        )
        return SessionContext(snapshot, nodes, {}, SessionUsage(snapshot), lambda key: None)

    # -- the same rules in plain words ----------------------------------------------------------------------------

    def means(self, one: PodTerm, labels: PodLabels) -> bool:
        """Whether a term means a pod."""
        wider = one.namespace_selector
        in_namespace = labels.namespace in one.namespaces or (
            wider is not None and wider.matches(dict(self.namespaces[labels.namespace].labels))
        )
        return in_namespace and one.selector is not None and one.selector.matches(dict(labels.pairs))

    def together(self, node: str, key: str) -> list[Pod]:
        """Pods in the node's domain of a key; none where the node lacks it."""
        value = self.attributes[node].labels.get(key)
        if value is None:
            return []
        return [pod for pod in self.pods if self.attributes[pod.node].labels.get(key) == value]

    def affinity_allows(self, node: str, labels: PodLabels, shape: Shape) -> bool:
        affinity = shape.affinity
        here = self.attributes[node].labels
        if affinity is not None and affinity.required:
            required = affinity.required
            if any(one.topology_key not in here for one in required):
                return False

            def wanted(pod: Pod) -> bool:
                return all(self.means(one, pod.labels) for one in required)

            near = all(any(wanted(pod) for pod in self.together(node, one.topology_key)) for one in required)
            nowhere = not any(
                wanted(pod) and one.topology_key in self.attributes[pod.node].labels
                for pod in self.pods
                for one in required
            )
            itself = all(self.means(one, labels) for one in required)
            if not near and not (nowhere and itself):
                return False
        for one in affinity.anti_required if affinity is not None else ():
            if any(self.means(one, pod.labels) for pod in self.together(node, one.topology_key)):
                return False
        for pod in self.pods:
            for one in pod.shape.affinity.anti_required if pod.shape.affinity is not None else ():
                if self.means(one, labels) and pod in self.together(node, one.topology_key):
                    return False
        return True

    def ports_allow(self, node: str, shape: Shape) -> bool:
        held = [port for pod in self.pods if pod.node == node for port in pod.shape.ports]
        return not any(
            one.port == other.port
            and one.protocol == other.protocol
            and (one.ip == other.ip or "0.0.0.0" in (one.ip, other.ip))
            for one in shape.ports
            for other in held
        )

    def counts_for(self, rule: Spread, group: Iterable[Spread], node: str, selector: dict[str, str]) -> bool:
        """Whether a node counts for a constraint of a pod with this node selector and no tolerations."""
        attributes = self.attributes[node]
        if any(one.topology_key not in attributes.labels for one in group):
            return False
        if rule.honours_node_affinity and any(attributes.labels.get(key) != value for key, value in selector.items()):
            return False
        return not (
            rule.honours_node_taints and any(taint.effect in ("NoSchedule", "NoExecute") for taint in attributes.taints)
        )

    def matching(self, rule: Spread, labels: PodLabels, nodes: Iterable[str]) -> int:
        chosen = set(nodes)
        selector = rule.selector
        if selector is None or not selector.requirements:
            return 0
        return sum(
            pod.node in chosen and pod.labels.namespace == labels.namespace and selector.matches(dict(pod.labels.pairs))
            for pod in self.pods
        )

    def spread_allows(self, node: str, labels: PodLabels, shape: Shape) -> bool:
        hard = [rule for rule in shape.spread if rule.hard]
        selector = dict(shape.rules.node_selector)
        for rule in hard:
            value = self.attributes[node].labels.get(rule.topology_key)
            if value is None:
                return False
            by_domain: dict[str, list[str]] = {}
            for name, attributes in self.attributes.items():
                if self.counts_for(rule, hard, name, selector):
                    by_domain.setdefault(attributes.labels[rule.topology_key], []).append(name)
            counts = {domain: self.matching(rule, labels, names) for domain, names in by_domain.items()}
            fewest = min(counts.values(), default=0) if len(counts) >= rule.min_domains else 0
            itself = rule.selector is not None and rule.selector.matches(dict(labels.pairs))
            if counts.get(value, 0) + itself - fewest > rule.max_skew:
                return False
        return True

    def pod_affinity_score(self, labels: PodLabels, shape: Shape, candidates: list[str]) -> dict[str, int]:
        def weight_of(node: str) -> int:
            total = 0
            for pod in self.pods:
                for carrier, meant, sign in ((shape, pod.labels, 1), (pod.shape, labels, 1)):
                    affinity = carrier.affinity
                    if affinity is None:
                        continue
                    for factor, wishes in ((1, affinity.preferred), (-1, affinity.anti_preferred)):
                        for weight, one in wishes:
                            if self.means(one, meant) and pod in self.together(node, one.topology_key):
                                total += sign * factor * weight
            return total

        raw = {node: weight_of(node) for node in candidates}
        least, most = min(raw.values()), max(raw.values())
        return {
            node: int(100 * ((value - least) / (most - least))) if most > least else 0 for node, value in raw.items()
        }

    def default_spread(self, labels: PodLabels) -> list[Spread]:
        """kube-scheduler's constraints for a pod without any."""
        pod = dict(labels.pairs)
        merged = tuple(
            requirement
            for selector in self.selectors.get(labels.namespace, ())
            if selector.matches(pod)
            for requirement in selector.requirements
        )
        constraints = [Spread(HOST, 3, False, Selector(merged)), Spread(SYSTEM_ZONE, 5, False, Selector(merged))]
        return constraints if merged else []

    def soft_spread_score(self, labels: PodLabels, shape: Shape, candidates: list[str]) -> dict[str, int]:
        own = bool(shape.spread)
        soft = [rule for rule in shape.spread if not rule.hard] if own else self.default_spread(labels)
        selector = dict(shape.rules.node_selector)
        keys = [rule.topology_key for rule in soft] if own else []
        scored = [node for node in candidates if all(key in self.attributes[node].labels for key in keys)]
        raw = {}
        for node in scored:
            total = 0.0
            for rule in soft:
                value = self.attributes[node].labels.get(rule.topology_key)
                if value is None:
                    continue
                if rule.topology_key == HOST:
                    count, domains = self.matching(rule, labels, [node]), len(scored)
                else:
                    domains = len({self.attributes[one].labels.get(rule.topology_key) for one in scored})
                    count = self.matching(
                        rule,
                        labels,
                        [
                            name
                            for name, attributes in self.attributes.items()
                            if attributes.labels.get(rule.topology_key) == value
                            and self.counts_for(rule, soft if own else (), name, selector)
                        ],
                    )
                total += count * math.log(domains + 2) + (rule.max_skew - 1)
            raw[node] = math.floor(total + 0.5)
        most, least = max(raw.values(), default=0), min(raw.values(), default=0)
        return {
            node: 0 if node not in raw else 100 if most == 0 else 100 * (most + least - raw[node]) // most
            for node in candidates
        }
