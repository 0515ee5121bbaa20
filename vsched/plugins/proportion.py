"""proportion: the cluster divided among queues by weight, at most what they ask for (reference 4.5).

What a queue deserves is worked out once a cycle by water-filling; a queue that holds all of it is overused, and gets
no request that would lead past it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

import numpy as np

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import Admitted, UsageByQueue
from vsched.framework.nodes.why import shortages
from vsched.framework.points.extension import (
    Allocatable,
    JobEnqueueable,
    JobEnqueued,
    JobState,
    NoArgs,
    Overused,
    Plugin,
    Preemptive,
    QueueDivider,
    QueueDivision,
    QueueOrder,
    QueueScore,
    Reserving,
    SessionContext,
    Vote,
)
from vsched.framework.points.levers import QueueTerm
from vsched.framework.points.victims import Purpose, Reclaimable, Votes
from vsched.framework.refusal import Bound, Refusal, Shortage
from vsched.kernels.fairness import EPSILON, Demand, ratio, water_fill
from vsched.kernels.quota import dense, limit_of
from vsched.model.amounts.resources import PODS, Amounts, Vector, add, subtract
from vsched.model.jobs.job import without_gated
from vsched.model.nodes.table import Floats
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot
from vsched.plugins.queues.lacking import Columns, Lacking, asked_for
from vsched.plugins.queues.refusals import (
    HOLD_NO_MORE,
    beyond_cluster,
    columns_short,
    named,
    not_open,
    quota_insufficient,
)

QUEUE_OVER_SHARE = "QueueOverShare"


class Proportion(
    Plugin[NoArgs],
    QueueOrder,
    QueueScore,
    Overused,
    Allocatable,
    Reserving,
    Preemptive,
    Reclaimable,
    JobEnqueueable,
    JobEnqueued,
    QueueDivider,
):
    """Divides the cluster by weight, and holds queues to their part."""

    name = "proportion"
    queue_terms = frozenset({QueueTerm.WEIGHT, QueueTerm.GUARANTEE})
    protects_absolutely = True

    def open(self, context: SessionContext) -> None:
        """Work out what every queue with jobs deserves."""
        snapshot = context.snapshot
        self._names = snapshot.axis.names
        self._usage = context.usage
        self._admitted_too = Admitted(context.usage)
        self._standing = context.standing
        self._queues = snapshot.queues
        self._lacking = Lacking(context.nodes)
        self._snapshot = snapshot
        queues = [snapshot.queues[name] for name in sorted(snapshot.books) if name in snapshot.queues]
        limits = real_capabilities(snapshot, queues)
        deserved = water_fill(np.array(snapshot.total, dtype=np.float64), _demand(snapshot, queues, limits))
        self._deserved: dict[str, dict[int, float]] = {
            queue.name: _nonzero(row) for queue, row in zip(queues, deserved, strict=True)
        }
        self._limits: dict[str, dict[int, float]] = {
            queue.name: _but_pods(queue, dict(enumerate(row.tolist())))
            for queue, row in zip(queues, limits, strict=True)
        }
        self._bounds = {
            queue.name: _but_pods(queue, self._deserved[queue.name], self._limits[queue.name].get(PODS, 0.0))
            for queue in queues
        }
        """What a queue may hold: of pods, which nobody divides, what its capability says."""
        self._reserved: dict[str, Vector] = {}
        """Kept for pods to come, by queue."""
        self._admitted: dict[str, Vector] = {}
        for queue in queues:
            books = snapshot.books[queue.name]
            admitted = dict(books.inqueue)
            add(admitted, ((column, -value) for column, value in books.elastic.items()))
            self._admitted[queue.name] = admitted

    def share(self, queue: Queue, books: UsageByQueue | None = None) -> float:
        """The largest part the queue holds of anything it deserves, by these books; else by what is held."""
        held = (books or self._usage).queue(queue.name)
        deserved = self._deserved.get(queue.name, {})
        return max((ratio(held.get(column, 0), amount) for column, amount in deserved.items()), default=0.0)

    def queue_key(self, queue: Queue) -> tuple[float, float]:
        """Higher priority first, then the smaller share."""
        return (-queue.priority, self.share(queue))

    def queue_admission_key(self, queue: Queue) -> tuple[float, float]:
        """The same with what was admitted counted as held."""
        return (-queue.priority, self.share(queue, self._admitted_too))

    def queue_score(self, queue: Queue) -> float:
        """One less the share: a queue that has what it deserves scores 0, one that has more scores less (seed 004)."""
        return 1.0 - self.share(queue)

    def queue_admission_score(self, queue: Queue) -> float:
        """The same with what was admitted counted as held."""
        return 1.0 - self.share(queue, self._admitted_too)

    def overused(self, queue: Queue) -> bool:
        """The queue holds all it deserves, of every resource."""
        held = self._usage.queue(queue.name)
        deserved = self._deserved.get(queue.name, {})
        return all(amount < held.get(column, 0) + EPSILON for column, amount in deserved.items())

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """The queue is open, and stays within what it deserves of what is asked for."""
        if not queue.open:
            return not_open(self._queues, queue)
        held, reserved = self._usage.queue(queue.name), self._reserved.get(queue.name)
        if reserved:
            held = dict(held)
            add(held, reserved.items())
        short = shortages(self._names, request, self._bounds.get(queue.name, {}), held, reserved)
        if short:
            code = self._sort(queue, short)
            bound = "its capability" if code is Code.QUEUE_CAPABILITY else "it deserves"
            message = f"queue {queue.name} would hold more than {bound} of {named(short)}"
            return Refusal(QUEUE_OVER_SHARE, message, True, code, queue.name, short)
        return None

    def _sort(self, queue: Queue, short: Sequence[Shortage]) -> Code:
        """What bounds the queue: its capability where it deserves all of that, else its share."""
        capability = {self._names[column]: amount for column, amount in queue.capability}
        capped = all(one.limit >= capability.get(one.resource, one.limit + 1) for one in short)
        return Code.QUEUE_CAPABILITY if capped else Code.QUEUE_SHARE

    def reserve(self, queue: Queue, amounts: Amounts, sign: int) -> None:
        """Keep room in the queue."""
        (add if sign > 0 else subtract)(self._reserved.setdefault(queue.name, {}), amounts)

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """The same as allocatable: what is taken from others has to be deserved."""
        return self.allocatable(queue, request) is None

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Tasks of queues that hold more than they deserve of something that the task gives and the evictor lacks.

        More of anything is not enough: a queue could take back at once what is within its share, and the two queues
        would go on taking it from each other.
        """
        request = evictor.shape.request
        asked = asked_for(request)

        def rules_out(job: JobState) -> bool:
            """Jobs that hold nothing asked for of which their queue has more than it deserves."""
            queue = job.spec.queue
            return not self._exceeds(queue, self._usage.queue(queue), (one for one in job.allocated if one in asked))

        return Votes(lambda candidates: self._exceeding(request, candidates), HOLD_NO_MORE, rules_out, asked)

    def _exceeding(self, request: Amounts, candidates: Sequence[Task]) -> list[Task]:
        """Each victim counts as gone for those after it."""
        lacked = dict[str, Columns]()
        left: dict[str, Vector] = {}
        victims: list[Task] = []
        for victim in candidates:
            job = self._standing(victim.job)
            if job is None:
                continue
            queue = job.spec.queue
            held = left.setdefault(queue, dict(self._usage.queue(queue)))
            node = victim.node
            if node not in lacked:
                lacked[node] = self._lacking.of(request, node)
            if self._exceeds(queue, held, (column for column, _ in victim.shape.request if column in lacked[node])):
                subtract(held, victim.shape.request)
                victims.append(victim)
        return victims

    def _exceeds(self, queue: str, held: Mapping[int, int], columns: Iterable[int]) -> bool:
        """Whether more than deserved is held of any of these resources, pod slots aside; False for unknown queues."""
        deserved = self._deserved.get(queue)
        if deserved is None:
            return False
        return any(held.get(column, 0) >= deserved.get(column, 0.0) + EPSILON for column in columns if column != PODS)

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """What is held and admitted already, and the job's minimum, fit what the queue may hold at most."""
        queue = self._queues[job.queue]
        if not queue.open:
            return not_open(self._queues, queue)
        wanted = job.spec.min_resources
        if wanted is None:
            return Vote.PERMIT
        taken = dict(self._usage.queue(queue.name))
        admitted = self._admitted[queue.name]
        add(taken, admitted.items())
        short = shortages(self._names, wanted, self._limits[queue.name], taken, admitted)
        if not short:
            return Vote.PERMIT
        bounds = (self.bound(queue, column) for column in columns_short(self._names, short))
        beyond = beyond_cluster(self._snapshot, wanted)
        return quota_insufficient(queue.name, f"queue {queue.name}", short, beyond, bounds)

    def job_enqueued(self, job: JobView) -> None:
        """Count the admitted job's minimum."""
        if job.spec.min_resources is not None:
            add(self._admitted[job.queue], without_gated(job.job, job.spec.min_resources))

    def division(self, queue: Queue) -> QueueDivision | None:
        """Share, deserved amounts and whether the queue has all of them."""
        deserved = self._deserved.get(queue.name)
        if deserved is None:
            return None
        return QueueDivision(self.share(queue), deserved, self.overused(queue), queue.capability)

    def bound(self, queue: Queue, column: int) -> Bound | None:
        """Its own capability, else the cluster less what others are guaranteed."""
        limit = self._limits.get(queue.name, {}).get(column, inf)
        if limit == inf:
            return None
        own = dict(queue.capability).get(column, inf)
        total = self._snapshot.total[column]
        if limit >= own:
            return Bound(int(limit), total, queue.name)
        others = (one.name for one in self._queues.values() if one is not queue and dict(one.guarantee).get(column))
        return Bound(int(limit), total, "", tuple(sorted(others)))


def real_capabilities(snapshot: Snapshot, queues: list[Queue]) -> Floats:
    """What each queue may hold at most: the cluster without what others are guaranteed, and its own capability.

    ``float64[queue, resource]``; a capability that names no amount of a resource does not limit it.
    """
    width = len(snapshot.total)
    guaranteed = np.zeros(width)
    for queue in snapshot.queues.values():
        guaranteed += dense(queue.guarantee, width)
    free = np.maximum(np.array(snapshot.total, dtype=np.float64) - guaranteed, 0.0)
    limits = np.empty((len(queues), width))
    for row, queue in enumerate(queues):
        limits[row] = np.minimum(free + dense(queue.guarantee, width), limit_of(queue.capability, width))
    return limits


def _demand(snapshot: Snapshot, queues: list[Queue], limits: Floats) -> Demand:
    width = len(snapshot.total)
    request = np.zeros((len(queues), width))
    floor = np.zeros((len(queues), width))
    for row, queue in enumerate(queues):
        books = snapshot.books[queue.name]
        request[row] = dense(books.allocated.items(), width) + dense(books.pending.items(), width)
        floor[row] = np.minimum(dense(queue.guarantee, width), limits[row])  # not past its own capability
    weights = np.array([queue.weight for queue in queues], dtype=np.float64)
    return Demand(weights, request, limits, floor)


def _but_pods(queue: Queue, limits: dict[int, float], pods: float | None = None) -> dict[int, float]:
    """The limits, that of pods only where the queue's capability names one, and then as given."""
    found = {column: limit for column, limit in limits.items() if column != PODS}
    if any(column == PODS for column, _ in queue.capability):
        found[PODS] = limits[PODS] if pods is None else pods
    return found


def _nonzero(row: Floats) -> dict[int, float]:
    return {column: value for column, value in enumerate(row.tolist()) if value >= EPSILON}
