"""capacity: divides the cluster among queues by amounts of each resource, not by weight.

A queue states three amounts. It may hold at most its ``capability``. Its ``guarantee`` stays free for it, whichever
queue asks. It may reclaim its ``deserved`` amount; while it does not use that amount, other queues may. A queue that
deserves nothing comes last. With ``enableHierarchy``, queues form a tree by ``spec.parent``: jobs belong in the leaves,
and each queue above has to have room for them too.

A capability may also limit devices: ``deviceclass/CLASS`` is how many devices of a class the ResourceClaims of the
queue may ask for, and ``cores.deviceclass/CLASS`` how much of their capacity ``cores``. A claim that several pods share
counts once. Deserved and guaranteed amounts of devices have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import exceeding, shortages
from vsched.framework.points.extension import (
    Allocatable,
    ClaimLimit,
    DividedBy,
    JobEnqueueable,
    JobEnqueued,
    PlacementListener,
    Plugin,
    Preemptive,
    QueueDivider,
    QueueDivision,
    QueueOrder,
    QueuePart,
    QueueScore,
    Reserving,
    SessionContext,
    StatedLimit,
    Vote,
)
from vsched.framework.points.terms import QueueTerm
from vsched.framework.points.victims import Purpose, Reclaimable, VictimQueueOrder, Votes
from vsched.framework.refusal import QueueBound, Refusal
from vsched.model.amounts.resources import NOTHING, Amounts, add, subtract
from vsched.model.claims.quota import device_amount
from vsched.model.jobs.job import without_gated
from vsched.model.pods.task import Task
from vsched.model.queues.queue import ROOT, Queue
from vsched.plugins.queues.accounts import Account, Accounts, Sums, guarantees_of, problems_of, sums_of
from vsched.plugins.queues.devices import DeviceQuotas, limits_of
from vsched.plugins.queues.giving_back import deserves_some
from vsched.plugins.queues.ranks import Key, QueueRanks
from vsched.plugins.queues.reclaiming import Reclaiming
from vsched.plugins.queues.refusals import (
    QUEUE_FULL,
    beyond_cluster,
    columns_short,
    not_open,
    quota_insufficient,
)
from vsched.plugins.words import queues as words

QUEUE_LEFT_OUT = "QueueLeftOut"
QUEUE_NOT_LEAF = "QueueNotLeaf"

NO_SUBTREE: Mapping[int, int] = {}


class CapacityArgs(msgspec.Struct, frozen=True):
    """How far up the tree reclaiming looks, and which quotas of devices count."""

    ancestor_reclaim_level: int = msgspec.field(default=0, name="ancestorReclaimLevel")
    """How many queues above a queue may claim back for it what they deserve; negative means 0.

    What queues above a victim's own deserve is theirs whatever the level.
    """
    resource_claims: bool = msgspec.field(default=True, name="capacity.DynamicResourceAllocationEnable")
    """Whether a queue's capability limits the devices that its ResourceClaims ask for."""
    consumable_capacity: bool = msgspec.field(default=True, name="capacity.DRAConsumableCapacityEnable")
    """Whether it also limits how much capacity of these devices the claims ask for (``cores.deviceclass/CLASS``)."""

    def normalised(self) -> CapacityArgs:
        """The same with 0 in place of a negative level."""
        return msgspec.structs.replace(self, ancestor_reclaim_level=max(0, self.ancestor_reclaim_level))


class Capacity(
    Plugin[CapacityArgs],
    QueueOrder,
    Allocatable,
    ClaimLimit,
    Reserving,
    Preemptive,
    Reclaimable,
    VictimQueueOrder,
    JobEnqueueable,
    JobEnqueued,
    QueueScore,
    QueueDivider,
    PlacementListener,
):
    """Limits queues to their capability, and lets each reclaim what it deserves."""

    name = "capacity"
    by_request_alone = True
    timeless = True
    votes_by_kind = True
    terms = frozenset({QueueTerm.DESERVED, QueueTerm.GUARANTEE, QueueTerm.CAPABILITY, QueueTerm.PRIORITY})
    tree_terms = frozenset({QueueTerm.PARENT})
    hierarchical = True
    args_type = CapacityArgs
    protects_absolutely = True
    keeps_deserved = True

    def open(self, context: SessionContext) -> None:
        """Compute the amounts in force for each queue."""
        snapshot = context.snapshot
        self._names = snapshot.axis.names
        self._usage = context.usage
        self._queues = snapshot.queues
        self._snapshot = snapshot
        self._hierarchy = context.switches.hierarchy
        sums = context.memo.renewed(
            self.name, "sums", Sums, lambda before: sums_of(snapshot, in_a_tree=self._hierarchy, before=before)
        )
        self._accounts, self._problems = Accounts(sums), problems_of(sums.frame, snapshot)
        self._guarantees = guarantees_of(context, self._accounts)
        level = self.args.normalised().ancestor_reclaim_level if self._hierarchy else 0
        self._reclaiming = Reclaiming(self._accounts, context, level)
        self._devices = self._device_quotas()
        self._ranks = QueueRanks(self._usage, self._accounts, in_a_tree=self._hierarchy)

    def _device_quotas(self) -> DeviceQuotas | None:
        """The quotas of devices; None where no queue has any, so that nothing is paid for them."""
        if not self.args.resource_claims:
            return None
        queues, axis = self._queues.values(), self._snapshot.axis
        limits = limits_of(queues, axis, capacities=self.args.consumable_capacity)
        return DeviceQuotas(self._snapshot, self._accounts, limits) if limits else None

    # -- orders -------------------------------------------------------------------------------------------------

    def queue_key(self, queue: Queue) -> Key:
        """Higher priority first, then the smaller share; in a tree, compared level by level among siblings."""
        return self._ranks.key(queue, admitting=False)

    def queue_admission_key(self, queue: Queue) -> Key:
        """Like ``queue_key``, but admitted amounts count as held."""
        return self._ranks.key(queue, admitting=True)

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Sequence[QueuePart]:
        """The parts of the sort key; in a tree, one for each queue on the path down."""
        return list(self._ranks.parts(queue, admitting=admitting))

    def queues_move_together(self) -> bool:
        """True in a tree: what one queue gets counts for the queues above it, and so for all queues below those."""
        return self._hierarchy

    def queue_score(self, queue: Queue) -> float:
        """1 minus the share: the free part of the deserved amount, of the resource with the least left."""
        return self._ranks.score(queue, admitting=False)

    def queue_admission_score(self, queue: Queue) -> float:
        """Like ``queue_score``, but admitted amounts count as held."""
        return self._ranks.score(queue, admitting=True)

    # -- limits -------------------------------------------------------------------------------------------------

    def allocatable(self, queue: Queue, request: Amounts) -> Refusal | None:
        """None if the queue is open, it and all queues above it stay within their limits, and guarantees stay free."""
        account = self._usable(queue)
        if isinstance(account, Refusal):
            return account
        for one in (account, *account.above):
            short = shortages(self._names, request, one.terms.limit, one.taken(self._usage), one.reserved)
            if short:
                message = words.over_limit(one.name, account.name, words.names_of(short))
                return Refusal(QUEUE_FULL, message, False, Code.QUEUE_CAPABILITY, one.name, short)
        return None if self._guarantees is None else self._guarantees.refusal(queue.name, request)

    def room_above(self, queue: Queue, column: int) -> Mapping[str, int]:
        """What the limits of the queues above leave, in a tree."""
        account = self._accounts.get(queue.name)
        limits = [(one, one.terms.limit.get(column, inf)) for one in (() if account is None else account.above)]
        return {one.name: int(limit) - one.taken(self._usage).get(column, 0) for one, limit in limits if limit < inf}

    def claim_limit(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """None if the queue and all queues above it stay within their quotas of devices with the tasks' claims."""
        account = self._accounts.get(queue.name)
        found = None if self._devices is None or account is None else self._devices.short(account, tasks)
        if found is None or account is None:
            return None
        one, short = found
        message = words.over_limit(one.name, account.name, words.names_of(short))
        return Refusal(QUEUE_FULL, message, False, Code.QUEUE_CAPABILITY, one.name, short)

    def reserve(self, queue: Queue, task: Task, sign: int) -> None:
        """Reserve room and devices in the queue and in all queues above it, or free them (``sign`` < 0)."""
        account, amounts = self._accounts.get(queue.name), task.shape.request
        if account is not None:
            for one in (account, *account.above):
                (add if sign > 0 else subtract)(one.reserved, amounts)
            if self._guarantees is not None:
                self._guarantees.shift(queue.name, amounts, sign)
            if self._devices is not None and task.claims is not None and task.claims.devices:
                self._devices.reserve(account, (task,), sign)

    def preemptive(self, queue: Queue, request: Amounts) -> bool:
        """Whether the queue may reclaim: it may hold the request and deserves some of it, by itself or by an ancestor.

        ``ancestorReclaimLevel`` says how many ancestors count.
        """
        account = self._usable(queue)
        if isinstance(account, Refusal):
            return False
        if exceeding(self._names, request, account.terms.limit, account.held(self._usage)):
            return False
        claiming = self._reclaiming.claiming(account)
        return any(deserves_some(one.held(self._usage), one.terms.deserved, request) for one in claiming)

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permits a job if its minimum fits the queue and all queues above it, beside held and admitted amounts."""
        account = self._usable(self._queues[job.queue])
        if isinstance(account, Refusal):
            return account
        devices = None if self._devices is None else self._devices.short_for_job(account, job.job)
        if devices is not None:
            one, short = devices
            return quota_insufficient(one.name, words.called(one.name, account.name), short, None, ())
        wanted = job.spec.min_resources
        if wanted is None:
            return Vote.PERMIT
        for one in (account, *account.above):
            held, admitted = one.held(self._usage), self._accounts.admitted(one, self._usage.pledges.aside)
            taken = {column: held.get(column, 0) + admitted.get(column, 0) for column, _ in wanted}
            short = shortages(self._names, wanted, one.terms.ceiling, taken, admitted)
            if short:
                found = self._queues.get(one.name, Queue(one.name))
                bounds = (self.bound(found, column) for column in columns_short(self._names, short))
                beyond = None if self._hierarchy else beyond_cluster(self._snapshot, wanted)
                return quota_insufficient(one.name, words.called(one.name, account.name), short, beyond, bounds)
        return Vote.PERMIT

    def job_enqueued(self, job: JobView) -> None:
        """Add the minimum of the admitted job to its queue and to all queues above it."""
        account = self._accounts.get(job.queue)
        if account is not None and self._devices is not None:
            self._devices.admit(account, job.job)
        if account is not None and job.spec.min_resources is not None:
            wanted = without_gated(job.job, job.spec.min_resources)
            for one in (account, *account.above):
                add(one.admitted, wanted)

    def _usable(self, queue: Queue) -> Account | Refusal:
        """The account of a queue that takes jobs, or the refusal."""
        account = self._accounts.get(queue.name)
        if account is None:
            message = words.ignored(queue.name, self._problems[queue.name].message)
            return Refusal(QUEUE_LEFT_OUT, message, code=Code.QUEUE_LEFT_OUT, subject=queue.name)
        if account.subtree is not None:
            message = words.not_leaf(queue.name)
            return Refusal(QUEUE_NOT_LEAF, message, code=Code.QUEUE_NOT_LEAF, subject=queue.name)
        if not queue.open:
            return not_open(self._queues, queue)
        return account

    def on_allocate(self, job: JobView, task: Task, row: int) -> None:
        """Add the placed task to its queue and, in a tree, to all queues above it."""
        for account in self._path(job):
            account.shift(task.shape.request, 1)
        if self._guarantees is not None:
            self._guarantees.shift(job.queue, task.shape.request, 1)
        self._count_claims(job, task, 1)

    def on_release(self, job: JobView, task: Task, row: int) -> None:
        """Subtract the task from its queue and, in a tree, from all queues above it."""
        for account in self._path(job):
            account.shift(task.shape.request, -1)
        if self._guarantees is not None:
            self._guarantees.shift(job.queue, task.shape.request, -1)
        self._count_claims(job, task, -1)

    def _count_claims(self, job: JobView, task: Task, sign: int) -> None:
        if self._devices is not None and task.claims is not None and job.queue in self._accounts:
            self._devices.shift(self._accounts[job.queue], task, sign)

    def _path(self, job: JobView) -> tuple[Account, ...]:
        account = self._accounts.get(job.queue) if self._hierarchy else None
        return () if account is None else (account, *account.above)

    # -- victims ------------------------------------------------------------------------------------------------

    def victim_votes(self, evictor: Task, purpose: Purpose) -> Votes:
        """Tasks of queues that hold more than they deserve of what the evictor lacks; guarantees have to stay held."""
        return self._reclaiming.votes(evictor)

    def victim_queue_key(self, victim: Queue, evictor: Queue) -> int:
        """Reclaim takes first from the queues that are nearest to the evictor's queue in the tree."""
        ours, theirs = (self._accounts.get(queue.name) for queue in (evictor, victim))
        if ours is None or theirs is None:
            return 0
        return -sum(1 for one, other in zip(reversed(ours.above), reversed(theirs.above), strict=False) if one is other)

    # -- reports ------------------------------------------------------------------------------------------------

    def division(self, queue: Queue) -> QueueDivision | None:
        """The queue's share, deserved amounts and real capability, and its problem if it has one."""
        name, problem = queue.name, self._problems.get(queue.name)
        account = self._accounts.get(name)
        if account is None:
            return QueueDivision(0.0, {}, overused=False, capability=NOTHING, problem=problem)
        return self._divided(queue, account, problem)

    def divided_by(self) -> DividedBy | None:
        """The amounts in force, and what the queues below hold; None where devices or jobs in parents count as well."""
        frame = self._accounts.frame
        if self._devices is not None or self._problems is not frame.problems:
            return None
        return DividedBy(self._accounts.held_below(), frame)

    def _divided(self, queue: Queue, account: Account, problem: Refusal | None) -> QueueDivision:
        share, limit = account.share(self._usage), account.terms.limit
        stated = dict(queue.capability)
        finite = {
            column: int(value)
            for column, value in limit.items()
            if value < float("inf") and (value or column in stated)
        }
        # The cluster has no amounts of these: they are bounded by quotas alone.
        finite |= {column: stated[column] for column in finite if device_amount(self._names[column]) is not None}
        devices = {} if self._devices is None else self._devices.held(queue.name, self._snapshot.axis)
        subtree = {**account.held(self._usage), **devices} if self._hierarchy else NO_SUBTREE
        own = devices if account.subtree is None else {}
        return QueueDivision(share, account.terms.deserved, share > 1, tuple(finite.items()), problem, subtree, own)

    def stated_limits(self, queue: Queue) -> Iterator[StatedLimit]:
        """The capability of the queue, and of those above it in a tree."""
        account = self._accounts.get(queue.name)
        for one in () if account is None else (account, *account.above):
            stated = self._queues.get(one.name)
            if stated is not None and stated.capability:
                yield StatedLimit(one.name, stated.capability, one.held(self._usage))

    def bound(self, queue: Queue, column: int) -> QueueBound | None:
        """What limits the queue: its own capability, else the limit of the queue above minus siblings' guarantees.

        At the root, the cluster is the limit.
        """
        account = self._accounts.get(queue.name)
        if account is None:
            return None
        if (amount := device_amount(self._names[column])) is not None:
            quota = None if self._devices is None else self._devices.limit(queue.name, amount)
            return None if quota is None else QueueBound(quota, quota, queue.name)
        total = self._snapshot.total[column]
        most = min(account.terms.limit.get(column, inf), total if queue.name == ROOT else inf)
        if most == inf:
            return None
        limit = int(most)
        own = dict(queue.capability).get(column)
        if own is not None and limit >= own:
            return QueueBound(limit, limit, queue.name)
        above = account.above[0] if account.above else None
        siblings = tuple(sorted(self._guaranteed_beside(account, column)))
        over = None if above is None else self.bound(self._queues.get(above.name, Queue(above.name)), column)
        if over is None:
            return QueueBound(limit, total, "", siblings)
        return over._replace(limit=limit) if not siblings else QueueBound(limit, over.limit, over.holder, siblings)

    def _guaranteed_beside(self, account: Account, column: int) -> Iterator[str]:
        """The siblings of a queue that have a guarantee of this resource."""
        for name, guarantee in self._accounts.guaranteed_beside(account):
            if dict(guarantee).get(column):
                yield name
