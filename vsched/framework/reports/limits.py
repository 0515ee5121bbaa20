"""Messages about limits of queues: the amounts held, asked and allowed, and what sets the limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.refusal import QueueBound, Refusal, Shortage
from vsched.framework.reports.lasting import unregistered
from vsched.framework.session import Session
from vsched.framework.words import limits as words
from vsched.framework.words.lists import listed_jobs
from vsched.framework.words.nodes import NO_NODES_KNOWN
from vsched.model.amounts.counted import format_counted
from vsched.model.queues.queue import ROOT, Queue
from vsched.model.queues.quota import asked_by, exceeded
from vsched.model.snapshot import Snapshot

WITH_AMOUNTS = frozenset((Code.QUEUE_CAPABILITY, Code.QUEUE_ADMISSION, Code.QUEUE_SHARE))
"""Codes of refusals whose message names the amounts held, asked and allowed."""
NO_REASONS: Mapping[str, int] = {}


class UnschedulableReason(NamedTuple):
    """Why a job waits: a code, a message, and the number of nodes by reason for the task that stopped the job."""

    code: str
    message: str
    reasons: Mapping[str, int] = NO_REASONS
    limit: Refusal | None = None
    """The refusal that the message is about, where a rule refused the job (alone, or besides the nodes)."""


SILENT = UnschedulableReason("", "")


class LimitMessages:
    """Builds messages about the limits of one session whose actions have run. It caches them by refusal and queue."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._admitted: Counter[str] | None = None
        self._shorts: dict[tuple[Refusal, str, bool], UnschedulableReason] = {}
        """A cache: many jobs of a queue get the same refusal."""
        self._by_identity: dict[tuple[int, str, bool], tuple[Refusal, UnschedulableReason]] = {}
        """The same by the identity of the refusal, which is stored with it: hashing one with amounts takes long."""
        self._unregistered: dict[str, str] = {}
        self._bounds: dict[tuple[str, int], QueueBound | None] = {}

    def refused(self, view: JobView, refusal: Refusal) -> UnschedulableReason:
        """Why a job waits that a rule refused."""
        if refusal.code is Code.GANG_INCOMPLETE:
            quota = next(quotas_refusing(self.session.snapshot, view), None)
            if quota is not None:
                return UnschedulableReason(quota.code, f"{quota.message}; {refusal.message}", limit=quota)
        if not refusal.shortages:
            return UnschedulableReason(refusal.code, refusal.message, limit=refusal)
        if refusal.code not in WITH_AMOUNTS:
            come = (one.resource for one in refusal.shortages) if refusal.code is Code.RESOURCES else ()
            return UnschedulableReason(refusal.code, refusal.message + self._to_come(come), limit=refusal)
        same = (id(refusal), view.queue, view.waiting_to_enter)
        found = self._by_identity.get(same)
        if found is not None:
            return found[1]
        key = (refusal, view.queue, view.waiting_to_enter)
        known = self._shorts.get(key)
        if known is None:
            known = self._shorts[key] = self._short(*key)._replace(limit=refusal)
        self._by_identity[same] = refusal, known
        return known

    def _short(self, refusal: Refusal, queue: str, waiting_to_enter: bool) -> UnschedulableReason:
        """The reason for a job of ``queue`` that asks for more than a limit leaves."""
        short = refusal.shortages
        if all(one.is_others for one in short) and waiting_to_enter:
            message = words.waits_behind(self._admitted_before(refusal.subject), refusal.subject, short)
            return UnschedulableReason(Code.ORDER, message)
        beyond = self._beyond_limits(refusal, queue)
        if beyond is not None:
            return beyond
        if refusal.code is Code.QUEUE_CAPABILITY:
            bounds = ((one, self.bound(refusal.subject, one.resource)) for one in sorted(short))
            message = "; ".join(words.at_limit(queue, refusal.subject, one, bound) for one, bound in bounds)
            return UnschedulableReason(refusal.code, message)
        if refusal.code is Code.QUEUE_ADMISSION:
            return UnschedulableReason(refusal.code, words.admitted_may_ask(short))
        reserved_for = self.session.reservations.of(refusal.subject) if any(one.promised for one in short) else ()
        others = listed_jobs(sorted(map(self.session.snapshot.called, reserved_for))) if reserved_for else ""
        return UnschedulableReason(refusal.code, words.deserves(refusal.subject, short, others))

    def _beyond_limits(self, refusal: Refusal, queue: str) -> UnschedulableReason | None:
        """The reason where a job asks for more than its queue could ever hold; None where waiting may help.

        The message leaves out shortages that may pass.
        """
        found = []
        for one in sorted(refusal.shortages):
            bound = self.bound(refusal.subject, one.resource) if refusal.subject else None
            if bound is not None and one.asked > bound.limit:
                found.append((one._replace(limit=bound.limit), bound))
        if not found:
            return None
        message = "; ".join(words.at_limit(queue, refusal.subject, one, bound) for one, bound in found)
        if any(bound.holder or bound.guaranteed for _, bound in found):
            shared = any(bound.guaranteed for _, bound in found)
            return UnschedulableReason(Code.QUEUE_SHARE if shared else Code.QUEUE_CAPABILITY, message)
        message += self._to_come(one.resource for one, _ in found)
        if not len(self.session.nodes):
            return UnschedulableReason(Code.NO_NODES, NO_NODES_KNOWN)
        return UnschedulableReason(Code.RESOURCES, message)

    def _to_come(self, resources: Iterable[str]) -> str:
        """The end of a message: how many nodes have yet to register each of these resources."""
        found = (text for one in dict.fromkeys(resources) if (text := self.unregistered(one)))
        return "".join(f"; {text}" for text in found)

    def unregistered(self, resource: str) -> str:
        """``1 node has not registered nvidia.com/gpu yet``; empty where every node has registered it."""
        if resource not in self._unregistered:
            column = self.session.snapshot.axis.find(resource)
            known = column is not None and column < self.session.nodes.width
            self._unregistered[resource] = unregistered(self.session.nodes, column) if known and column else ""
        return self._unregistered[resource]

    def bound(self, queue: str, resource: str) -> QueueBound | None:
        """What limits how much a queue may hold of a resource; None where no plugin sets a limit."""
        column = self.session.snapshot.axis.find(resource)
        known = self.session.snapshot.queues.get(queue, Queue(ROOT) if queue == ROOT else None)
        if column is None or known is None:
            return None
        if (queue, column) not in self._bounds:
            self._bounds[queue, column] = self.session.plugins.bound(known, column)
        return self._bounds[queue, column]

    def _admitted_before(self, queue: str) -> int:
        """How many jobs were admitted and lack their minimum; of one queue, or of all where it is empty."""
        if self._admitted is None:
            self._admitted = admitted_in(self.session)
        return self._admitted[queue] if queue else self._admitted.total()


def admitted_in(session: Session) -> Counter[str]:
    """How many jobs of each queue were admitted and lack their minimum."""
    found = Counter(view.queue for view in session.waiting.alone() if not view.waiting_to_enter and not view.is_ready)
    for span in session.waiting.spans:
        view = session.jobs[span.first]
        if not view.waiting_to_enter and not view.is_ready:
            found[view.queue] += len(span.keys)
    return found


REFUSES_CREATION = "ResourceQuotaRefusesPods"


def quotas_refusing(snapshot: Snapshot, view: JobView) -> Iterator[Refusal]:
    """The quotas that the pods a job lacks would exceed. These are taken to be like the pods that it has."""
    quotas = snapshot.quotas.get(view.namespace, ())
    like = next(iter(view.job.tasks.values()), None)
    if not quotas or like is None:
        return
    lacks = view.roles_missing(waiting=True, pending=True) or {"": view.min_member - view.valid_count}
    missing = sum(lacks.values())
    if missing <= 0:
        return
    of_role = {task.role: task for task in view.job.tasks.values()}
    asked = Counter[str]()
    for role, count in lacks.items():
        asked.update(asked_by(of_role.get(role, like).shape, snapshot.axis.names, count))
    for quota, line in exceeded(quotas, asked):
        short = Shortage(line.resource, line.used, asked[line.resource], line.hard)
        hard, used, more = (format_counted(line.resource, one) for one in (short.limit, short.held, short.asked))
        message = words.quota_refuses(quota.name, hard, line.name, used, missing, more)
        yield Refusal(REFUSES_CREATION, message, code=Code.QUOTA, subject=quota.name, shortages=(short,))
