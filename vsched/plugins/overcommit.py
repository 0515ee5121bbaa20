"""overcommit: admits jobs for more than the cluster has, by a factor.

So some admitted jobs always wait, and freed resources are used at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import msgspec

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import shortages
from vsched.framework.points.extension import JobEnqueueable, JobEnqueued, Plugin, SessionContext, Vote
from vsched.framework.points.levers import ArgumentLever
from vsched.framework.refusal import Refusal, Shortage
from vsched.kernels.differing import differing_keys
from vsched.model.amounts.resources import PODS, Amounts, Vector, add, less, subtract
from vsched.model.jobs.job import without_gated
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import QueueUsage, Snapshot
from vsched.plugins.queues.refusals import beyond_cluster
from vsched.plugins.words import queues as words

OVERUSED = "ClusterOverused"
FACTOR_DEFAULT = 1.2
TENTHS, FACTOR_STEPS = 10, 100


class OvercommitArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of overcommit."""

    factor: float = msgspec.field(default=FACTOR_DEFAULT, name="overcommit-factor")
    """How many times the cluster may be promised; less than 1 means the default, as in Volcano."""

    def normalised(self) -> OvercommitArgs:
        """A factor below 1 would refuse work the cluster has room for: the default takes its place."""
        return self if self.factor >= 1 else OvercommitArgs()


class Promised(NamedTuple):
    """What is promised in all queues together, and what it was summed up from. Never changes."""

    queues: Mapping[str, Queue]
    books: Mapping[str, QueueUsage]
    together: Vector


def promised_in(snapshot: Snapshot, before: Promised | None) -> Promised:
    """The sum; of queues that are promised what they were before, nothing is added up again."""
    queues, books = snapshot.queues, dict(snapshot.books)
    if before is None or before.queues is not queues:
        before = Promised(queues, {}, {})
    together = dict(before.together)
    for name in differing_keys(books, before.books):
        if name in queues:
            now, then = books.get(name), before.books.get(name)
            add(together, () if now is None else now.promised.items())
            subtract(together, () if then is None else then.promised.items())
    return Promised(queues, books, together)


class Overcommit(Plugin[OvercommitArgs], JobEnqueueable, JobEnqueued):
    """Admits jobs while used plus promised amounts stay below the cluster's total times a factor."""

    name = "overcommit"
    by_request_alone = True
    timeless = True
    args_type = OvercommitArgs

    def open(self, context: SessionContext) -> None:
        """Begin a session; limits are computed when a job first asks to be admitted."""
        self._context, self._snapshot = context, context.snapshot
        self._names, self._used = context.snapshot.axis.names, context.snapshot.used

    def _limits(self) -> Mapping[int, float]:
        factor = self.args.normalised().factor
        return {column: total * factor for column, total in enumerate(self._snapshot.total) if column != PODS}

    @cached_property
    def _promised(self) -> Vector:
        """The amounts promised so far; summed up when a job first asks to be admitted."""
        memo, snapshot = self._context.memo, self._snapshot
        promised = memo.renewed(self.name, "promised", Promised, lambda before: promised_in(snapshot, before))
        return dict(promised.together)

    def _counted(self) -> Vector:
        """The same without what does not count, as it was promised in vain."""
        aside = self._context.usage.pledges.aside
        return self._promised if aside is None else less(self._promised, aside.promised)

    def job_enqueueable(self, job: JobView) -> Vote | Refusal:
        """Permits if used and promised amounts plus the job's minimum stay within the limit."""
        wanted = job.spec.min_resources
        if wanted is None or self._has_room(wanted):
            return Vote.PERMIT
        used, promised = self._used, self._counted()
        taken = {column: used[column] + promised.get(column, 0) for column, _ in wanted}
        short = shortages(self._names, wanted, self._limits(), taken, promised)
        beyond = beyond_cluster(self._snapshot, wanted) if any(one.is_lasting for one in short) else None
        return beyond or overused(short)

    def _has_room(self, wanted: Amounts) -> bool:
        """Whether there are no ``shortages``: mostly there are none, and this is quicker."""
        used, promised, total, factor = self._used, self._counted(), self._snapshot.total, self.args.normalised().factor
        for column, amount in wanted:
            if column != PODS and used[column] + promised.get(column, 0) + amount > total[column] * factor:
                return False
        return True

    def job_enqueued(self, job: JobView) -> None:
        """Add the minimum of the admitted job to the promised amounts."""
        if job.spec.min_resources is not None:
            add(self._promised, without_gated(job.job, job.spec.min_resources))

    def argument_levers(self) -> Iterator[ArgumentLever]:
        """One lever: raise the factor, by tenths."""
        tenths = int(self.args.normalised().factor * TENTHS)
        yield ArgumentLever(
            lambda step: {"edit": "overcommit", "factor": (tenths + step) / TENTHS}, FACTOR_STEPS, tenths
        )


def overused(short: tuple[Shortage, ...]) -> Refusal:
    """The refusal of a job that would exceed the limit."""
    return Refusal(OVERUSED, words.overused(words.names_of(short)), code=Code.QUEUE_ADMISSION, shortages=short)
