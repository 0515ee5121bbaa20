"""The plugins of one session. This module alone decides how their answers are combined (reference 7.1, 7.2).

Plugins are called tier by tier, in order, each only for the extension points whose switch is on. The rules are:

order        the first key that differs decides; then creation time, then name
veto         all must agree: ready, allocatable, namespace limit, preemptive, valid
any          one is enough: overused
vote         a rejection decides at once; a permission decides at the end of its tier; no vote at all permits
first tier   all plugins of the first tier with the point must agree: starving
victims      first, all plugins that protect absolutely must agree; then the other plugins of a tier must all agree; if
             they agree to no task, the next tier decides
shuffle      the union of a tier's answers; the first tier that names a task decides, within disruption budgets
score        the sum of the plugins' scores, weighted by the action's arguments
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import ref

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.codes import Code
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.combine.combining import number_of, vote
from vsched.framework.combine.measuring import measure
from vsched.framework.combine.victim_rules import VictimRules
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import LedgerListener
from vsched.framework.nodes.feasibility import NodePlugins
from vsched.framework.places.places import PlacePlugins
from vsched.framework.points.extension import (
    Allocatable,
    BindAnnotations,
    ClaimLimit,
    CycleEnd,
    DivisionWeight,
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
    PastUse,
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
    SubGroupOrder,
    TaskOrder,
    UsageMemory,
    UserOrder,
    stated_weights,
)
from vsched.framework.points.nodes import NodeFilter, NodeScore, QueuePlacement, QueuePreference, TaskScore
from vsched.framework.points.places import ClosenessScore, DomainScore, EvictionDomains, TierSource
from vsched.framework.points.runs import StartLimit
from vsched.framework.points.victims import (
    EvictionDelay,
    Preemptable,
    Purpose,
    Reclaimable,
    Rehearsing,
    VictimCost,
    VictimProtection,
    VictimQueueOrder,
    VictimTasks,
    VictimVotes,
)
from vsched.framework.policy import Policy, Switches
from vsched.framework.refusal import Bound, Refusal
from vsched.framework.registry import Registry
from vsched.framework.subgroups import SubGroup
from vsched.framework.trace import Trace
from vsched.model.amounts.resources import Amounts, times
from vsched.model.jobs.job import Condition
from vsched.model.nodes.table import Floats
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

PointT = TypeVar("PointT", bound=Point)
OrderKey = tuple[SortKey | str, ...]


class PluginSet:
    """The plugins of one session; each method returns their combined answer."""

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
            self.taking_part(TaskScore),
        )
        self.place_plugins = PlacePlugins(
            self.taking_part(TierSource),
            self.taking_part(DomainScore),
            self.taking_part(ClosenessScore),
            self.taking_part(EvictionDomains),
        )
        self.budgets = NO_BUDGETS
        """The disruption budgets; set when the plugins are opened."""
        voters: dict[Purpose, Sequence[Sequence[VictimVotes]]] = {
            Purpose.PREEMPT: self._in_tiers(Preemptable),
            Purpose.RECLAIM: self._in_tiers(Reclaimable),
        }
        self.agreement = {purpose: Agreement(tiers, purpose) for purpose, tiers in voters.items()}
        """The plugins' votes on victims, by purpose."""
        self.gang_agreement = {
            purpose: Agreement([[one for one in tier if one.judges_gangs] for tier in tiers], purpose)
            for purpose, tiers in voters.items()
        }
        """The same for evictions that may break gangs up, which not all plugins judge."""
        self.victim_rules = VictimRules(
            self.taking_part(VictimProtection), self.taking_part(EvictionDelay), self.taking_part(VictimCost)
        )
        """Who may not be evicted yet, and for whom not, whatever the tiers say; and what evictions waste."""
        self._bind_orders()
        self._bind_decisions()
        self._bind_votes()

    def open(self, context: SessionContext) -> None:
        """Open every plugin with the session's data, in tier order."""
        self.budgets = Budgets(context.snapshot.budgets)
        for agreement in (*self.agreement.values(), *self.gang_agreement.values()):
            agreement.budgets = self.budgets
        # Plugins keep the context. If it referred to them, the memory of the whole cycle would not be freed at once.
        this = ref(self)

        def division(queue: Queue) -> QueueDivision | None:
            plugins = this()
            return None if plugins is None else plugins.division(queue)

        def weights(queues: Sequence[Queue]) -> Floats:
            plugins = this()
            return stated_weights(queues) if plugins is None else plugins.weights(snapshot, queues)

        snapshot = context.snapshot
        context = context._replace(budgets=self.budgets, division=division, weights=weights)
        self.victim_rules.open(context)
        for tier in self._tiers:
            for plugin, switches in tier:
                with self._trace.span("open", plugin.name):
                    plugin.open(context._replace(switches=switches))
        self.queues_move_together = any(one.queues_move_together() for one in self._queue_orders)
        self.queue_scores_move_together = any(one.queue_scores_move_together() for one in self.taking_part(QueueScore))

    @property
    def listeners(self) -> list[LedgerListener]:
        """The listeners for placements and evictions; complete once the plugins are open."""
        followers: list[LedgerListener] = [*self.taking_part(PlacementListener)]
        return [*followers, self.budgets] if self.budgets else followers

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """A context for tries that are only compared with each other. They must be rolled back before it ends."""
        listening = self.taking_part(Rehearsing)
        for plugin in listening:
            plugin.rehearse(begins=True)
        try:
            yield
        finally:
            for plugin in listening:
                plugin.rehearse(begins=False)

    def end_cycle(self) -> None:
        """Tell the plugins with ``CycleEnd``, in tier order, that the actions have run."""
        for plugin in self.taking_part(CycleEnd):
            plugin.end_cycle()

    def release(self) -> None:
        """Remove the timers. A plugin refers to itself through a timer, which would delay freeing its memory."""
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
        self._sub_group_keys = [plugin.sub_group_key for plugin in self.taking_part(SubGroupOrder)]
        self._queue_orders = self.taking_part(QueueOrder)
        self._queue_keys = [plugin.queue_key for plugin in self.taking_part(QueueOrder)]
        self._queue_admission_keys = [plugin.queue_admission_key for plugin in self.taking_part(QueueOrder)]
        self._namespace_keys = [plugin.namespace_key for plugin in self.taking_part(NamespaceOrder)]
        self._namespace_admission_keys = [plugin.namespace_admission_key for plugin in self.taking_part(NamespaceOrder)]
        self._user_keys = [plugin.user_key for plugin in self.taking_part(UserOrder)]
        self.orders_users = bool(self._user_keys)
        """Whether any plugin orders users within a namespace."""
        self._victim_queue_keys = [plugin.victim_queue_key for plugin in self.taking_part(VictimQueueOrder)]
        scoring = self.taking_part(QueueScore)
        self._queue_scores = {plugin.name: plugin.queue_score for plugin in scoring}
        self._queue_admission_scores = {plugin.name: plugin.queue_admission_score for plugin in scoring}
        self.orders_namespaces = bool(self._namespace_keys)
        """Whether any plugin orders namespaces within a queue."""
        self.queues_move_together = False
        """Whether a placement in one queue can change another queue's key; set when the plugins are opened."""
        self.queue_scores_move_together = False
        """Whether a placement in one queue can change another queue's score; set when the plugins are opened."""

    def _bind_decisions(self) -> None:
        self._valid = [plugin.job_valid for plugin in self.taking_part(JobValid)]
        self._ready = [plugin.job_ready for plugin in self.taking_part(JobReady)]
        self._missing = [plugin.tasks_missing for plugin in self.taking_part(JobReady)]
        self._start_limits = [plugin.start_limit for plugin in self.taking_part(StartLimit)]
        self._conditions = [plugin.job_condition for plugin in self.taking_part(JobCondition)]
        self._overused = [plugin.overused for plugin in self.taking_part(Overused)]
        self._allocatable = [plugin.allocatable for plugin in self.taking_part(Allocatable)]
        self._claim_limits = [plugin.claim_limit for plugin in self.taking_part(ClaimLimit)]
        self._namespace_limits = [plugin.namespace_limit for plugin in self.taking_part(NamespaceLimit)]
        self._preemptive = [plugin.preemptive for plugin in self.taking_part(Preemptive)]
        self._enqueued = [plugin.job_enqueued for plugin in self.taking_part(JobEnqueued)]
        self._annotating = [plugin.bind_annotations for plugin in self.taking_part(BindAnnotations)]
        self._memories = self.taking_part(UsageMemory)
        self._dividers = [plugin.division for plugin in self.taking_part(QueueDivider)]

    def _bind_votes(self) -> None:
        self._pipelined = [[plugin.job_pipelined for plugin in tier] for tier in self._in_tiers(JobPipelined)]
        self._enqueueable = [[plugin.job_enqueueable for plugin in tier] for tier in self._in_tiers(JobEnqueueable)]
        self._starving = [[plugin.job_starving for plugin in tier] for tier in self._in_tiers(JobStarving)]
        self._victim_tasks = [[plugin.victim_tasks for plugin in tier] for tier in self._in_tiers(VictimTasks)]
        self._must_leave = [plugin.must_leave for plugin in self.taking_part(VictimTasks)]

    # -- orders -------------------------------------------------------------------------------------------------

    def job_key(self, job: JobView) -> OrderKey:
        """The sort key of a job; smaller goes first."""
        return (*[key(job) for key in self._job_keys], job.created, job.key)

    def sub_group_key(self, group: SubGroup) -> OrderKey:
        """The sort key of a sub-group among those of its job; smaller goes first."""
        return (*[key(group) for key in self._sub_group_keys], group.key.number, group.name)

    def queue_key(self, queue: Queue, *, admitting: bool = False) -> OrderKey:
        """The sort key of a queue; smaller goes first. With ``admitting``, pledges count as held."""
        keys = self._queue_admission_keys if admitting else self._queue_keys
        return (*[key(queue) for key in keys], queue.created, queue.name)

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> list[tuple[Hashable, tuple[Any, ...]]]:
        """The queue's sort key as a list of named parts, compared one by one (see ``QueueOrder.queue_parts``).

        The first part after those of a plugin starts with an empty tuple. So, of two keys that start with the same
        parts, the one where the plugin gives fewer parts goes first.
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
        """A value that changes when the parts of queues without new placements have changed."""
        return tuple([plugin.queue_epoch(admitting=admitting) for plugin in self._queue_orders])

    def namespace_key(self, queue: str, namespace: str, *, admitting: bool = False) -> tuple[SortKey, ...]:
        """The sort key of a namespace in a queue; where keys are equal, the order of their jobs decides."""
        keys = self._namespace_admission_keys if admitting else self._namespace_keys
        return tuple([key(queue, namespace) for key in keys])

    def user_key(self, queue: str, namespace: str, user: str) -> tuple[SortKey, ...]:
        """The sort key of a user in a namespace; where keys are equal, the order of their jobs decides."""
        return tuple([key(queue, namespace, user) for key in self._user_keys])

    def queue_score(self, queue: Queue, weights: Mapping[str, float], *, admitting: bool = False) -> float:
        """The urgency of a queue: the weighted sum of the plugins' scores. Plugins without a weight do not count."""
        scores = self._queue_admission_scores if admitting else self._queue_scores
        return sum(weight * scores[name](queue) for name, weight in weights.items() if name in scores)

    def victim_queue_key(self, victim: Queue, evictor: Queue) -> tuple[SortKey, ...]:
        """The sort key of a queue as a source of victims; victims come from the queue with the smaller key first."""
        return tuple([key(victim, evictor) for key in self._victim_queue_keys])

    def ordered_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        """The tasks of one job in order: by plugins, then the index at the end of the name, then age, then name."""
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
        """Why the job is not valid: the first refusal; None where it is valid."""
        for ask in self._valid:
            refusal = ask(job)
            if refusal is not None:
                return refusal
        return None

    def job_ready(self, job: JobView) -> bool:
        """Whether the job's placements may be bound."""
        return all(ask(job) for ask in self._ready)

    def start_limit(self, job: JobView, *, admitting: bool = False) -> Refusal | None:
        """Why a job may not start, whatever room there is: the first refusal; None where it may."""
        for ask in self._start_limits:
            refusal = ask(job, admitting=admitting)
            if refusal is not None:
                return refusal
        return None

    def tasks_missing(self, job: JobView) -> int:
        """A lower bound on the tasks to place before the job can be ready."""
        return max((ask(job) for ask in self._missing), default=0)

    def job_condition(self, job: JobView) -> Condition | None:
        """The condition to write to the PodGroup; the first plugin's answer, None where there is none."""
        for ask in self._conditions:
            condition = ask(job)
            if condition is not None:
                return condition
        return None

    def overused(self, queue: Queue) -> bool:
        """Whether the queue must get nothing more in this cycle."""
        return any(ask(queue) for ask in self._overused)

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """The first refusal of one more request in the queue; None where all plugins agree."""
        for ask in self._allocatable:
            refusal = ask(queue, request)
            if refusal is not None:
                return refusal
        return None

    def namespace_limit(self, namespace: str, shape: Shape, count: int = 1) -> Refusal | None:
        """The first refusal of ``count`` more pods in the namespace, whatever the queue."""
        for ask in self._namespace_limits:
            refusal = ask(namespace, shape, count)
            if refusal is not None:
                return refusal
        return None

    def claim_limit(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """The first refusal of what the ResourceClaims of these tasks ask for together; None where all agree."""
        if not self._claim_limits:
            return None
        claiming = [task for task in tasks if task.claims is not None and task.claims.devices]
        for ask in self._claim_limits if claiming else ():
            refusal = ask(queue, claiming)
            if refusal is not None:
                return refusal
        return None

    def grantable(self, queue: Queue, task: Task) -> Refusal | None:
        """The first refusal of one more task in the queue, by the limits of queue and namespace."""
        return self.grantable_together(queue, (task,), 1)

    def grantable_together(self, queue: Queue, tasks: Sequence[Task], count: int) -> Refusal | None:
        """The first refusal of ``count`` of these tasks, which have one shape.

        Limits on claims only count where ``count`` is all of them, because claims differ from task to task.
        """
        task, claiming = tasks[0], tasks if len(tasks) == count else ()
        request = task.shape.request if count == 1 else times(task.shape.request, count)
        return (
            self.allocatable(queue, request)
            or self.namespace_limit(task.namespace, task.shape, count)
            or self.claim_limit(queue, claiming)
        )

    def slot_limit(self, queue: Queue, task: Task) -> Refusal | None:
        """The refusal of one more best-effort pod: only limits on its pod slot count."""
        refusal = self.allocatable(queue, task.shape.request)
        if refusal is not None and refusal.code is Code.QUEUE_CAPABILITY:
            return refusal
        return self.namespace_limit(task.namespace, task.shape)

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """Whether the queue may reclaim room from other queues for the request."""
        return all(ask(queue, request) for ask in self._preemptive)

    def job_enqueued(self, job: JobView) -> None:
        """Tell the plugins with ``JobEnqueued`` that a job was admitted."""
        for tell in self._enqueued:
            tell(job)

    def bind_annotations(self, task: Task) -> tuple[tuple[str, str], ...]:
        """The annotations that a task gets with its binding."""
        if not self._annotating:
            return ()
        return tuple(found for ask in self._annotating for found in ask(task))

    def bound(self, queue: Queue, column: int) -> Bound | None:
        """What limits how much of a resource the queue may hold; None where no plugin sets a limit."""
        for one in self.taking_part(QueueDivider):
            bound = one.bound(queue, column)
            if bound is not None:
                return bound
        return None

    def division(self, queue: Queue) -> QueueDivision | None:
        """The queue's share of the cluster; None where no plugin divides the cluster."""
        return next((found for ask in self._dividers if (found := ask(queue)) is not None), None)

    def weights(self, snapshot: Snapshot, queues: Sequence[Queue]) -> Floats:
        """float64[queues]: how much queues weigh where the cluster is divided among them."""
        found = stated_weights(queues)
        for plugin in self.taking_part(DivisionWeight):
            found = plugin.division_weights(snapshot, queues, found)
        return found

    def past_use(self, queue: Queue) -> PastUse | None:
        """What a queue has used over time; None where no plugin remembers it."""
        return next((found for one in self._memories if (found := one.past_use(queue)) is not None), None)

    # -- votes --------------------------------------------------------------------------------------------------

    def job_pipelined(self, job: JobView) -> bool:
        """Whether the job's placements, pipelined ones included, may be kept for the session."""
        return vote(self._pipelined, job) is None

    def job_enqueueable(self, job: JobView) -> Refusal | None:
        """Why the job is not admitted; None where it is. A refusal that lasts goes before one that may pass."""
        refusal = vote(self._enqueueable, job)
        if refusal is None or not refusal.rank or refusal.code is Code.REFUSED:
            return refusal
        others = (one.job_enqueueable(job) for one in self.taking_part(JobEnqueueable) if not one.asks_outside)
        return min((refusal, *(one for one in others if isinstance(one, Refusal))), key=lambda one: one.rank)

    def job_starving(self, job: JobView) -> bool:
        """Whether the job may evict others to get room: all plugins of the first tier with this point agree."""
        for tier in self._starving:
            if tier:
                return all(ask(job) for ask in tier)
        return False

    @property
    def knows_starving(self) -> bool:
        """Whether any plugin has the point ``JobStarving``."""
        return any(self._starving)

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_tasks(self, candidates: Sequence[Task]) -> list[Task]:
        """The running tasks that should move to another node, in the order of the candidates."""
        for tier in self._victim_tasks:
            chosen = {task.uid for ask in tier for task in ask(candidates)}
            if chosen:
                named = [task for task in candidates if task.uid in chosen]
                return list(self.budgets.allowed(named))
        return []

    def must_leave(self, victim: Task) -> bool:
        """Whether a victim's node must be freed, even if no other node has room for the victim."""
        return any(ask(victim) for ask in self._must_leave)


def _parts(tier: Iterable[tuple[object, Switches]], point: type[PointT]) -> Iterator[PointT]:
    for plugin, switches in tier:
        if isinstance(plugin, point) and switches.enabled(point.point):
            yield plugin
