"""drf: dominant resource fairness among the jobs and the namespaces of a queue.

A job's share is the largest fraction it holds of any resource of the cluster. A namespace's share is the same fraction
for all it holds in the queue, divided by its weight. The smaller share goes first, and may preempt the larger. With
``enableHierarchy``, drf also orders queues, by the tree that their annotations describe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import UsageByQueue, UsageWithPledges
from vsched.framework.points.extension import (
    JobOrder,
    JobState,
    NamespaceOrder,
    NoArgs,
    PlacementListener,
    Plugin,
    QueueOrder,
    QueuePart,
    QueueScore,
    SessionContext,
)
from vsched.framework.points.terms import QueueTerm
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.kernels.fairness import dominant_share
from vsched.model.amounts.resources import NOTHING, Amounts, Vector, add, subtract
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.queues.hierarchy import HierarchyTree, TreeKey
from vsched.plugins.words import victims

SHARE_DELTA = 1e-6
"""Shares closer than this count as equal."""


class Drf(
    Plugin[NoArgs], JobOrder, NamespaceOrder, QueueOrder, QueueScore, Preemptable, Reclaimable, PlacementListener
):
    """Orders jobs and namespaces (with hierarchy also queues) by dominant share; the smaller preempts the larger."""

    name = "drf"
    timeless = True
    tree_terms = frozenset({QueueTerm.HIERARCHY})
    votes_by_kind = True
    by_job_alone = True
    goes_first = victims.SMALLER_SHARE
    hierarchical = True
    judges_gangs = False

    def open(self, context: SessionContext) -> None:
        """Keep the inputs of shares; the tree is built at the first question that needs it."""
        self._context = context
        self._shares = DominantShares(context, context.usage)
        self._job_state = context.job_state
        self._by_namespace = context.switches.namespace_order
        self._by_hierarchy = context.switches.hierarchy
        self._built: HierarchyTree | None = None
        self._built_for_admission: HierarchyTree | None = None

    @cached_property
    def _admitted(self) -> DominantShares:
        """Shares with admitted amounts counted as held."""
        return DominantShares(self._context, UsageWithPledges(self._context.usage))

    # -- orders -------------------------------------------------------------------------------------------------

    def job_key(self, job: JobView) -> float:
        """The job's dominant share; resources that it waits for count as held."""
        return self._shares.of(job.allocated)

    def namespace_key(self, queue: str, namespace: str) -> float:
        """The namespace's dominant share in the queue, divided by its weight."""
        return self._shares.of_namespace(queue, namespace)

    def namespace_admission_key(self, queue: str, namespace: str) -> float:
        """Like ``namespace_key``, but admitted amounts count as held."""
        return self._admitted.of_namespace(queue, namespace)

    def queue_key(self, queue: Queue) -> TreeKey:
        """With hierarchy, the queue's sort key in the tree, from the top down; without, all queues are equal."""
        return self._tree.key(queue.name) if self._by_hierarchy else ()

    def queue_admission_key(self, queue: Queue) -> TreeKey:
        """Like ``queue_key``, but admitted amounts count as held."""
        return self._admission_tree.key(queue.name) if self._by_hierarchy else ()

    def queue_score(self, queue: Queue) -> float:
        """1 minus the weighted share: with hierarchy, of the queue's node in the tree; else of the queue itself."""
        if self._by_hierarchy:
            return 1.0 - self._tree.weighted_share(queue.name)
        return 1.0 - self._shares.of_queue(queue) / queue.weight

    def queue_admission_score(self, queue: Queue) -> float:
        """Like ``queue_score``, but admitted amounts count as held."""
        if self._by_hierarchy:
            return 1.0 - self._admission_tree.weighted_share(queue.name)
        return 1.0 - self._admitted.of_queue(queue) / queue.weight

    def queues_move_together(self) -> bool:
        """True with hierarchy: queues below the same node share that node's part of the sort key."""
        return self._by_hierarchy

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """The parts of the sort key, one for each node on the path down to the queue; none without hierarchy."""
        if not self._by_hierarchy:
            return ()
        return (self._admission_tree if admitting else self._tree).parts(queue.name)

    def queue_epoch(self, *, admitting: bool = False) -> int:
        """A number that changes when a resource runs out or becomes free: that changes which nodes are saturated."""
        if not self._by_hierarchy:
            return 0
        return (self._admission_tree if admitting else self._tree).epoch()

    def queue_scores_move_together(self) -> bool:
        """True with hierarchy: a queue's score is that of its node, and includes all queues below."""
        return self._by_hierarchy

    # -- within a queue -----------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """Preempt compares shares of namespaces and jobs in one queue; reclaim compares queues by the tree."""
        if purpose is Purpose.PREEMPT:
            return self._within(evictor)
        return self._between(evictor) if self._by_hierarchy else None

    def _within(self, evictor: Task) -> Votes:
        """Tasks of namespaces with a larger share; where these are equal, of jobs with a larger or equal share.

        Shares are compared as they would be with the evictor placed, and with the victim and all candidates before it
        evicted. Jobs with equal shares may preempt each other; for equal namespaces, their jobs decide.
        """
        own, shares, by_namespace = self._job_state(evictor.job), self._shares, self._by_namespace
        if own is None:
            return Votes.none(victims.NO_LARGER_SHARE, depends_on=None)
        key, queue, namespace = own.key, own.spec.queue, evictor.namespace
        least = shares.of(own.allocated, evictor.shape.request)

        def agreed(candidates: Sequence[Task]) -> list[Task]:
            comparison = Comparison(shares, own, evictor, by_namespace)
            return [
                victim
                for victim in candidates
                if (job := self._job_state(victim.job)) is not None and comparison.is_victim(victim, job)
            ]

        def rules_out(job: JobState) -> bool:
            """Jobs whose share, or whose namespace's share, is already smaller: evictions only make it smaller.

            The evictor's own job is never ruled out. Other jobs of the evictor's namespace are compared by job shares.
            """
            if job.key == key:
                return False
            if by_namespace and job.spec.namespace != namespace:
                share = shares.of_namespace(queue, job.spec.namespace)
                return least / shares.weight(namespace) - share > SHARE_DELTA
            return least - shares.of(job.allocated) > SHARE_DELTA

        return Votes(agreed, victims.NO_LARGER_SHARE, rules_out, (least, namespace if by_namespace else ""))

    def _between(self, evictor: Task) -> Votes:
        """Tasks of queues that still come after the evictor's queue once the evictor is placed and the victim gone."""
        tree, taker, request = self._tree, self._job_state(evictor.job), evictor.shape.request
        if taker is None or not tree.has(taker.key):
            return Votes.none(victims.NO_LARGER_SHARE)

        def agrees(victim: Task) -> bool:
            giver = self._job_state(victim.job)
            return (
                giver is not None
                and tree.has(giver.key)
                and tree.goes_before(taker, request, giver, victim.shape.request)
            )

        return Votes.each(agrees, victims.NO_LARGER_SHARE)

    # -- placements ---------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Mark the job's leaf stale in each tree that exists."""
        self._note(job, task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Mark the job's leaf stale in each tree that exists."""
        self._note(job, task, -1)

    def _note(self, job: JobView, task: Task, sign: int) -> None:
        for tree in (self._built, self._built_for_admission):
            if tree is not None:
                tree.note(job, task.shape.request, sign)

    @property
    def _tree(self) -> HierarchyTree:
        if self._built is None:
            self._built = HierarchyTree(self._context)
        return self._built

    @property
    def _admission_tree(self) -> HierarchyTree:
        if self._built_for_admission is None:
            self._built_for_admission = HierarchyTree(self._context, self._context.usage.pledges)
        return self._built_for_admission


class DominantShares:
    """Dominant shares of the cluster, computed from one record of usage (``books``: held, or held and admitted)."""

    def __init__(self, context: SessionContext, books: UsageByQueue) -> None:
        self._total = context.snapshot.total
        self._usage = books
        self._namespaces = context.snapshot.namespaces

    def of(self, held: Mapping[int, int], request: Amounts = NOTHING) -> float:
        """The dominant share of the held amounts plus the request."""
        if request:
            held = dict(held)
            add(held, request)
        return dominant_share(held, self._total)

    def of_queue(self, queue: Queue) -> float:
        """The dominant share of a queue."""
        return self.of(self._usage.queue(queue.name))

    def of_namespace(self, queue: str, namespace: str, request: Amounts = NOTHING) -> float:
        """The dominant share of a namespace in a queue, the request included, divided by the namespace's weight."""
        known = self._namespaces.get(namespace)
        return self.of(self._usage.namespace(queue, namespace), request) / (1 if known is None else known.weight)

    def held(self, queue: str, namespace: str) -> Mapping[int, int]:
        """The amounts that a namespace holds in a queue."""
        return self._usage.namespace(queue, namespace)

    def weight(self, namespace: str) -> int:
        """The weight of a namespace; 1 where it is not known."""
        known = self._namespaces.get(namespace)
        return 1 if known is None else known.weight


class Comparison:
    """Compares one preemptor with candidates in turn; each candidate counts as evicted for the next."""

    def __init__(self, shares: DominantShares, own: JobState, preemptor: Task, by_namespace: bool) -> None:
        request = preemptor.shape.request
        self._shares = shares
        self._by_namespace = by_namespace
        self._queue, self._namespace = own.spec.queue, preemptor.namespace
        self._job_share = shares.of(own.allocated, request)
        self._namespace_share = shares.of_namespace(self._queue, self._namespace, request) if by_namespace else 0.0
        self._jobs: dict[str, Vector] = {}
        self._namespaces: dict[str, Vector] = {}

    def is_victim(self, victim: Task, job: JobState) -> bool:
        """Whether the preemptor may evict this task of this job."""
        request, namespace = victim.shape.request, victim.namespace
        rest = self._jobs.setdefault(job.key, dict(job.allocated))
        subtract(rest, request)
        if self._by_namespace and namespace != self._namespace:
            remaining = self._namespaces.setdefault(namespace, dict(self._shares.held(self._queue, namespace)))
            subtract(remaining, request)
            ahead = self._namespace_share - self._shares.of(remaining) / self._shares.weight(namespace)
            if abs(ahead) > SHARE_DELTA:
                return ahead < 0
        return self._job_share - self._shares.of(rest) <= SHARE_DELTA
