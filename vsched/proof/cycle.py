"""A cycle as the checker reads it: the cluster before, what was decided, and the cluster after."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import msgspec

from vsched.model.amounts.resources import PODS, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeAttributes
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot
from vsched.proof.minima import lacking

Sums = Counter[int]
"""Amounts by column, 0 where there is none."""
TAKING = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})
"""Actions that evict pods for others."""
MOVING = frozenset({"consolidate"})
"""Actions that move pods to other nodes, so that a job gets their room."""
WHOLE = frozenset({"gangpreempt", "gangreclaim"})
"""Those by which a whole gang may have to leave."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The actions and plugins of a policy, and those of their switches and arguments that rules depend on."""

    actions: tuple[str, ...]
    plugins: frozenset[str]
    checks: frozenset[str]
    """The arguments of ``predicates`` that are on, by their names there; none where it has no part in the policy."""
    starts_whole: bool
    """Whether ``gang`` says when a job may start (``enableJobReady`` and ``enableJobPipelined``)."""
    limits: frozenset[str]
    """Plugins that limit what queues hold (``enabledAllocatable``)."""
    protects_from_preempt: frozenset[str]
    """Plugins that have a say in who is preempted (``enablePreemptable``)."""
    protects_from_reclaim: frozenset[str]
    """The same of ``enableReclaimable``."""
    tree: bool
    """Whether ``capacity`` has a tree of queues (``enableHierarchy``)."""
    lenient: frozenset[str] = frozenset()
    """Actions with ``victimTiers: reference``: what one tier protects, a later one may name."""
    keeping: Mapping[str, frozenset[str]] = {}
    """By action: queues whose non-preemptible jobs keep all they have; ``*`` for all queues."""

    def protects(self, plugin: str, action: str) -> bool:
        """Whether a plugin protects from the evictions of an action, whatever the tiers."""
        protects = self.protects_from_reclaim if "reclaim" in action else self.protects_from_preempt
        return plugin in protects and action not in self.lenient


class Cycle:
    """A snapshot, the facts of a policy, and the report of what was decided."""

    def __init__(self, snapshot: Snapshot, facts: Facts, report: CycleReport) -> None:
        self.snapshot, self.facts, self.report = snapshot, facts, report
        self.jobs = snapshot.jobs
        self.nodes: dict[str, NodeAttributes] = {node.name: node for node in snapshot.nodes.statics.attributes}
        self.idle: dict[str, Sums] = defaultdict(Sums)
        """By node: what no pod held when the cycle began."""
        self.leaving: dict[str, Sums] = defaultdict(Sums)
        """By node: what pods held that were leaving; a slot of theirs is free only once they are gone."""
        idle, releasing = snapshot.nodes.idle.T.tolist(), snapshot.nodes.releasing.T.tolist()
        for row, name in enumerate(snapshot.nodes.statics.names):
            self.idle[name] = Counter(dict(enumerate(idle[row])))
            self.leaving[name] = Counter(dict(enumerate(releasing[row])))
            self.leaving[name][PODS] = 0
        jobs = (*self.jobs.values(), *snapshot.strays.values())
        self.tasks: dict[str, Task] = {task.uid: task for job in jobs for task in job.tasks.values()}
        self.bound: dict[str, str] = {bind.uid: bind.node for bind in report.binds}
        """By uid: the node that a pod was bound to."""
        decided = (one for one in report.evictions if one.uid in self.tasks)
        # Those that were asked to end before count as leaving since then.
        self.evicted: dict[str, Evict] = {one.uid: one for one in decided if self.tasks[one.uid].asked is None}
        told = {nomination.uid: nomination.node for nomination in report.nominations}
        nominated = {uid: task.nominated for key in snapshot.nominated for uid, task in self.jobs[key].pending.items()}
        kept = (nominated | told).items()
        self.reserved = {uid: node for uid, node in kept if node and uid not in self.bound}
        """By uid: the node on which room is kept for a waiting pod when the cycle ends.

        Nominations of the jobs of other shards are not decided on here.
        """
        self.bound_on, self.reserved_on = _turned(self.bound), _turned(self.reserved)
        self.evicted_from = _turned({uid: one.node for uid, one in self.evicted.items()})
        """By node: uids of pods that were bound there, that room is kept for, and that were evicted."""
        self.placed: dict[str, dict[str, str]] = defaultdict(dict)
        """By job: its pods that were bound, or for which room is kept, with their nodes."""
        for uid, node in (self.bound | self.reserved).items():
            self.placed[self.tasks[uid].job][uid] = node
        self.victims: dict[str, list[Task]] = {}
        """By the job that they leave for: the pods that were evicted for others, in the order decided."""
        for eviction, task in self.takings(moves=True):
            if eviction.beneficiary or eviction.action in TAKING:  # pods are moved for nobody as well
                self.victims.setdefault(eviction.beneficiary, []).append(task)
        self.moved_to = _turned({one.uid: one.to for one in self.evicted.values() if one.to})
        """By node: uids of pods that are moved there: it has room for their successors."""
        self.queues: object | None = None
        """What rules about queues have worked out (``queues.queues_of``)."""

    def takings(self, *, moves: bool = False) -> Iterator[tuple[Evict, Task]]:
        """The evictions for others, in the order decided; with ``moves``, also of pods that are moved for others."""
        actions = TAKING | MOVING if moves else TAKING
        return ((one, self.tasks[one.uid]) for one in self.evicted.values() if one.action in actions)

    @property
    def has_more_on_paper(self) -> bool:
        """Whether gangs may hold idle room, on paper, besides what reports tell of: some wait for what is leaving."""
        late = any(self.comes_before_allocate(one.action) for one in self.evicted.values())
        return late or any(map(any, (amounts.values() for amounts in self.leaving.values())))

    def comes_before_allocate(self, action: str) -> bool:
        """Whether an action decides before ``allocate`` binds pods."""
        actions = self.facts.actions
        return "allocate" in actions and action in actions[: actions.index("allocate")]

    def ready(self, job: Job, *, kept: bool = False, evicted: bool = False) -> list[Task]:
        """The pods that count for a job's minima after the cycle.

        With ``kept``, also those that room is kept for; with ``evicted``, also those that were evicted.
        """
        return [
            task
            for task in job.tasks.values()
            if (HOLDS[task.status].ready and (evicted or task.uid not in self.evicted))
            or task.uid in self.bound
            or (kept and task.uid in self.reserved)
        ]

    def short(self, key: str, *, kept: bool = False, evicted: bool = False) -> str:
        """What these pods lack of a job's minima, for people, where the policy asks for them; else empty."""
        job = self.jobs[key]
        return lacking(job, self.ready(job, kept=kept, evicted=evicted)) if self.facts.starts_whole else ""

    @cached_property
    def hollow(self) -> frozenset[str]:
        """Jobs that room is kept for, and that could not start with it: their room is nobody's."""
        return frozenset(key for key in {self.tasks[uid].job for uid in self.reserved} if self.short(key, kept=True))

    def sum_of(self, uids: Iterable[str]) -> Sums:
        """What these pods ask for together."""
        total = Sums()
        for uid in uids:
            add(total, self.tasks[uid].shape.request)
        return total

    def sums_on(self, nodes: Mapping[str, str]) -> dict[str, Sums]:
        """The same by node, of nodes by uid."""
        return {node: self.sum_of(uids) for node, uids in _turned(nodes).items()}

    def room_on(self, node: str, *, gone: bool = False, kept: bool = False) -> Sums:
        """What no pod holds on a node once what was bound is there; with ``gone``, once what is leaving has left.

        With ``kept``, less what room is kept for.
        """
        left = self.idle[node].copy()
        subtract(left, self.sum_of((*self.bound_on[node], *(self.reserved_on[node] if kept else ()))).items())
        if gone:
            add(left, self.leaving[node].items())
            add(left, self.sum_of(self.evicted_from[node]).items())
        return left

    def words(self, amounts: Mapping[int, int]) -> str:
        """Amounts for people: ``cpu 2, memory 1Gi``."""
        found = self.snapshot.axis.render(sorted(amounts.items()))
        return ", ".join(f"{name} {value}" for name, value in found.items()) or "nothing"


def _turned(nodes: Mapping[str, str]) -> dict[str, list[str]]:
    """Uids by node, of nodes by uid."""
    found: dict[str, list[str]] = defaultdict(list)
    for uid, node in nodes.items():
        found[node].append(uid)
    return found


def waits(task: Task) -> bool:
    """Whether a pod could be placed now, as far as it says itself."""
    return task.status is Status.PENDING and not task.gated and not task.unsupported
