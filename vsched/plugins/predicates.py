"""predicates: filters the nodes that a pod may run on; resource amounts are checked elsewhere.

Node name, cordons, taints, node selector and node affinity depend on node attributes only, so their results are cached
until the attributes change. Host ports, pod (anti-)affinity and hard topology spread follow the placements of the
cycle. The number of pods on a node is a resource like any other (``pods``). Volumes and devices are checked by the
engine (``framework.claims``), by the arguments of this plugin.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Self

import msgspec
import numpy as np

from vsched.framework.claims.handler import ClaimRules, VolumeScoring
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import Check, NodeFilter
from vsched.framework.points.terms import PlacementTerm, Term
from vsched.framework.points.victims import Rehearsing
from vsched.framework.policy import inert
from vsched.framework.words import nodes as words
from vsched.kernels.domains import topology
from vsched.kernels.selectors import node_mask, selector_mask
from vsched.kernels.taints import REPELLING, UNSCHEDULABLE, cordoned, is_tolerated, taint_lists, untolerated
from vsched.model.nodes.table import Ints, Mask, NodeStatics, NodeTable
from vsched.model.pods.shape import PodLabels, Rules, Shape
from vsched.model.pods.task import Task
from vsched.plugins.pods.constraints import effective, hard_spread
from vsched.plugins.pods.rules import NO_CLASS, PodClass, PodRules, one_a_domain
from vsched.plugins.words import arguments
from vsched.plugins.words.nodes import OTHER_NODE


class ShapePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A point of the curve that turns the utilisation of storage into a score."""

    utilization: Annotated[int, msgspec.Meta(ge=0, le=100)]
    """Per cent of the storage that the pod would use."""
    score: Annotated[int, msgspec.Meta(ge=0, le=10)]


class PredicatesArgs(msgspec.Struct, frozen=True):
    """Which checks are made. Cordons are always looked at."""

    node_affinity: bool = msgspec.field(default=True, name="predicate.NodeAffinityEnable")
    """Node selector, node affinity and the node they pin by name."""
    node_ports: bool = msgspec.field(default=True, name="predicate.NodePortsEnable")
    taint_toleration: bool = msgspec.field(default=True, name="predicate.TaintTolerationEnable")
    pod_affinity: bool = msgspec.field(default=True, name="predicate.PodAffinityEnable")
    pod_topology_spread: bool = msgspec.field(default=True, name="predicate.PodTopologySpreadEnable")
    cache: Annotated[bool, inert(arguments.CACHE_INERT)] = msgspec.field(default=False, name="predicate.CacheEnable")
    node_volume_limits: bool = msgspec.field(default=True, name="predicate.NodeVolumeLimitsEnable")
    """How many volumes of a CSI driver a node can attach."""
    volume_zone: bool = msgspec.field(default=True, name="predicate.VolumeZoneEnable")
    """Zones and regions in the labels of volumes."""
    volume_binding: bool = msgspec.field(default=True, name="predicate.VolumeBindingEnable")
    """Where volumes can be used; also, volumes are chosen or made for claims that wait for their first pod."""
    dynamic_resources: bool = msgspec.field(default=True, name="predicate.DynamicResourceAllocationEnable")
    """Resource claims: the devices for them are chosen, reserved and written before pods are bound."""
    bind_timeout_seconds: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(
        default=600, name="volumebinding.bindTimeoutSeconds"
    )
    """How long volumes may take to be bound before a gang gives everything back."""
    volume_weight: Annotated[int, msgspec.Meta(ge=0)] | None = msgspec.field(default=None, name="volumebinding.weight")
    """The weight of the score by the storage that the pod's volumes would use; 0 turns it off. Nodes have this score
    only where the policy gives a weight or a shape; the weight is 1 where it gives a shape alone."""
    volume_shape: list[ShapePoint] = msgspec.field(default_factory=list, name="volumebinding.shape")
    """How utilisation is scored: points of ascending utilisation. Without any, the default of kube-scheduler."""
    claim_timeout_seconds: Annotated[int, msgspec.Meta(ge=0)] = msgspec.field(
        default=10, name="dynamicresources.filterTimeoutSeconds"
    )
    """Bounds the exact search for devices on one node; 0 means no bound. A second stands for a number of steps."""

    def normalised(self) -> Self:
        """The same; raises ValueError where the points of the curve are not in order."""
        points = [point.utilization for point in self.volume_shape]
        if any(later <= earlier for earlier, later in itertools.pairwise(points)):
            raise ValueError(arguments.utilizations_fall(points))
        return self

    def claim_rules(self) -> ClaimRules:
        """The rules for claims by these arguments."""
        return ClaimRules(
            volume_binding=self.volume_binding,
            volume_zones=self.volume_zone,
            volume_limits=self.node_volume_limits,
            devices=self.dynamic_resources,
            bind_seconds=float(self.bind_timeout_seconds),
            search_seconds=float(self.claim_timeout_seconds),
            scoring=self._volume_scoring(),
        )

    def _volume_scoring(self) -> VolumeScoring | None:
        points = tuple((point.utilization, point.score) for point in self.volume_shape)
        if self.volume_weight is None:
            return VolumeScoring(shape=points) if points else None
        return VolumeScoring(self.volume_weight, points)


_CHECKS: Mapping[Term, Callable[[PredicatesArgs], bool]] = {
    PlacementTerm.NODES: lambda args: args.node_affinity,
    PlacementTerm.PORTS: lambda args: args.node_ports,
    PlacementTerm.PODS: lambda args: args.pod_affinity,
    PlacementTerm.SPREAD: lambda args: args.pod_topology_spread,
    PlacementTerm.VOLUMES: lambda args: args.volume_binding,
    PlacementTerm.DEVICES: lambda args: args.dynamic_resources,
}
"""What pods may require, and whether it is looked at."""


class Predicates(Plugin[PredicatesArgs], NodeFilter, PlacementListener, Rehearsing):
    """Filters nodes as kube-scheduler does, by a shape's rules and by the pods already placed.

    With both ``enablePreemptable`` and ``enabledAllocatable`` off, topology-aware preemption compares nodes as if no
    pod had left them.
    """

    name = "predicates"
    timeless = True
    by_nodes_alone = True
    args_type = PredicatesArgs
    heeds = frozenset({"preemptable", "allocatable"})
    terms = frozenset(_CHECKS)

    @classmethod
    def acts_on(cls, args: PredicatesArgs) -> frozenset[Term]:
        """The terms whose checks are made."""
        return frozenset(term for term, made in _CHECKS.items() if made(args))

    def open(self, context: SessionContext) -> None:
        """Begin a session; taints are read, and pods counted, at the first rule that needs them."""
        args, self._snapshot = self.args, context.snapshot
        self._statics, self._namespaces = context.nodes.statics, context.snapshot.namespaces
        self._blind_in_rehearsals = not (context.switches.preemptable or context.switches.allocatable)
        self._blind = False
        """Whether moves of pods are ignored for now."""
        self._switches = (args.node_affinity, args.taint_toleration)

    @cached_property
    def _rules(self) -> PodRules:
        args = self.args
        return PodRules(self._snapshot, self._statics, args.node_ports, args.pod_affinity, args.pod_topology_spread)

    @cached_property
    def _all_welcome(self) -> bool:
        """Whether no node has a cordon or a taint that counts."""
        statics, by_taints = self._statics, self.args.taint_toleration
        return statics.remember(("all welcome", by_taints), lambda: _all_welcome(statics, by_taints))

    # -- by attributes of nodes ---------------------------------------------------------------------------------

    def static_checks(self, shape: Shape, nodes: NodeTable) -> Sequence[Check]:
        """The checks that some node fails, in kube-scheduler's order; cached with the nodes' attributes."""
        rules = shape.rules
        hard = hard_spread(shape) if shape.spread and self.args.pod_topology_spread else ()
        if (
            self._all_welcome
            and not hard
            and not rules.node_selector
            and rules.required is None
            and not rules.node_name
        ):
            return ()
        keys = tuple(dict.fromkeys(rule.topology_key for rule in hard))
        statics = nodes.statics
        return statics.remember(
            ("predicates", self._switches, rules, keys), lambda: self._static_checks(rules, keys, statics)
        )

    def _static_checks(self, rules: Rules, keys: tuple[str, ...], statics: NodeStatics) -> tuple[Check, ...]:
        found: list[tuple[str, Code, Mask]] = []
        if not is_tolerated(UNSCHEDULABLE, rules.tolerations):
            found.append((words.CORDONED, Code.CORDONED, ~cordoned(statics)))
        if self.args.node_affinity and rules.node_name:
            found.append((OTHER_NODE, Code.SELECTOR, node_mask(rules.node_name, statics)))
        if self.args.taint_toleration:
            for taint, passes in untolerated(statics, rules.tolerations):
                found.append((words.tainted(taint.key, taint.value), Code.TAINTS, passes))
        selected = selector_mask(rules, statics) if self.args.node_affinity else None
        if selected is not None:
            found.append((words.NOT_SELECTED, Code.SELECTOR, selected))
        if keys:
            present = np.logical_and.reduce([topology(statics, key).present for key in keys])
            found.append((words.NO_TOPOLOGY, Code.SPREAD, present))
        return effective(found)

    # -- by the pods on nodes -----------------------------------------------------------------------------------

    def task_class(self, task: Task) -> Hashable:
        """What the rules need of the labels. Placing pods with anti-affinity may change it: ask for each task."""
        return self._rules.class_of(task.shape, task.labels)

    def reads_labels(self, shape: Shape) -> bool:
        """Whether it has rules about other pods, or other pods have rules about any."""
        return self._rules.reads_labels(shape)

    def is_dynamic(self, shape: Shape, task_class: Hashable) -> bool:
        """Whether host ports, pod affinity or hard spread could rule out nodes for such a pod."""
        return self._rules.concern(shape, _pod_class(task_class))

    def dynamic_checks(self, shape: Shape, task_class: Hashable, nodes: NodeTable) -> Sequence[Check]:
        """Checks by the pods now on nodes; the masks are valid until the next placement."""
        return self._rules.checks(shape, _pod_class(task_class))

    def dynamic_state(self, shape: Shape, task_class: Hashable) -> bytes:
        """The counts of the pods that its rules are about."""
        return self._rules.state(shape, _pod_class(task_class))

    def most_together(self, shape: Shape, labels: Collection[PodLabels], rows: Ints) -> int:
        """At most one pod a node if the shape has host ports, and one a domain if the pods have anti-affinity."""
        if self.args.node_ports and shape.ports:
            rows = np.minimum(rows, 1)
        if not self.args.pod_affinity or shape.affinity is None:
            return int(rows.sum())
        return one_a_domain(shape.affinity, labels, rows, self._statics, self._namespaces)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Count one more pod on the node."""
        if not self._blind:
            self._rules.move(task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Count one pod less on the node."""
        if not self._blind:
            self._rules.move(task, row, -1)

    @property
    def is_blind(self) -> bool:
        """Whether both switches are off that concern these tries."""
        return self._blind_in_rehearsals

    def rehearse(self, begins: bool) -> None:
        """Ignore moves during a rehearsal, if so configured; the rehearsal undoes all its moves before it ends."""
        self._blind = begins and self._blind_in_rehearsals


def _all_welcome(statics: NodeStatics, by_taints: bool) -> bool:
    is_tainted = by_taints and len(taint_lists(statics, REPELLING).lists) > 1
    return not is_tainted and not cordoned(statics).any()


def _pod_class(task_class: Hashable) -> PodClass:
    return task_class if isinstance(task_class, PodClass) else NO_CLASS
