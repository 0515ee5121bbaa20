"""The plugins of one cycle, and the one place that says how their answers combine (reference 7.1, 7.2).

Plugins are walked tier by tier, in order, each only for the points whose switch is on. What combines how:

order        the first key that differs decides; then creation time, then name
veto         all must agree: ready, allocatable, namespace limit, preemptive, valid
any          one suffices: overused
vote         a rejection decides at once; a permission decides at the end of its tier; silence permits
first tier   all of the first tier that has an opinion must agree: starving
victims      nobody whom a plugin protects absolutely; of the rest, within a tier the intersection, and a tier that ends
             empty passes the question on
shuffle      within a tier the union; the first tier with any decides, within disruption budgets
score        the sum, each plugin's by the weight that the action gives it
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.codes import Code
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.combine.combining import number_of, vote
from vsched.framework.combine.measuring import measure
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Listener
from vsched.framework.nodes.feasibility import NodePlugins
from vsched.framework.points.extension import (
    Allocatable,
    CycleEnd,
    JobCondition,
    JobEnqueueable,
    JobEnqueued,
    JobOrder,
    JobPipelined,
    JobReady,
    JobStarving,
    JobValid,
    NamespaceLimit,
    NamespaceOrder,
    Overused,
    PlacementListener,
    Plugin,
    Point,
    Preemptive,
    QueueDivider,
    QueueDivision,
    QueueOrder,
    QueueScore,
    SessionContext,
    SortKey,
    TaskOrder,
)
from vsched.framework.points.nodes import NodeFilter, NodeScore, QueuePlacement, QueuePreference
from vsched.framework.points.victims import (
    Preemptable,
    Purpose,
    Reclaimable,
    Rehearsing,
    VictimQueueOrder,
    VictimTasks,
)
from vsched.framework.policy import Policy, Switches
from vsched.framework.refusal import Bound, Refusal
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.amounts.resources import Amounts, times
from vsched.model.jobs.job import Condition
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue

PointT = TypeVar("PointT", bound=Point)
OrderKey = tuple[SortKey | str, ...]


class PluginSet:
    """One cycle's plugins, asked together."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace) -> None:
        self._trace = trace
        self._tiers: list[list[tuple[Plugin[Any], Switches]]] = [
            [(registry.plugins[conf.name](conf.args), conf.switches) for conf in tier.plugins] for tier in policy.tiers
        ]
        self._measured: list[tuple[Plugin[Any], str]] = []
        if trace.measures_plugins:
            for tier in self._tiers:
                for plugin, _ in tier:
                    self._measured += [(plugin, name) for name in measure(plugin, trace)]
        self.node_plugins = NodePlugins(
            self.taking_part(NodeFilter),
            self.taking_part(NodeScore),
            self.taking_part(QueuePlacement),
            self.taking_part(QueuePreference),
        )
        self.budgets = NO_BUDGETS
        """Disruption budgets; known once the plugins are open."""
        self.agreement = {
            Purpose.PREEMPT: Agreement(self._in_tiers(Preemptable), Purpose.PREEMPT),
            Purpose.RECLAIM: Agreement(self._in_tiers(Reclaimable), Purpose.RECLAIM),
        }
        """Who may be evicted for whom, by what for."""
        self._bind_orders()
        self._bind_decisions()
        self._bind_votes()

    def open(self, context: SessionContext) -> None:
        """Give every plugin the cycle's data, in tier order."""
        self.budgets = Budgets(context.snapshot.budgets)
        for agreement in self.agreement.values():
            agreement.budgets = self.budgets
        context = context._replace(budgets=self.budgets)
        for tier in self._tiers:
            for plugin, switches in tier:
                with self._trace.span("open", plugin.name):
                    plugin.open(context._replace(switches=switches))
        self.queues_move_together = any(one.queues_move_together() for one in self._queue_orders)
        self.queue_scores_move_together = any(one.queue_scores_move_together() for one in self.taking_part(QueueScore))

    @property
    def listeners(self) -> list[Listener]:
        """Who is to be told of placements and evictions; known once the plugins are open."""
        followers: list[Listener] = [*self.taking_part(PlacementListener)]
        return [*followers, self.budgets] if self.budgets else followers

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """While it lasts, tries are only to be compared; they have to be taken back before it ends."""
        listening = self.taking_part(Rehearsing)
        for plugin in listening:
            plugin.rehearse(begins=True)
        try:
            yield
        finally:
            for plugin in listening:
                plugin.rehearse(begins=False)

    def end_cycle(self) -> None:
        """Tell whoever wants to know that the actions have run, in tier order."""
        for plugin in self.taking_part(CycleEnd):
            plugin.end_cycle()

    def release(self) -> None:
        """Take the stopwatches off: a plugin that refers to itself through one is not freed with its cycle."""
        for plugin, name in self._measured:
            delattr(plugin, name)
        self._measured.clear()

    def _in_tiers(self, point: type[PointT]) -> list[list[PointT]]:
        """Plugins that take part in a point, by tier; tiers without one are empty lists."""
        return [list(_parts(tier, point)) for tier in self._tiers]

    def taking_part(self, point: type[PointT]) -> list[PointT]:
        """The plugins that take part in a point, in tier order."""
        return [plugin for tier in self._in_tiers(point) for plugin in tier]

    def _bind_orders(self) -> None:
        self._job_keys = [plugin.job_key for plugin in self.taking_part(JobOrder)]
        self._task_keys = [plugin.task_key for plugin in self.taking_part(TaskOrder)]
        self._queue_orders = self.taking_part(QueueOrder)
        self._queue_keys = [plugin.queue_key for plugin in self.taking_part(QueueOrder)]
        self._queue_admission_keys = [plugin.queue_admission_key for plugin in self.taking_part(QueueOrder)]
        self._namespace_keys = [plugin.namespace_key for plugin in self.taking_part(NamespaceOrder)]
        self._namespace_admission_keys = [plugin.namespace_admission_key for plugin in self.taking_part(NamespaceOrder)]
        self._victim_queue_keys = [plugin.victim_queue_key for plugin in self.taking_part(VictimQueueOrder)]
        scoring = self.taking_part(QueueScore)
        self._queue_scores = {plugin.name: plugin.queue_score for plugin in scoring}
        self._queue_admission_scores = {plugin.name: plugin.queue_admission_score for plugin in scoring}
        self.orders_namespaces = bool(self._namespace_keys)
        """Whether any plugin orders namespaces within a queue."""
        self.queues_move_together = False
        """Whether what one queue is given can change where another stands; known once the plugins are open."""
        self.queue_scores_move_together = False
        """The same of scores."""

    def _bind_decisions(self) -> None:
        self._valid = [plugin.job_valid for plugin in self.taking_part(JobValid)]
        self._ready = [plugin.job_ready for plugin in self.taking_part(JobReady)]
        self._missing = [plugin.tasks_missing for plugin in self.taking_part(JobReady)]
        self._conditions = [plugin.job_condition for plugin in self.taking_part(JobCondition)]
        self._overused = [plugin.overused for plugin in self.taking_part(Overused)]
        self._allocatable = [plugin.allocatable for plugin in self.taking_part(Allocatable)]
        self._namespace_limits = [plugin.namespace_limit for plugin in self.taking_part(NamespaceLimit)]
        self._preemptive = [plugin.preemptive for plugin in self.taking_part(Preemptive)]
        self._enqueued = [plugin.job_enqueued for plugin in self.taking_part(JobEnqueued)]
        self._dividers = [plugin.division for plugin in self.taking_part(QueueDivider)]

    def _bind_votes(self) -> None:
        self._pipelined = [[plugin.job_pipelined for plugin in tier] for tier in self._in_tiers(JobPipelined)]
        self._enqueueable = [[plugin.job_enqueueable for plugin in tier] for tier in self._in_tiers(JobEnqueueable)]
        self._starving = [[plugin.job_starving for plugin in tier] for tier in self._in_tiers(JobStarving)]
        self._victim_tasks = [[plugin.victim_tasks for plugin in tier] for tier in self._in_tiers(VictimTasks)]
        self._must_leave = [plugin.must_leave for plugin in self.taking_part(VictimTasks)]

    # -- orders -------------------------------------------------------------------------------------------------

    def job_key(self, job: JobView) -> OrderKey:
        """Where a job stands; smaller goes first."""
        return (*[key(job) for key in self._job_keys], job.created, job.key)

    def queue_key(self, queue: Queue, *, admitting: bool = False) -> OrderKey:
        """Where a queue stands; smaller goes first. While jobs are admitted what was admitted counts as held."""
        keys = self._queue_admission_keys if admitting else self._queue_keys
        return (*[key(queue) for key in keys], queue.created, queue.name)

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> list[tuple[Hashable, tuple[Any, ...]]]:
        """The same key in parts, each with its name among those that follow the same parts; compared one by one.

        The first part after those of a plugin begins with nothing: a key of fewer parts goes before one that goes on.
        """
        parts: list[tuple[Hashable, tuple[Any, ...]]] = []
        ended = False
        for plugin in self._queue_orders:
            for name, value in plugin.queue_parts(queue, admitting=admitting):
                parts.append(((None, name), ((), value)) if ended else (name, (value,)))
                ended = False
            ended = bool(parts)
        parts.append(((None, queue.name), ((), queue.created, queue.name)))
        return parts

    def queue_epoch(self, *, admitting: bool = False) -> tuple[int, ...]:
        """Another value when parts have changed of queues that nothing was given to."""
        return tuple([plugin.queue_epoch(admitting=admitting) for plugin in self._queue_orders])

    def namespace_key(self, queue: str, namespace: str, *, admitting: bool = False) -> tuple[SortKey, ...]:
        """Where a namespace of a queue stands; equal keys leave it to the order of their jobs."""
        keys = self._namespace_admission_keys if admitting else self._namespace_keys
        return tuple([key(queue, namespace) for key in keys])

    def queue_score(self, queue: Queue, weights: Mapping[str, float], *, admitting: bool = False) -> float:
        """How urgent a queue is: the sum of the plugins' scores by weight; a plugin without a weight has no say."""
        scores = self._queue_admission_scores if admitting else self._queue_scores
        return sum(weight * scores[name](queue) for name, weight in weights.items() if name in scores)

    def victim_queue_key(self, victim: Queue, evictor: Queue) -> tuple[SortKey, ...]:
        """Where a queue stands among those that victims are taken from; smaller is taken from first."""
        return tuple([key(victim, evictor) for key in self._victim_queue_keys])

    def ordered_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks of one job in their order: plugins, then the number at the end of the name, then age, then name."""
        found = list(tasks)
        keys = self._task_keys
        if len(found) < 2:
            return found
        numbers = {task.uid: number_of(task.name) for task in found}
        numbered = all(number is not None for number in numbers.values())
        return sorted(
            found,
            key=lambda task: (
                *[key(task) for key in keys],
                (numbers[task.uid] or 0) if numbered else 0,
                task.created,
                task.name,
                task.uid,
            ),
        )

    # -- decisions ----------------------------------------------------------------------------------------------

    def job_valid(self, job: JobView) -> Refusal | None:
        """The first objection to working on a job at all."""
        for ask in self._valid:
            refusal = ask(job)
            if refusal is not None:
                return refusal
        return None

    def job_ready(self, job: JobView) -> bool:
        """Whether what the job holds may be bound."""
        return all(ask(job) for ask in self._ready)

    def tasks_missing(self, job: JobView) -> int:
        """At least how many more tasks have to be placed before the job can be ready."""
        return max((ask(job) for ask in self._missing), default=0)

    def job_condition(self, job: JobView) -> Condition | None:
        """What the PodGroup's condition is to say."""
        for ask in self._conditions:
            condition = ask(job)
            if condition is not None:
                return condition
        return None

    def overused(self, queue: Queue) -> bool:
        """Whether the queue is to get nothing more in this cycle."""
        return any(ask(queue) for ask in self._overused)

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """The first objection to one more request in the queue."""
        for ask in self._allocatable:
            refusal = ask(queue, request)
            if refusal is not None:
                return refusal
        return None

    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """The first objection to so many more pods of the namespace, in whichever queue."""
        for ask in self._namespace_limits:
            refusal = ask(namespace, shape, count)
            if refusal is not None:
                return refusal
        return None

    def grantable(self, queue: Queue, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """The first objection to so many more pods of the namespace in the queue, by what either may have."""
        request = shape.request if count == 1 else times(shape.request, count)
        return self.allocatable(queue, request) or self.namespace_limit(namespace, shape, count)

    def slot_limit(self, queue: Queue, shape: Shape) -> Refusal | None:
        """The objection to one more pod that asks for nothing but its slot: the queue's capability may limit pods."""
        refusal = self.allocatable(queue, shape.request)
        return refusal if refusal is not None and refusal.code is Code.QUEUE_CAPABILITY else None

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """Whether the queue may take from others for the request."""
        return all(ask(queue, request) for ask in self._preemptive)

    def job_enqueued(self, job: JobView) -> None:
        """Tell everyone who wants to know that a job was admitted."""
        for tell in self._enqueued:
            tell(job)

    def bound(self, queue: Queue, column: int) -> Bound | None:
        """What sets how much of a resource the queue may hold at most, where a plugin says so."""
        for one in self.taking_part(QueueDivider):
            bound = one.bound(queue, column)
            if bound is not None:
                return bound
        return None

    def division(self, queue: Queue) -> QueueDivision | None:
        """How the cluster is divided for the queue, where a plugin divides it."""
        for ask in self._dividers:
            division = ask(queue)
            if division is not None:
                return division
        return None

    # -- votes --------------------------------------------------------------------------------------------------

    def job_pipelined(self, job: JobView) -> bool:
        """Whether what the job holds and waits for may be kept."""
        return vote(self._pipelined, job) is None

    def job_enqueueable(self, job: JobView) -> Refusal | None:
        """The objection to admitting the job, None where it is admitted; what lasts goes before what may pass."""
        refusal = vote(self._enqueueable, job)
        if refusal is None or not refusal.rank or refusal.code is Code.REFUSED:
            return refusal
        others = (one.job_enqueueable(job) for one in self.taking_part(JobEnqueueable) if not one.asks_outside)
        return min((refusal, *(one for one in others if isinstance(one, Refusal))), key=lambda one: one.rank)

    def job_starving(self, job: JobView) -> bool:
        """Whether the job may take from others: all of the first tier that has an opinion agree."""
        for tier in self._starving:
            if tier:
                return all(ask(job) for ask in tier)
        return False

    @property
    def knows_starving(self) -> bool:
        """Whether any plugin says who may take from others."""
        return any(self._starving)

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_tasks(self, candidates: Sequence[Task]) -> list[Task]:
        """Running tasks that had better be elsewhere, in the order of the candidates."""
        for tier in self._victim_tasks:
            chosen = {task.uid for ask in tier for task in ask(candidates)}
            if chosen:
                named = [task for task in candidates if task.uid in chosen]
                return list(self.budgets.allowed(named))
        return []

    def must_leave(self, victim: Task) -> bool:
        """Whether a victim's node is wanted back, whether or not it has another place to go to."""
        return any(ask(victim) for ask in self._must_leave)


def _parts(tier: Iterable[tuple[object, Switches]], point: type[PointT]) -> Iterator[PointT]:
    for plugin, switches in tier:
        if isinstance(plugin, point) and switches.enabled(point.point):
            yield plugin
