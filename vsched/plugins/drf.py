"""drf: dominant resource fairness among the jobs, and among the namespaces, of a queue (reference 4.4, seed 000).

A job's share is the largest part it holds of any resource of the cluster; a namespace's share is the same for what it
holds in the queue, divided by its weight. The smaller share goes first, and may take from the larger. With
``enableHierarchy`` queues are ordered by the tree that their annotations describe, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import Admitted, UsageByQueue
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
from vsched.framework.points.victims import Preemptable, Purpose, Reclaimable, Votes
from vsched.kernels.fairness import dominant_share
from vsched.model.amounts.resources import NOTHING, Amounts, Vector, add, subtract
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.queues.hierarchy import HierarchyTree, TreeKey

SHARE_DELTA = 1e-6
"""Shares closer than this count as equal (reference 4.4)."""
NO_LARGER = "their jobs hold no larger share"


class Drf(
    Plugin[NoArgs], JobOrder, NamespaceOrder, QueueOrder, QueueScore, Preemptable, Reclaimable, PlacementListener
):
    """Orders jobs and namespaces, and with hierarchy queues, by dominant share; the smaller takes from the larger."""

    name = "drf"
    goes_first = "holds the smaller share"
    hierarchical = True

    def open(self, context: SessionContext) -> None:
        """Keep what shares are made of; the tree is built when something is asked that needs it."""
        self._context = context
        self._shares = Shares(context, context.usage)
        self._admitted = Shares(context, Admitted(context.usage))
        self._standing = context.standing
        self._by_namespace = context.switches.namespace_order
        self._by_hierarchy = context.switches.hierarchy
        self._built: HierarchyTree | None = None
        self._built_for_admission: HierarchyTree | None = None

    # -- orders -------------------------------------------------------------------------------------------------

    def job_key(self, job: JobView) -> float:
        """The job's dominant share; what it waits for counts as held."""
        return self._shares.of(job.allocated)

    def namespace_key(self, queue: str, namespace: str) -> float:
        """The namespace's dominant share in the queue over its weight."""
        return self._shares.of_namespace(queue, namespace)

    def namespace_admission_key(self, queue: str, namespace: str) -> float:
        """The same with what was admitted counted as held."""
        return self._admitted.of_namespace(queue, namespace)

    def queue_key(self, queue: Queue) -> TreeKey:
        """With hierarchy, where the queue stands in the tree, from the top down; without, all queues are equal."""
        return self._tree.key(queue.name) if self._by_hierarchy else ()

    def queue_admission_key(self, queue: Queue) -> TreeKey:
        """The same with what was admitted counted as held."""
        return self._admission_tree.key(queue.name) if self._by_hierarchy else ()

    def queue_score(self, queue: Queue) -> float:
        """One less share over weight: with hierarchy of the queue's node of the tree, else of the queue itself."""
        if self._by_hierarchy:
            return 1.0 - self._tree.weighted_share(queue.name)
        return 1.0 - self._shares.of_queue(queue) / queue.weight

    def queue_admission_score(self, queue: Queue) -> float:
        """The same with what was admitted counted as held."""
        if self._by_hierarchy:
            return 1.0 - self._admission_tree.weighted_share(queue.name)
        return 1.0 - self._admitted.of_queue(queue) / queue.weight

    def queues_move_together(self) -> bool:
        """Queues below one node of the tree share its standing."""
        return self._by_hierarchy

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """A part for each node on the way down to the queue."""
        if not self._by_hierarchy:
            return ()
        return (self._admission_tree if admitting else self._tree).parts(queue.name)

    def queue_epoch(self, *, admitting: bool = False) -> int:
        """Another one when a resource is used up, or is there again: that decides everywhere who is saturated."""
        if not self._by_hierarchy:
            return 0
        return (self._admission_tree if admitting else self._tree).epoch()

    def queue_scores_move_together(self) -> bool:
        """The score of a queue is that of its node, and of all below it."""
        return self._by_hierarchy

    # -- within a queue -----------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes | None:
        """Within a queue by the shares of namespaces and jobs; between queues by the tree, where there is one."""
        if purpose is Purpose.PREEMPT:
            return self._within(evictor)
        return self._between(evictor) if self._by_hierarchy else None

    def _within(self, evictor: Task) -> Votes:
        """Tasks of namespaces that have more even then, and where namespaces are equal, of jobs that have.

        Even then: with the evictor placed and the victim gone, all candidates before it counted as gone too. Jobs that
        come out equal may take from each other; namespaces that do leave it to their jobs (seed 000).
        """
        own, shares, by_namespace = self._standing(evictor.job), self._shares, self._by_namespace
        if own is None:
            return Votes.none(NO_LARGER, depends_on=None)
        key, queue, namespace = own.key, own.spec.queue, evictor.namespace
        least = shares.of(own.allocated, evictor.shape.request)

        def agreed(candidates: Sequence[Task]) -> list[Task]:
            comparison = Comparison(shares, own, evictor, by_namespace)
            return [
                victim
                for victim in candidates
                if (job := self._standing(victim.job)) is not None and comparison.is_victim(victim, job)
            ]

        def rules_out(job: JobState) -> bool:
            """A job, or its namespace, that has less now will have less then.

            Of the evictor's namespace only its own job is certain to lose nothing; nothing is certain within a job.
            """
            if job.key == key:
                return False
            if by_namespace and job.spec.namespace != namespace:
                share = shares.of_namespace(queue, job.spec.namespace)
                return least / shares.weight(namespace) - share > SHARE_DELTA
            return least - shares.of(job.allocated) > SHARE_DELTA

        return Votes(agreed, NO_LARGER, rules_out, (least, namespace if by_namespace else ""))

    def _between(self, evictor: Task) -> Votes:
        """Tasks of queues that come after the evictor's even then. Its job decides, whose leaf would grow."""
        tree, taker, request = self._tree, self._standing(evictor.job), evictor.shape.request
        if taker is None or not tree.has(taker.key):
            return Votes.none(NO_LARGER)

        def agrees(victim: Task) -> bool:
            giver = self._standing(victim.job)
            return (
                giver is not None
                and tree.has(giver.key)
                and tree.goes_before(taker, request, giver, victim.shape.request)
            )

        return Votes.each(agrees, NO_LARGER)

    # -- placements ---------------------------------------------------------------------------------------------

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """The job's leaf is stale, where there is a tree."""
        self._note(job, task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """The job's leaf is stale, where there is a tree."""
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


class Shares:
    """Dominant shares of the cluster, by what some books say."""

    def __init__(self, context: SessionContext, books: UsageByQueue) -> None:
        self._total = context.snapshot.total
        self._usage = books
        self._namespaces = context.snapshot.namespaces

    def of(self, held: Mapping[int, int], request: Amounts = NOTHING) -> float:
        """The share of what is held, and of a request on top of it."""
        if request:
            held = dict(held)
            add(held, request)
        return dominant_share(held, self._total)

    def of_queue(self, queue: Queue) -> float:
        """The share that a queue holds."""
        return self.of(self._usage.queue(queue.name))

    def of_namespace(self, queue: str, namespace: str, request: Amounts = NOTHING) -> float:
        """The share that a namespace holds in a queue, and of a request on top of it, over its weight."""
        return self.of(self.held(queue, namespace), request) / self.weight(namespace)

    def held(self, queue: str, namespace: str) -> Mapping[int, int]:
        """What a namespace holds in a queue."""
        return self._usage.namespace(queue, namespace)

    def weight(self, namespace: str) -> int:
        """The weight of a namespace."""
        known = self._namespaces.get(namespace)
        return 1 if known is None else known.weight


class Comparison:
    """One preemptor against candidates in turn; each counts as gone for those after it (reference 4.4)."""

    def __init__(self, shares: Shares, own: JobState, preemptor: Task, by_namespace: bool) -> None:
        request = preemptor.shape.request
        self._shares = shares
        self._by_namespace = by_namespace
        self._queue, self._namespace = own.spec.queue, preemptor.namespace
        self._job_share = shares.of(own.allocated, request)
        self._namespace_share = shares.of_namespace(self._queue, self._namespace, request) if by_namespace else 0.0
        self._jobs: dict[str, Vector] = {}
        self._namespaces: dict[str, Vector] = {}

    def is_victim(self, victim: Task, job: JobState) -> bool:
        """Whether the preemptor may take from this task of this job."""
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
