"""proportion: divides the cluster among queues by weight; no queue gets more than it requests.

Water-filling computes the deserved amounts of all queues once a cycle. A queue that holds all it deserves is overused.
A queue gets no request that would take it past its deserved amount.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import shortages, within
from vsched.framework.points.extension import (
    Allocatable,
    DividedBy,
    JobEnqueueable,
    JobEnqueued,
    JobState,
    NoArgs,
    Overused,
    PlacementListener,
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
)
from vsched.framework.points.terms import QueueTerm
from vsched.framework.points.victims import Keeping, Purpose, Reclaimable, Votes
from vsched.framework.refusal import QueueBound, Refusal, Shortage
from vsched.kernels.fairness import ratio
from vsched.model.amounts.resources import PODS, Amounts, Vector, add, less, subtract
from vsched.model.jobs.job import without_gated
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.queues.giving_back import keeps_guarantee
from vsched.plugins.queues.guarantees import Guarantees
from vsched.plugins.queues.refusals import (
    Lacking,
    asked_for,
    beyond_cluster,
    columns_short,
    not_open,
    quota_insufficient,
)
from vsched.plugins.queues.weighted import Shares, shares_of
from vsched.plugins.words import queues as words
from vsched.plugins.words import victims

QUEUE_OVER_SHARE = "QueueOverShare"
NOTHING_DESERVED: Mapping[int, int] = {}


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
    PlacementListener,
):
    """Divides the cluster by weight, and limits queues to what they deserve."""

    name = "proportion"
    by_request_alone = True
    timeless = True
    votes_by_kind = True
    terms = frozenset({QueueTerm.WEIGHT, QueueTerm.GUARANTEE, QueueTerm.CAPABILITY, QueueTerm.PRIORITY})
    protects_absolutely = True
    keeps_deserved = True

    def open(self, context: SessionContext) -> None:
        """Compute what each queue with jobs deserves."""
        snapshot = context.snapshot
        self._names = snapshot.axis.names
        self._usage = context.usage
        self._job_state = context.job_state
        self._queues = snapshot.queues
        self._nodes = context.nodes
        self._snapshot = snapshot
        self._shares = context.memo.renewed(
            self.name, "shares", Shares, lambda before: shares_of(snapshot, context.weights, before)
        )
        self._deserved, self._limits, self._bounds = self._shares.deserved, self._shares.limits, self._shares.bounds
        self._reserved: dict[str, Vector] = {}
        """Amounts reserved for future pods, by queue."""
        guarantees = {name: queue.guarantee for name, queue in snapshot.queues.items() if queue.guarantee}
        self._guarantees = (
            Guarantees(context, guarantees, lambda name: (), lambda name: {}, self._taken) if guarantees else None
        )
        self._admitted: dict[str, Vector] = {}

    def _admitted_in(self, queue: str) -> Vector:
        """What the jobs of a queue were admitted for and do not hold; made when first asked for."""
        admitted = self._admitted.get(queue)
        if admitted is None:
            books = self._snapshot.books[queue]
            admitted = self._admitted[queue] = dict(books.inqueue)
            add(admitted, ((column, -value) for column, value in books.elastic.items()))
        return admitted

    def share(self, queue: Queue, *, admitting: bool = False) -> float:
        """The largest ratio of held to deserved over all resources; with ``admitting``, pledges count as held."""
        name = queue.name
        held, pledged = self._usage.queue(name), self._usage.pledges.queue(name) if admitting else None
        share = None
        for column, amount in self._deserved.get(name, NOTHING_DESERVED).items():  # quicker than max of a generator
            has = held.get(column, 0)
            if pledged:
                has += pledged.get(column, 0)
            part = has / amount if amount else ratio(has, amount)
            if share is None or part > share:
                share = part
        return 0.0 if share is None else share

    def queue_key(self, queue: Queue) -> tuple[float, float]:
        """Higher priority first, then the smaller share."""
        return (-queue.priority, self.share(queue))

    def queue_admission_key(self, queue: Queue) -> tuple[float, float]:
        """Like ``queue_key``, but admitted amounts count as held."""
        return (-queue.priority, self.share(queue, admitting=True))

    def queue_score(self, queue: Queue) -> float:
        """1 minus the share: a queue with all it deserves scores 0, a queue with more scores less than 0."""
        return 1.0 - self.share(queue)

    def queue_admission_score(self, queue: Queue) -> float:
        """Like ``queue_score``, but admitted amounts count as held."""
        return 1.0 - self.share(queue, admitting=True)

    def overused(self, queue: Queue) -> bool:
        """Whether the queue holds all it deserves of every resource."""
        held = self._usage.queue(queue.name)
        deserved = self._deserved.get(queue.name, NOTHING_DESERVED)
        for column, amount in deserved.items():  # noqa: SIM110 - a generator would take twice as long
            if amount > held.get(column, 0):
                return False
        return True

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None if the queue is open, the request stays within what it deserves, and guarantees of others stay free."""
        refusal = self._beyond_share(queue, request)
        return refusal or (None if self._guarantees is None else self._guarantees.refusal(queue.name, request))

    def _taken(self, name: str) -> Mapping[int, int]:
        """What a queue holds, and what is reserved in it."""
        held, reserved = self._usage.queue(name), self._reserved.get(name)
        if not reserved:
            return held
        taken = dict(held)
        add(taken, reserved.items())
        return taken

    def _beyond_share(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None if the queue is open and the request stays within what the queue deserves."""
        if not queue.open:
            return not_open(self._queues, queue)
        held, reserved = self._usage.queue(queue.name), self._reserved.get(queue.name) if self._reserved else None
        bounds = self._bounds.get(queue.name, NOTHING_DESERVED)
        if not reserved and within(request, bounds, held):
            return None
        held = self._taken(queue.name)
        short = shortages(self._names, request, bounds, held, reserved)
        if short:
            code = self._sort(queue, short)
            message = words.over_share(queue.name, words.names_of(short), capability=code is Code.QUEUE_CAPABILITY)
            return Refusal(QUEUE_OVER_SHARE, message, not self._is_capped(queue, short), code, queue.name, short)
        return None

    def _is_capped(self, queue: Queue, short: Sequence[Shortage]) -> bool:
        """Whether the capability would be exceeded as well: it does not drop for a moment, as shares do."""
        capability = {self._names[column]: amount for column, amount in queue.capability}
        return any(one.held + one.asked > capability.get(one.resource, inf) for one in short)

    def _sort(self, queue: Queue, short: Sequence[Shortage]) -> Code:
        """The code of the bound: the capability where the queue deserves all of it, else the share."""
        capability = {self._names[column]: amount for column, amount in queue.capability}
        capped = all(one.limit >= capability.get(one.resource, one.limit + 1) for one in short)
        return Code.QUEUE_CAPABILITY if capped else Code.QUEUE_SHARE

    def reserve(self, queue: Queue, task: Task, sign: int) -> None:
        """Reserve room in the queue, or free it (``sign`` < 0)."""
        amounts = task.shape.request
        (add if sign > 0 else subtract)(self._reserved.setdefault(queue.name, {}), amounts)
        if self._guarantees is not None:
            self._guarantees.shift(queue.name, amounts, sign)

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Follow what is kept free for queues with guarantees."""
        if self._guarantees is not None:
            self._guarantees.shift(job.queue, task.shape.request, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Follow what is kept free for queues with guarantees."""
        if self._guarantees is not None:
            self._guarantees.shift(job.queue, task.shape.request, -1)

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """A queue may reclaim only what it deserves."""
        return self._beyond_share(queue, request) is None

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Tasks of queues that hold more than they deserve of a resource that the task frees and the evictor lacks.

        Guarantees have to stay held.

        Holding more of another resource is not enough: the victim's queue could reclaim at once what is within its
        share, and the two queues would evict each other's tasks again and again. The last victim may take its queue
        below what it deserves of that resource, unless the queue has to keep that.
        """
        request = evictor.shape.request
        asked = asked_for(request)

        def rules_out(job: JobState) -> bool:
            """Jobs that hold no requested resource of which their queue has more than it deserves."""
            queue = job.spec.queue
            return not self._exceeds(queue, self._usage.queue(queue), (one for one in job.allocated if one in asked))

        agreed = partial(self._exceeding, request)
        return Votes(agreed, victims.QUEUES_HOLD_NO_MORE, rules_out, asked, agreed_keeping=agreed)

    def _exceeding(self, request: Amounts, candidates: Sequence[Task], keeping: Keeping | None = None) -> list[Task]:
        """Each victim counts as evicted for the candidates after it."""
        lacked = Lacking(self._nodes).of(request, candidates[0].node) if candidates else ()
        left: dict[str, Vector] = {}
        victims: list[Task] = []
        for victim in candidates:
            job = self._job_state(victim.job)
            if job is None:
                continue
            queue = job.spec.queue
            held = left.setdefault(queue, dict(self._usage.queue(queue)))
            given = tuple([(column, amount) for column, amount in victim.shape.request if column in lacked])
            if not self._exceeds(queue, held, (column for column, _ in given)):
                continue
            if not keeps_guarantee(held, victim.shape.request, self._queues[queue].guarantee):
                continue
            if keeping is not None and keeping(victim) and not self._keeps_deserved(queue, held, given):
                continue
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
        return any(held.get(column, 0) > deserved.get(column, 0) for column in columns if column != PODS)

    def _keeps_deserved(self, queue: str, held: Mapping[int, int], given: Amounts) -> bool:
        """Whether the queue still holds what it deserves of these resources after losing these amounts."""
        deserved = self._deserved[queue]
        return all(held.get(column, 0) - amount >= deserved.get(column, 0) for column, amount in given)

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permits a job if its minimum fits the queue's limit, beside held and admitted amounts."""
        queue = self._queues[job.queue]
        if not queue.open:
            return not_open(self._queues, queue)
        wanted = job.spec.min_resources
        if wanted is None:
            return Vote.PERMIT
        held, limits, admitted = self._usage.queue(queue.name), self._limits[queue.name], self._admitted_in(queue.name)
        aside = self._usage.pledges.aside
        if aside is not None:
            admitted = less(admitted, aside.queues.get(queue.name, {}))
        if within(wanted, limits, held, admitted):
            return Vote.PERMIT
        taken = dict(held)
        add(taken, admitted.items())
        short = shortages(self._names, wanted, limits, taken, admitted)
        bounds = (self.bound(queue, column) for column in columns_short(self._names, short))
        beyond = beyond_cluster(self._snapshot, wanted)
        return quota_insufficient(queue.name, f"queue {queue.name}", short, beyond, bounds)

    def job_enqueued(self, job: JobView) -> None:
        """Add the minimum of the admitted job to its queue."""
        if job.spec.min_resources is not None:
            add(self._admitted_in(job.queue), without_gated(job.job, job.spec.min_resources))

    def division(self, queue: Queue) -> QueueDivision | None:
        """The queue's share, deserved amounts, and whether it holds all of them."""
        deserved = self._deserved.get(queue.name)
        if deserved is None:
            return None
        return QueueDivision(self.share(queue), deserved, self.overused(queue), queue.capability)

    def divided_by(self) -> DividedBy:
        """What each queue deserves."""
        return DividedBy(self._deserved)

    def stated_limits(self, queue: Queue) -> Iterator[StatedLimit]:
        """Its capability."""
        if queue.capability:
            yield StatedLimit(queue.name, queue.capability, self._usage.queue(queue.name))

    def bound(self, queue: Queue, column: int) -> QueueBound | None:
        """What limits the queue: its own capability, else the cluster minus the guarantees of other queues."""
        limit = self._limits.get(queue.name, {}).get(column, inf)
        if limit == inf:
            return None
        own = dict(queue.capability).get(column, inf)
        total = self._snapshot.total[column]
        if limit >= own:
            return QueueBound(int(limit), total, queue.name)
        others = (one.name for one in self._queues.values() if one is not queue and dict(one.guarantee).get(column))
        return QueueBound(int(limit), total, "", tuple(sorted(others)))
