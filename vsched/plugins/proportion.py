"""proportion: divides the cluster among queues by weight; no queue gets more than it requests.

Water-filling computes the deserved amounts of all queues once a cycle. A queue that holds all it deserves is overused.
A queue gets no request that would take it past its deserved amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    StatedLimit,
    Vote,
    stated_weights,
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
    """Divides the cluster by weight, and limits queues to what they deserve."""

    name = "proportion"
    votes_by_kind = True
    queue_terms = frozenset({QueueTerm.WEIGHT, QueueTerm.GUARANTEE})
    protects_absolutely = True

    def open(self, context: SessionContext) -> None:
        """Compute what each queue with jobs deserves."""
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
        deserved = water_fill(
            np.array(snapshot.total, dtype=np.float64), _demand(snapshot, queues, limits, context.weights(queues))
        )
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
        """What a queue may hold: the deserved amounts; of pods, which are not divided, the capability."""
        self._reserved: dict[str, Vector] = {}
        """Amounts reserved for future pods, by queue."""
        self._admitted: dict[str, Vector] = {}
        for queue in queues:
            books = snapshot.books[queue.name]
            admitted = dict(books.inqueue)
            add(admitted, ((column, -value) for column, value in books.elastic.items()))
            self._admitted[queue.name] = admitted

    def share(self, queue: Queue, books: UsageByQueue | None = None) -> float:
        """The largest ratio of held to deserved over all resources; ``books`` replaces the session's usage."""
        held = (books or self._usage).queue(queue.name)
        deserved = self._deserved.get(queue.name, {})
        return max((ratio(held.get(column, 0), amount) for column, amount in deserved.items()), default=0.0)

    def queue_key(self, queue: Queue) -> tuple[float, float]:
        """Higher priority first, then the smaller share."""
        return (-queue.priority, self.share(queue))

    def queue_admission_key(self, queue: Queue) -> tuple[float, float]:
        """Like ``queue_key``, but admitted amounts count as held."""
        return (-queue.priority, self.share(queue, self._admitted_too))

    def queue_score(self, queue: Queue) -> float:
        """1 minus the share: a queue with all it deserves scores 0, a queue with more scores less than 0."""
        return 1.0 - self.share(queue)

    def queue_admission_score(self, queue: Queue) -> float:
        """Like ``queue_score``, but admitted amounts count as held."""
        return 1.0 - self.share(queue, self._admitted_too)

    def overused(self, queue: Queue) -> bool:
        """Whether the queue holds all it deserves of every resource."""
        held = self._usage.queue(queue.name)
        deserved = self._deserved.get(queue.name, {})
        return all(amount < held.get(column, 0) + EPSILON for column, amount in deserved.items())

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None if the queue is open and the request stays within what the queue deserves."""
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
        """The code of the bound: the capability where the queue deserves all of it, else the share."""
        capability = {self._names[column]: amount for column, amount in queue.capability}
        capped = all(one.limit >= capability.get(one.resource, one.limit + 1) for one in short)
        return Code.QUEUE_CAPABILITY if capped else Code.QUEUE_SHARE

    def reserve(self, queue: Queue, amounts: Amounts, sign: int) -> None:
        """Reserve room in the queue, or free it (``sign`` < 0)."""
        (add if sign > 0 else subtract)(self._reserved.setdefault(queue.name, {}), amounts)

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """Like ``allocatable``: a queue may reclaim only what it deserves."""
        return self.allocatable(queue, request) is None

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Tasks of queues that hold more than they deserve of a resource that the task frees and the evictor lacks.

        Holding more of another resource is not enough: the victim's queue could reclaim at once what is within its
        share, and the two queues would evict each other's tasks again and again.
        """
        request = evictor.shape.request
        asked = asked_for(request)

        def rules_out(job: JobState) -> bool:
            """Jobs that hold no requested resource of which their queue has more than it deserves."""
            queue = job.spec.queue
            return not self._exceeds(queue, self._usage.queue(queue), (one for one in job.allocated if one in asked))

        return Votes(lambda candidates: self._exceeding(request, candidates), HOLD_NO_MORE, rules_out, asked)

    def _exceeding(self, request: Amounts, candidates: Sequence[Task]) -> list[Task]:
        """Each victim counts as evicted for the candidates after it."""
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
        """Whether the queue holds more than it deserves of some of these resources, ``pods`` excluded.

        False for unknown queues.
        """
        deserved = self._deserved.get(queue)
        if deserved is None:
            return False
        return any(held.get(column, 0) >= deserved.get(column, 0.0) + EPSILON for column in columns if column != PODS)

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permits a job if its minimum fits the queue's limit, beside held and admitted amounts."""
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
        """Add the minimum of the admitted job to its queue."""
        if job.spec.min_resources is not None:
            add(self._admitted[job.queue], without_gated(job.job, job.spec.min_resources))

    def division(self, queue: Queue) -> QueueDivision | None:
        """The queue's share, deserved amounts, and whether it holds all of them."""
        deserved = self._deserved.get(queue.name)
        if deserved is None:
            return None
        return QueueDivision(self.share(queue), deserved, self.overused(queue), queue.capability)

    def stated_limits(self, queue: Queue) -> Iterator[StatedLimit]:
        """Its capability."""
        if queue.capability:
            yield StatedLimit(queue.name, queue.capability, self._usage.queue(queue.name))

    def bound(self, queue: Queue, column: int) -> Bound | None:
        """What limits the queue: its own capability, else the cluster minus the guarantees of other queues."""
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
    """The most each queue may hold: the cluster minus the guarantees of others, bounded by its own capability.

    ``float64[queue, resource]``. A capability does not limit resources that it does not name.
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


def _demand(snapshot: Snapshot, queues: list[Queue], limits: Floats, weights: Floats) -> Demand:
    width = len(snapshot.total)
    request = np.zeros((len(queues), width))
    floor = np.zeros((len(queues), width))
    for row, queue in enumerate(queues):
        books = snapshot.books[queue.name]
        request[row] = dense(books.allocated.items(), width) + dense(books.pending.items(), width)
        floor[row] = np.minimum(dense(queue.guarantee, width), limits[row])  # not past its own capability
    # Weights with memory may be 0; what nobody else asks for is divided by the stated ones all the same.
    return Demand(weights, request, limits, floor, stated_weights(queues))


def _but_pods(queue: Queue, limits: dict[int, float], pods: float | None = None) -> dict[int, float]:
    """The limits, with one for pods only where the capability names pods: then ``pods`` if given, else the limit."""
    found = {column: limit for column, limit in limits.items() if column != PODS}
    if any(column == PODS for column, _ in queue.capability):
        found[PODS] = limits[PODS] if pods is None else pods
    return found


def _nonzero(row: Floats) -> dict[int, float]:
    return {column: value for column, value in enumerate(row.tolist()) if value >= EPSILON}
