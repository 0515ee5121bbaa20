"""The places of a session: its tiers, the domains that a job may use, and how many tasks fit in each.

Counts by domain are sums of vectors over nodes; nothing is placed to find them. Nothing is worked out until a job asks
for closeness, or a plugin scores nodes by where they are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.places import words
from vsched.framework.places.domains import Domain, Grouping, grouping, tier_of_label
from vsched.framework.places.look import DomainCounts, TierLook, ordered
from vsched.framework.places.pods_by_domain import PodsByDomain
from vsched.framework.places.task_sets import TaskKind, TaskSet, task_set_of
from vsched.framework.points.places import ClosenessScore, DomainScore, EvictionDomains, TierSource
from vsched.framework.refusal import Refusal
from vsched.framework.subgroups import AnyGroup, SubGroup
from vsched.kernels.topology.tiers import tiers_of
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Floats, Ints, Mask, NodeTable
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.hypernodes import TopologyCatalogue
from vsched.model.topology.tiers import NO_DOMAIN, Tier, Tiers

REASON = "NetworkTopology"
MOST_COUNTED = 1 << 32
"""Room on one node beyond this is not counted, so that sums stay exact."""
COUNTS_MAX = 64
"""The most kinds of tasks whose room is cached; the oldest goes first. At 5,000 nodes each takes 40 KB."""
EVICTION_DOMAINS = 8
"""How many domains are tried with evictions where no plugin says so."""


class PlacePlugins(NamedTuple):
    """The plugins that make tiers, and that score domains and nodes by where they are."""

    sources: Sequence[TierSource] = ()
    domain_scores: Sequence[DomainScore] = ()
    closeness: Sequence[ClosenessScore] = ()
    eviction_domains: Sequence[EvictionDomains] = ()


class Places:
    """Tiers and domains of one session."""

    def __init__(
        self,
        catalogue: TopologyCatalogue,
        nodes: NodeTable,
        journal: Sequence[int],
        selection: NodeSelection,
        plugins: PlacePlugins,
    ) -> None:
        self._catalogue = catalogue
        self._nodes = nodes
        self._journal = journal
        self._selection = selection
        self._plugins = plugins
        self._pods_by_domain: dict[Hashable, PodsByDomain] = {}
        self._rooms: dict[tuple[Hashable, bool], tuple[int, Ints]] = {}
        """Room on each node by kind of task, now or later, with the position in the journal that it is for."""
        self._sums: dict[tuple[Hashable, bool, Tier], tuple[int, Ints]] = {}
        """The same by domain."""

    @cached_property
    def tiers(self) -> Tiers:
        """All tiers of the cluster, closest first."""
        labels = [tier for source in self._plugins.sources for tier in source.label_tiers()]
        return tiers_of(self._catalogue, labels, self._nodes.statics)

    @property
    def eviction_domains(self) -> int:
        """How many domains may be tried when pods are evicted for a job."""
        return max((one.domains_to_free() for one in self._plugins.eviction_domains), default=EVICTION_DOMAINS)

    # -- what a job may use ---------------------------------------------------------------------------------------

    def allowed(self, topology: NetworkTopology) -> Sequence[Tier] | Refusal:
        """The tiers whose domains may hold pods with this topology, closest first; never empty.

        A refusal where the constraint is hard, and no tier meets it.
        """
        if topology.key:
            return (tier_of_label(self._nodes.statics, topology.key),)
        tiers, limit = self.tiers, topology.highest_tier
        if not topology.hard or (limit is None and not topology.tier_name):
            return tiers.tiers
        if topology.tier_name:
            limit = tiers.levels.get(topology.tier_name)
        if limit is None or tiers.is_flat or tiers.problem:
            found: tuple[Tier, ...] = ()
        else:
            found = tuple(one for one in tiers.tiers if one.level <= limit)
        return found or Refusal(REASON, words.no_tier(topology, tiers), code=Code.TOPOLOGY, lasting=not tiers.problem)

    def tiers_for(self, topology: NetworkTopology) -> Sequence[Tier]:
        """The tiers by which pods with this topology are counted, closest first: all, or that of a label."""
        return (tier_of_label(self._nodes.statics, topology.key),) if topology.key else self.tiers.tiers

    def pods_by_domain(self, job: JobView, topology: NetworkTopology, group: AnyGroup | None = None) -> PodsByDomain:
        """The pods with a node of a job, or of one of its sub-groups, by domain of the tiers of this topology."""
        key = job.key, topology.key, None if group is None else group.key
        found = self._pods_by_domain.get(key)
        if found is None:
            found = self._pods_by_domain[key] = PodsByDomain(self.tiers_for(topology), self._nodes.statics.row)
        return found.follow((job.node_changes or ()) if group is None else group.node_changes)

    def reach(self, topology: NetworkTopology, pods_by_domain: PodsByDomain) -> list[tuple[Tier, int | None]] | Refusal:
        """The allowed tiers, closest first, each with its one domain that holds all pods with a node.

        None in place of the domain where no pod has a node, so that any domain will do. Tiers of which no domain holds
        them all are left out; a refusal where none is left.
        """
        allowed = self.allowed(topology)
        if isinstance(allowed, Refusal):
            return allowed
        if not pods_by_domain.total:
            return [(tier, None) for tier in allowed]
        found: list[tuple[Tier, int | None]] = [
            (tier, domain) for at, tier in enumerate(allowed) if (domain := pods_by_domain.domain(at)) is not None
        ]
        return found or Refusal(REASON, words.apart(words.tier_words(allowed[-1])), code=Code.TOPOLOGY)

    def meets_topology(self, job: JobView) -> bool:
        """Whether the pods of a job with a node, pipelined ones included, are where its topology allows them.

        The same for each of its sub-groups.
        """
        if not self._allows(job, job.spec.topology, None):
            return False
        groups = job.sub_groups
        all_groups: tuple[AnyGroup, ...] = () if groups is None else (*groups.groups.values(), *groups.composites)
        return all(self._allows(job, group.topology, group) for group in all_groups)

    def _allows(self, job: JobView, topology: NetworkTopology | None, group: AnyGroup | None) -> bool:
        if topology is None or not topology.hard:
            return True
        return not isinstance(self.reach(topology, self.pods_by_domain(job, topology, group)), Refusal)

    def settled(self, job: JobView, *, waiting: bool = False) -> Domain | None:
        """The closest domain that holds all pods of a job that hold a node; None without such pods or domain.

        With ``waiting``, pipelined pods count too. None, too, for a job that does not ask for closeness, and where no
        tiers are known.
        """
        topology, key = job.spec.topology, ""
        if topology is None and not job.spec.sub_groups:
            return None
        if topology is not None:
            key = topology.key
        if not key and self.tiers.is_flat:
            return None
        allowed = (tier_of_label(self._nodes.statics, key),) if key else self.tiers.tiers
        return self._lowest(job, job.job.tasks.values(), allowed, waiting=waiting)

    def settled_groups(self, job: JobView, most: int) -> list[tuple[SubGroup, Domain]]:
        """The same for the first of its sub-groups, by key, that ask for closeness and have pods on nodes."""
        groups = job.sub_groups
        if groups is None:
            return []
        tasks: dict[SubGroup, list[Task]] = {}
        for uid, task in job.job.tasks.items():
            group, status = groups.of(task), job.moved[uid][0] if uid in job.moved else task.status
            if group.topology is not None and HOLDS[status].allocated:
                tasks.setdefault(group, []).append(task)
        found: list[tuple[SubGroup, Domain]] = []
        for group in sorted(tasks, key=lambda group: group.key)[:most]:
            key = "" if group.topology is None else group.topology.key
            if not key and self.tiers.is_flat:
                continue
            tiers = (tier_of_label(self._nodes.statics, key),) if key else self.tiers.tiers
            domain = self._lowest(job, tasks[group], tiers, waiting=False)
            if domain is not None:
                found.append((group, domain))
        return found

    def _lowest(self, job: JobView, tasks: Iterable[Task], tiers: Sequence[Tier], *, waiting: bool) -> Domain | None:
        """The closest domain of these tiers that holds all of these tasks that have a node."""
        pods_by_domain = PodsByDomain(tiers, self._nodes.statics.row)
        for task in tasks:
            status, node, _ = job.moved.get(task.uid, (task.status, task.node, task))
            if HOLDS[status].allocated or (waiting and HOLDS[status].reserves):
                pods_by_domain.count(node, 1)
        at = pods_by_domain.lowest()
        if at is None:
            return None
        number = pods_by_domain.domain(at)
        assert number is not None, "lowest is a tier with one domain"
        return self.domain(tiers[at], number)

    def domain(self, tier: Tier, number: int) -> Domain:
        """A domain by its position, with the rows that may be used at present."""
        rows, only = self.grouping(tier).rows(number), self._selection.restricted_to
        return Domain(tier, number, rows if only is None else rows[only[rows]])

    # -- what fits ------------------------------------------------------------------------------------------------

    def grouping(self, tier: Tier) -> Grouping:
        """The rows of a tier's domains."""
        return grouping(self._nodes.statics, tier)

    def task_set(self, tasks: Sequence[Task], wanted: int) -> TaskSet:
        """Tasks to place together, of which ``wanted`` are enough."""
        return task_set_of(tasks, wanted, self._selection.kind)

    def has_counted(self, task: Task) -> bool:
        """Whether the room for such tasks is known already, so that ``look`` costs little."""
        known = self._rooms.get((self._selection.kind(task), False))
        return known is not None and known[0] == len(self._journal)

    def look(self, task_set: TaskSet, tier: Tier, only: int | None, inside: Mapping[int, int]) -> TierLook:
        """The domains of a tier that may hold the tasks wanted, the best first; ``only`` looks at one alone.

        ``inside`` says how many pods of the job are in each domain.
        """
        counts = self._counts(task_set, tier, now=False)
        looked = np.flatnonzero(self._sizes(tier)) if only is None else np.array([only], dtype=np.int64)
        passes = counts.fits >= task_set.wanted
        if counts.enough is not None:
            passes &= counts.enough
        passing = looked[passes[looked]]
        if len(passing) > 1:
            pods = np.zeros(len(tier.domains), dtype=np.int64)
            for domain, count in inside.items():
                if domain != NO_DOMAIN:
                    pods[domain] = count
            now = self._counts(task_set, tier, now=True).fits if self._nodes.in_motion else None
            passing = ordered(passing, counts, now, task_set, pods, self._scores(task_set, tier, pods))
        return TierLook(tier, task_set.wanted, counts, looked, passing)

    def near_scores(self, topology: NetworkTopology, pods_by_domain: PodsByDomain) -> Floats | None:
        """float64[nodes]: how close nodes are to the job's pods with a node, by plugins; None for no scores."""
        at = pods_by_domain.lowest() if pods_by_domain.total and not topology.key else None
        domain = None if at is None else pods_by_domain.domain(at)
        if at is None or domain is None:
            return None
        total: Floats | None = None
        for one in self._plugins.closeness:
            scores = one.near_scores(self.tiers.tiers, at, domain, pods_by_domain.inside(0))
            if scores is not None:
                total = scores if total is None else total + scores
        return total

    def _sizes(self, tier: Tier) -> Ints:
        """int64[domains]: how many nodes of each domain may be used."""
        only, group = self._selection.restricted_to, self.grouping(tier)
        return group.sizes if only is None else group.sums(only.astype(np.int64))

    def _counts(self, task_set: TaskSet, tier: Tier, *, now: bool) -> DomainCounts:
        """How many of the tasks the domains hold, each domain alone: those with room now, or now and later."""
        room = self._sum(task_set.kinds[0], tier, now=now)
        fits = np.minimum(room, task_set.kinds[0].tasks)
        for one in task_set.kinds[1:]:
            fits = fits + np.minimum(self._sum(one, tier, now=now), one.tasks)
        return DomainCounts(fits, room, self._have_enough(task_set.least, tier) if task_set.least and not now else None)

    def _sum(self, kind: TaskKind, tier: Tier, *, now: bool) -> Ints:
        """int64[domains]: how many such tasks the nodes of each domain hold."""
        position = -1 if self._selection.restricted_to is not None else len(self._journal)
        known = self._sums.get((kind.kind, now, tier))
        if known is not None and known[0] == position:
            return known[1]
        found = self.grouping(tier).sums(self._room(kind, position, now=now))
        if position >= 0:
            _store(self._sums, (kind.kind, now, tier), (position, found))
        return found

    def _room(self, kind: TaskKind, position: int, *, now: bool) -> Ints:
        known = self._rooms.get((kind.kind, now))
        if known is not None and known[0] == position:
            return known[1]
        found: Ints = np.minimum(self._selection.rooms(kind.first, now=now), MOST_COUNTED)
        if position >= 0:
            _store(self._rooms, (kind.kind, now), (position, found))
        return found

    def _have_enough(self, least: Amounts, tier: Tier) -> Mask:
        """bool[domains]: whether these amounts are free, in sum over the nodes."""
        group, only = self.grouping(tier), self._selection.restricted_to
        enough = np.ones(len(tier.domains), dtype=np.bool_)
        for column, amount in least:
            free = np.maximum(self._nodes.future_idle(column), 0)
            enough &= group.sums(free if only is None else np.where(only, free, 0)) >= amount
        return enough

    def _scores(self, task_set: TaskSet, tier: Tier, pods: Ints) -> Floats | None:
        if not self._plugins.domain_scores:
            return None
        fractions, sums = pods / max(1, task_set.tasks + int(pods.sum())), self.grouping(tier).sums
        total = np.zeros(len(tier.domains))
        for one in self._plugins.domain_scores:
            total += one.domain_scores(task_set.request, self._nodes, sums, fractions)
        return total


KeyT = TypeVar("KeyT", bound=Hashable)


def _store(cache: dict[KeyT, tuple[int, Ints]], key: KeyT, value: tuple[int, Ints]) -> None:
    cache.pop(key, None)
    if len(cache) >= COUNTS_MAX:
        del cache[next(iter(cache))]
    cache[key] = value
