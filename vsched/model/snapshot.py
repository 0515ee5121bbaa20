"""The snapshot: a consistent view of the cluster for one cycle, with sums that would be costly to compute again.

A snapshot is valid until the mirror makes the next one: amounts are copied, records are shared, and the mirror updates
the maps in place. A cycle never writes to the snapshot; it copies the node table before it places pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from vsched.model.amounts.counted import Counted
from vsched.model.amounts.resources import ResourceAxis, Vector
from vsched.model.arbitration.records import Arbitration, Ceiling, PoolLimits
from vsched.model.claims.catalogue import NO_CLAIMS, ClaimCatalogue
from vsched.model.deviceshare.records import NO_SHARED_DEVICES, DeviceShareCatalogue
from vsched.model.history.records import NO_HISTORY, UsageHistory
from vsched.model.jobs.advice import Advice
from vsched.model.jobs.budget import DisruptionBudget
from vsched.model.jobs.durations import Learnt
from vsched.model.jobs.job import Job
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.jobs.runs import Run, RunClass
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.pools import NodePool
from vsched.model.nodes.table import NodeTable
from vsched.model.nodes.zones import NO_ZONES, ZoneCatalogue
from vsched.model.pods.placed import PlacedPods
from vsched.model.pods.selections import Selections
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Namespace, PriorityClass, Queue
from vsched.model.queues.quota import Quota
from vsched.model.topology.hypernodes import NO_TOPOLOGY, TopologyCatalogue


@dataclass(slots=True)
class QueueUsage:
    """Sums over the jobs of one queue, base units by column."""

    jobs: int = 0
    """The number of jobs in the queue."""
    allocated: Vector = field(default_factory=dict)
    pending: Vector = field(default_factory=dict)
    elastic: Vector = field(default_factory=dict)
    inqueue: Vector = field(default_factory=dict)
    promised: Vector = field(default_factory=dict)

    def copy(self) -> QueueUsage:
        """A copy that may be changed."""
        return QueueUsage(
            self.jobs,
            self.allocated.copy(),
            self.pending.copy(),
            self.elastic.copy(),
            self.inqueue.copy(),
            self.promised.copy(),
        )


@dataclass(slots=True, weakref_slot=True)
class Snapshot:
    """The cluster as one cycle sees it; nobody sets a field.

    It is not declared frozen, because each cycle makes one: with so many fields that takes a frozen one ten times as
    long.
    """

    now: float
    """Seconds since the epoch. A cycle uses no other clock."""
    axis: ResourceAxis
    nodes: NodeTable
    jobs: Mapping[str, Job]
    """All jobs by key, including those without work."""
    active: Sequence[str]
    """Keys of jobs that a cycle may act on: the PodGroup is not admitted yet, or tasks are pending."""
    changed: Sequence[str]
    """Keys of jobs that changed since the last snapshot: their status may have to be written."""
    nominated: Sequence[str]
    """Keys of jobs with nominated pending tasks (a node is reserved for them), sorted."""
    holders: Mapping[str, Mapping[str, Job]]
    """Jobs with bound or running tasks, by queue, then by key."""
    queues: Mapping[str, Queue]
    books: Mapping[str, QueueUsage]
    """Sums over jobs, by queue name; only queues with jobs."""
    shares: Mapping[tuple[str, str], Vector]
    """Allocated amounts of each namespace in each queue, by (queue, namespace)."""
    namespaces: Mapping[str, Namespace]
    selections: Mapping[str, Selections]
    """Selectors of Services and workload controllers, by namespace; only namespaces with any."""
    placed: PlacedPods
    total: Sequence[int]
    """Allocatable amounts of all nodes together, by column."""
    used: Sequence[int]
    """Used amounts of all nodes together, by column."""
    previous: float = 0.0
    """``now`` of the previous snapshot, 0 if there was none; work done only once per period is due by it."""
    budgets: Mapping[str, Sequence[DisruptionBudget]] = field(default_factory=dict)
    """PodDisruptionBudgets that select pods, by namespace."""
    quotas: Mapping[str, Sequence[Quota]] = field(default_factory=dict)
    """ResourceQuotas without scopes, by namespace."""
    priority_range: tuple[int, int] = (0, 0)
    """The lowest and the highest priority of jobs and queues here; queue scores are scaled by them."""
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    """The classes behind ``priority_range`` and jobs' priorities, by name; the same object while none changes."""
    admitted: Sequence[str] = ()
    """Keys of admitted jobs that do not hold all they were admitted for, sorted."""
    reserving: Sequence[str] = ()
    """Keys of jobs with pending tasks that their queue may have to reserve room for, sorted."""
    asked: Sequence[str] = ()
    """Keys of jobs, strays included, with pods that were asked to end by themselves, sorted."""
    arbitration: Arbitration | None = None
    """The input of arbitration between namespaces; None if there is no arbitration, or it is not due yet."""
    ceilings: Mapping[str, Ceiling] = field(default_factory=dict)
    """How much each namespace may hold, by the last division; other namespaces are not limited."""
    pools: Mapping[str, PoolLimits] = field(default_factory=dict)
    """How much the namespaces of a pool may hold together, by the names in ``Ceiling.pools``."""
    held: Mapping[str, Vector] = field(default_factory=dict)
    """What the pods of each namespace keep of nodes, for pods of every scheduler, without terminating pods; empty if
    there is no arbitration."""
    held_limits: Mapping[str, Counted] = field(default_factory=dict)
    """Sums of the limits of the same pods, by namespace and counted name; only namespaces with any."""
    advice: Mapping[str, Advice] = field(default_factory=dict)
    """By job key: the change that would let a waiting job start. It is only shown, and decides nothing."""
    provisioning: Mapping[str, Provisioning] | None = None
    """By job key: the ProvisioningRequests of gangs; None where none are made."""
    node_pools: Mapping[str, NodePool] = field(default_factory=dict)
    """Karpenter's NodePools, by name; they decide nothing."""
    foreign: Mapping[str, str] = field(default_factory=dict)
    """By job key: a note about pending pods that name the job and belong to other schedulers."""
    strays: Mapping[str, Job] = field(default_factory=dict)
    """Jobs of pods whose PodGroup does not exist, by key. Their specs are empty, they are in no other map, and a cycle
    does nothing for them."""
    history: UsageHistory = NO_HISTORY
    """What queues, namespaces and users have used over time."""
    runs: Mapping[RunClass, Sequence[Run]] = field(default_factory=dict)
    """Jobs that hold nodes, by what limits on them depend on, the oldest runs first."""
    learnt: Mapping[str, Learnt] = field(default_factory=dict)
    """Run times of finished pods, by the names of ``durations.names_of``; decides nothing."""
    ignored: tuple[str, ...] = ()
    """The unsupported features that the configuration ignores, sorted."""
    setbacks: Mapping[str, str] = field(default_factory=dict)
    """By pod uid: the API server's message where it refused the last binding, or ``NOT_HAD`` and why; decides
    nothing."""
    claims: ClaimCatalogue = NO_CLAIMS
    """Volumes, devices, and the claims for them."""
    topology: TopologyCatalogue = NO_TOPOLOGY
    """HyperNodes."""
    zones: ZoneCatalogue = NO_ZONES
    """NUMA zones of nodes."""
    device_shares: DeviceShareCatalogue = NO_SHARED_DEVICES
    """Devices of nodes that pods use whole or in parts."""
    elsewhere: Sequence[str] = ()
    """Keys of jobs that changed since the last snapshot and belong to other shards: these are not decided on here."""
    masks: Sequence[NodeMask] = ()
    """Which nodes are ours, where several schedulers share the cluster; every mask counts."""
    phases: Mapping[str, int] = field(default_factory=dict)
    """How many jobs are in each phase; decides nothing."""
    state: object | None = None
    """The same object in snapshots of a mirror between which no job, no node and no pod on a node has changed; other
    fields are the same object while they are the same. None where nobody says so."""
    since: object | None = None
    """``state`` of the snapshot since which no other jobs have changed, or begun or ceased to be active, than those in
    ``changed``. None where nobody says so."""

    def called(self, key: str) -> str:
        """How sentences name the job of a key; the key itself where no job is known by it."""
        job = self.jobs.get(key) or self.strays.get(key)
        return key if job is None else job.called

    def by_name(self, key: str) -> tuple[str, str]:
        """Sorts jobs of equal rank in sentences: by how they are named there, as keys may be made up."""
        return self.called(key), key

    def named_otherwise(self, key: str) -> str:
        """How sentences name the job of a key; empty where by its key."""
        called = self.called(key)
        return "" if called == key else called


def asked_jobs(snapshot: Snapshot) -> Iterator[tuple[Job, list[Task]]]:
    """The jobs with pods that were asked to end by themselves, and these pods by name."""
    for key in snapshot.asked:
        job = snapshot.jobs.get(key) or snapshot.strays[key]
        yield job, sorted((task for task in job.tasks.values() if task.asked is not None), key=lambda task: task.name)
