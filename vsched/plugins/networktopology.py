"""network-topology-aware: prefers fuller domains, and nodes that are close to a job's other pods.

It also makes tiers of node labels. Whether the pods of a job have to be close to each other does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.places.domains import grouping
from vsched.framework.points.extension import PlacementListener, Plugin, SessionContext
from vsched.framework.points.nodes import TaskScore
from vsched.framework.points.places import ClosenessScore, DomainScore, EvictionDomains, SumByDomain, TierSource
from vsched.kernels.topology.packing import closeness, faded, fullness, with_share
from vsched.kernels.topology.tiers import tiers_of
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import NO_DOMAIN, Floats, Mask, NodeTable
from vsched.model.pods.task import Task
from vsched.model.topology.tiers import LabelTier, Tier
from vsched.plugins.pods.weights import by_resource, lenient
from vsched.plugins.words import arguments

POINTS = 100.0
"""The highest score, before the weight."""
FADING, DOMAINS_TO_FREE = 0.8, 8


class LabelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A label of nodes as a tier, with its number and name."""

    key: str
    tier: int | None = None
    """Its place in the list, from 1, where not given."""
    name: str = msgspec.field(default="", name="tierName")
    """The key where not given."""


class NetworkTopologyArgs(msgspec.Struct, frozen=True):
    """Weights, and labels that make tiers; a negative weight of a resource means 1, and 0 leaves it out."""

    weight: int = 1
    """Of all scores; 0 leaves only the tiers."""
    cpu: int = msgspec.field(default=1, name="hypernode.binpack.cpu")
    memory: int = msgspec.field(default=1, name="hypernode.binpack.memory")
    resources: str = msgspec.field(default="", name="hypernode.binpack.resources")
    """Further resources, by name, comma-separated; others than these, cpu and memory do not count."""
    resource_weights: dict[str, int] = msgspec.field(default_factory=dict, name="hypernode.binpack.resources.*")
    """Weights of the further resources, 1 where not given."""
    normal_pods: bool = msgspec.field(default=True, name="hypernode.binpack.normal-pod.enable")
    """Whether pods of jobs without networkTopology prefer fuller domains too."""
    fading: float = msgspec.field(default=FADING, name="hypernode.binpack.normal-pod.fading")
    """The weight of a tier for such pods, as a part of the weight of the next closer one."""
    domains_to_free: int = msgspec.field(default=DOMAINS_TO_FREE, name="hypernode.gradient.evict.max-hypernodes")
    """The most domains that are tried when pods are evicted for a job; less than 1 means the default."""
    labels: list[str | LabelEntry] = msgspec.field(default_factory=list, name="hypernode.labels")
    """Labels of nodes as tiers, the closest first."""

    def normalised(self) -> Self:
        """The same with defaults in place of numbers that make no sense. Raises ValueError for bad labels."""
        for position, entry in enumerate(self._entries()):
            if not entry.key:
                raise ValueError(arguments.label_without_key(position))
        levels = [tier.level for tier in self.label_tiers()]
        if any(level < 0 for level in levels):
            raise ValueError(arguments.tier_below_zero(min(levels)))
        if sorted(set(levels)) != levels:
            raise ValueError(arguments.TIERS_FALL)
        keys = [tier.key for tier in self.label_tiers()]
        if len(set(keys)) != len(keys):
            raise ValueError(arguments.LABEL_TWICE)
        return msgspec.structs.replace(
            self,
            cpu=lenient(self.cpu),
            memory=lenient(self.memory),
            resource_weights={name: lenient(weight) for name, weight in self.resource_weights.items()},
            fading=self.fading if self.fading >= 0 else FADING,
            domains_to_free=self.domains_to_free if self.domains_to_free >= 1 else DOMAINS_TO_FREE,
        )

    def label_tiers(self) -> tuple[LabelTier, ...]:
        """The labels as tiers, closest first."""
        return tuple(
            LabelTier(entry.key, position if entry.tier is None else entry.tier, entry.name or entry.key)
            for position, entry in enumerate(self._entries(), start=1)
        )

    def by_resource(self) -> dict[str, int]:
        """The weight of every resource that counts."""
        return by_resource(self.cpu, self.memory, self.resources, self.resource_weights)

    def _entries(self) -> Iterator[LabelEntry]:
        for entry in self.labels:
            yield LabelEntry(entry) if isinstance(entry, str) else entry


class NetworkTopologyAware(
    Plugin[NetworkTopologyArgs],
    TierSource,
    EvictionDomains,
    DomainScore,
    ClosenessScore,
    TaskScore,
    PlacementListener,
):
    """Scores domains by how full they would be, and nodes by how close they are."""

    name = "network-topology-aware"
    args_type = NetworkTopologyArgs

    def open(self, context: SessionContext) -> None:
        """Look up the weights by column; nothing is summed up before the first score."""
        self._context = context
        axis = context.nodes.axis
        columns = ((axis.find(name), weight) for name, weight in self.args.by_resource().items())
        self._weights = {
            column: weight
            for column, weight in columns
            if column is not None and weight and column < context.nodes.width
        }
        self._tiers: Sequence[Tier] | None = None
        self._used: dict[tuple[int, int], Floats] = {}
        """By position of a tier and column: float64[domains], kept current by the listener."""
        self._has: dict[tuple[int, int], Floats] = {}

    def label_tiers(self) -> Sequence[LabelTier]:
        """Those of the arguments."""
        return self.args.label_tiers()

    def domains_to_free(self) -> int:
        """That of the arguments."""
        return self.args.domains_to_free

    # -- jobs that ask for closeness --------------------------------------------------------------------------------

    def domain_scores(self, request: Amounts, nodes: NodeTable, by_domain: SumByDomain, inside: Floats) -> Floats:
        """How full each domain would be; of the fullest, the one with more of the job's pods is better."""
        counted = self._counted(request)
        if not counted or not self.args.weight:
            return with_share(0.0 * inside, inside) * POINTS * self.args.weight
        used = [by_domain(nodes.requested[column]).astype(float) for column, _, _ in counted]
        has = [by_domain(nodes.allocatable[column]).astype(float) for column, _, _ in counted]
        scores = fullness(used, has, [amount for _, amount, _ in counted], [weight for *_, weight in counted])
        return with_share(scores, inside) * POINTS * self.args.weight

    def near_scores(self, tiers: Sequence[Tier], tier: int, domain: int, inside: Mapping[int, int]) -> Floats | None:
        """1 for the closest nodes, 0 for those that share nothing but the cluster."""
        return closeness(tiers, tier, domain, inside) * POINTS * self.args.weight if self.args.weight else None

    # -- other pods -------------------------------------------------------------------------------------------------

    def scores_task(self, task: Task) -> bool:
        """Whether it belongs to a job that does not ask for closeness, and there are tiers."""
        if not self.args.normal_pods or not self.args.weight or not self._known_tiers():
            return False
        job = self._context.job_state(task.job)
        return job is None or job.spec.topology is None

    def task_score(self, task: Task, nodes: NodeTable, candidates: Mask) -> Floats | None:
        """How full the domains of each node would be; wider tiers count less."""
        counted, tiers = self._counted(task.shape.request), self._known_tiers()
        if not counted:
            return None
        asked, weights = [amount for _, amount, _ in counted], [weight for *_, weight in counted]
        parts = [
            fullness(
                [self._sum(self._used, position, column, nodes) for column, _, _ in counted],
                [self._sum(self._has, position, column, nodes) for column, _, _ in counted],
                asked,
                weights,
            )
            for position in range(len(tiers))
        ]
        return faded(parts, tiers, self.args.fading) * POINTS * self.args.weight

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Count what the task uses."""
        self._move(task, row, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Stop counting it."""
        self._move(task, row, -1)

    def _move(self, task: Task, row: int, sign: int) -> None:
        if not self._used:
            return
        tiers, request = self._known_tiers(), dict(task.shape.request)
        for (position, column), sums in self._used.items():
            domain = tiers[position].ids[row]
            if column in request and domain != NO_DOMAIN:
                sums[domain] += sign * request[column]

    def _known_tiers(self) -> Sequence[Tier]:
        """All tiers but the whole cluster."""
        if self._tiers is None:
            nodes = self._context.nodes
            self._tiers = tiers_of(self._context.snapshot.topology, self.args.label_tiers(), nodes.statics).tiers[:-1]
        return self._tiers

    def _sum(self, sums: dict[tuple[int, int], Floats], position: int, column: int, nodes: NodeTable) -> Floats:
        found = sums.get((position, column))
        if found is None:
            tier, values = self._known_tiers()[position], nodes.requested if sums is self._used else nodes.allocatable
            found = sums[position, column] = grouping(nodes.statics, tier).sums(values[column]).astype(float)
        return found

    def _counted(self, request: Amounts) -> list[tuple[int, int, int]]:
        """Column, amount and weight of what is requested and counts."""
        return [(column, amount, self._weights[column]) for column, amount in request if column in self._weights]
