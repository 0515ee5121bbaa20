"""What is said where a limit is in the way: what is held, asked and allowed, and what sets the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import NO_NODES_KNOWN
from vsched.framework.refusal import Bound, Refusal
from vsched.framework.reports.lasting import unregistered
from vsched.framework.session import Session
from vsched.framework.wording import amounts, at_limit, listed
from vsched.model.queues.queue import ROOT, Queue

TOLD_IN_AMOUNTS = frozenset((Code.QUEUE_CAPABILITY, Code.QUEUE_ADMISSION, Code.QUEUE_SHARE))
"""Limits of which is told what is held, asked and allowed."""
NO_REASONS: Mapping[str, int] = {}


class UnschedulableReason(NamedTuple):
    """What binds, in a word and in a sentence, and the nodes by reason of the task that stopped the job."""

    code: str
    message: str
    reasons: Mapping[str, int] = NO_REASONS
    limit: Refusal | None = None
    """The rule that the sentence tells of, alone or besides the nodes."""


SILENT = UnschedulableReason("", "")


class LimitsTold:
    """Tells of the limits of one session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._admitted: Counter[str] | None = None
        self._shorts: dict[tuple[Refusal, str, bool], UnschedulableReason] = {}
        """Many jobs of a queue are refused in the same words."""
        self._unregistered: dict[str, str] = {}
        self._bounds: dict[tuple[str, int], Bound | None] = {}

    def refused(self, view: JobView, refusal: Refusal) -> UnschedulableReason:
        """What a rule says of a job."""
        if not refusal.shortages or refusal.code not in TOLD_IN_AMOUNTS:
            come = (one.resource for one in refusal.shortages) if refusal.code is Code.RESOURCES else ()
            return UnschedulableReason(refusal.code, refusal.message + self._to_come(come), limit=refusal)
        key = (refusal, view.queue, view.waiting_to_enter)
        told = self._shorts.get(key)
        if told is None:
            told = self._shorts[key] = self._short(*key)._replace(limit=refusal)
        return told

    def _short(self, refusal: Refusal, queue: str, waiting_to_enter: bool) -> UnschedulableReason:
        """What is said of a job of a queue that asks for more than a limit leaves."""
        short = refusal.shortages
        if all(one.is_others for one in short) and waiting_to_enter:
            before = self._admitted_before(refusal.subject)
            return UnschedulableReason(Code.ORDER, f"waits behind {before}: {amounts(short, 'held or promised')}")
        beyond = self._beyond_limits(refusal, queue)
        if beyond is not None:
            return beyond
        if refusal.code is Code.QUEUE_CAPABILITY:
            bounds = ((one, self.bound(refusal.subject, one.resource)) for one in sorted(short))
            message = "; ".join(at_limit(queue, refusal.subject, one, bound) for one, bound in bounds)
            return UnschedulableReason(refusal.code, message)
        if refusal.code is Code.QUEUE_ADMISSION:
            message = "as much is admitted as the cluster is to be promised"
            return UnschedulableReason(refusal.code, f"{message}: {amounts(short, 'held or promised')}")
        message = f"queue {refusal.subject} would hold more than it deserves"
        kept = self.session.reservations.of(refusal.subject) if any(one.promised for one in short) else ()
        others = f"; some of it is kept for {listed('job', kept)}" if kept else ""
        return UnschedulableReason(refusal.code, f"{message}: {amounts(short, 'held')}{others}")

    def _beyond_limits(self, refusal: Refusal, queue: str) -> UnschedulableReason | None:
        """That more is asked than could ever be held, and what sets that: what lasts is told alone."""
        found = []
        for one in sorted(refusal.shortages):
            bound = self.bound(refusal.subject, one.resource) if refusal.subject else None
            if bound is not None and one.asked > bound.limit:
                found.append((one._replace(limit=bound.limit), bound))
        if not found:
            return None
        message = "; ".join(at_limit(queue, refusal.subject, one, bound) for one, bound in found)
        if any(bound.holder or bound.guaranteed for _, bound in found):
            shared = any(bound.guaranteed for _, bound in found)
            return UnschedulableReason(Code.QUEUE_SHARE if shared else Code.QUEUE_CAPABILITY, message)
        message += self._to_come(one.resource for one, _ in found)
        if not len(self.session.nodes):
            return UnschedulableReason(Code.NO_NODES, NO_NODES_KNOWN)
        return UnschedulableReason(Code.RESOURCES, message)

    def _to_come(self, resources: Iterable[str]) -> str:
        """What nodes have yet to register of these resources, as the end of a sentence."""
        found = (told for one in dict.fromkeys(resources) if (told := self.unregistered(one)))
        return "".join(f"; {told}" for told in found)

    def unregistered(self, resource: str) -> str:
        """``1 node has not registered nvidia.com/gpu yet``; empty where every node has what it is to have of it."""
        if resource not in self._unregistered:
            column = self.session.snapshot.axis.find(resource)
            known = column is not None and column < self.session.nodes.width
            self._unregistered[resource] = unregistered(self.session.nodes, column) if known and column else ""
        return self._unregistered[resource]

    def bound(self, queue: str, resource: str) -> Bound | None:
        """What sets how much a queue may hold of a resource, where a plugin says so."""
        column = self.session.snapshot.axis.find(resource)
        known = self.session.snapshot.queues.get(queue, Queue(ROOT) if queue == ROOT else None)
        if column is None or known is None:
            return None
        if (queue, column) not in self._bounds:
            self._bounds[queue, column] = self.session.plugins.bound(known, column)
        return self._bounds[queue, column]

    def _admitted_before(self, queue: str) -> str:
        """The jobs that were admitted and have not got their minimum yet, of a queue or (no name) of all."""
        if self._admitted is None:
            self._admitted = Counter(
                view.queue for view in self.session.jobs.values() if not view.waiting_to_enter and not view.is_ready
            )
        count = self._admitted[queue] if queue else self._admitted.total()
        jobs = "one job" if count == 1 else f"{rounded(count)} jobs" if count else "jobs"
        return f"{jobs} of queue {queue} admitted before it" if queue else f"{jobs} admitted before it"


def rounded(count: int) -> str:
    """A count for people that does not change with every session: whole up to 20, then in steps."""
    if count <= 20:
        return str(count)
    step = next(step for step in (1000, 500, 200, 100, 50, 20) if count > step)
    return f"more than {step}"
