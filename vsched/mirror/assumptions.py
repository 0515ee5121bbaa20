"""What was decided and done, until the watches show it or a write fails."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import msgspec

from vsched.mirror.events import MirrorEvents
from vsched.mirror.ingest.pods import ASKS_SECONDS
from vsched.mirror.state.resource_versions import as_number
from vsched.mirror.stores import Stores
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.cooperation import EvictionRequest
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

_PENDING, _BINDING, _BOUND, _RUNNING, _RELEASING = (
    Status.PENDING,
    Status.BINDING,
    Status.BOUND,
    Status.RUNNING,
    Status.RELEASING,
)
"""Looked up once: members of enumerations take long to look up in Python 3.11."""


class Assumptions:
    """Takes the decisions of cycles and the outcomes of writes."""

    def __init__(self, stores: Stores, events: MirrorEvents) -> None:
        self._records = stores.records
        self._stores = stores
        self._events = events
        self.now = 0.0
        """The time of the last snapshot."""

    def advance(self, now: float) -> float:
        """A snapshot is taken at this time: drop what has lasted long enough. Returns the time of the one before."""
        before, self.now = self.now, now
        self._stores.groups.shown()
        self._stores.budgets.expire(now)
        self._records.exclude_nodes(self._records.refused.expire(now))  # they may be tried there again
        return before

    # -- decisions

    def assume(self, report: CycleReport) -> None:
        """Assume the decisions of a cycle until the watch shows them or a failure is reported."""
        for _ in self.assuming(report):
            pass

    def assuming(self, report: CycleReport) -> Iterator[None]:
        """The same in steps, one for each pod and each job; events may be taken in between."""
        records = self._records
        for bind in report.binds:
            task = records.tasks.get(bind.uid)
            if task is not None and task.status is _PENDING and bind.uid not in records.assumed:
                if bind.annotations:
                    records.uses.zones.decide(bind)
                    records.uses.device_shares.decide(bind)
                task = records.assumed.begin(task, _BINDING, bind.node)
                records.store(task)
                if bind.claims is not None:
                    records.uses.claims.assume(task, bind.claims)
            yield
        for eviction in report.evictions:
            task = records.tasks.get(eviction.uid)
            if task is not None and task.status in (_BOUND, _RUNNING) and task.uid not in records.assumed:
                records.store(records.assumed.begin(task, _RELEASING, task.node))
                if task.status is _RUNNING:
                    self._stores.budgets.promise(task, self.now)
            elif task is not None and task.asked is not None:
                records.store(records.assumed.answer(task))
            yield
        for withdrawal in report.withdrawals:
            task = records.tasks.get(withdrawal.uid)
            if task is not None and task.asked is not None:
                records.store(records.assumed.answer(task))
            yield
        for nomination in report.lasting_nominations:
            task = records.tasks.get(nomination.uid)
            if task is not None and task.status is _PENDING:
                records.store(records.assumed.nominate(task, nomination.node))
            yield
        for opened in report.ungated:
            task = records.tasks.get(opened.uid)
            if task is not None and task.awaits_queue:
                records.store(records.assumed.ungate(task))
            yield
        yield from self._stores.groups.assuming(report.jobs)
        for release in report.released:
            self._stores.claims.release(release)

    def settle(self, report: CycleReport, at: float) -> None:
        """Make the decisions of a cycle true, for what-if simulations, which have no watch: bound pods run from ``at``.

        Pods that are asked to end by themselves stay until a later cycle evicts them, or the caller drops them.
        """
        records = self._records
        came, went = list[Task](), list[Task]()
        for bind in report.binds:
            task = records.tasks.get(bind.uid)
            if task is not None and task.status is _PENDING:
                records.uses.zones.decide(bind, on_paper=task.shape.zones is not None)
                records.uses.device_shares.decide(bind)
                records.store(msgspec.structs.replace(task.moved(_RUNNING, bind.node), started=at))
                came.append(task)
        for eviction in report.evictions:
            if self._ask(eviction, at):
                continue
            leaving = records.assumed.before(eviction.uid) or records.tasks.get(eviction.uid)
            if leaving is not None and leaving.status is _RUNNING and not leaving.unready:
                went.append(leaving)
            records.drop(eviction.uid)
        for withdrawal in report.withdrawals:
            task = records.tasks.get(withdrawal.uid)
            if task is not None and task.asked is not None:
                records.store(msgspec.structs.replace(task.moved(_RUNNING, task.node), asked=None))
        for nomination in report.lasting_nominations:
            task = records.tasks.get(nomination.uid)
            if task is not None:
                records.store(msgspec.structs.replace(task, nominated=nomination.node))
        for opened in report.ungated:
            task = records.tasks.get(opened.uid)
            if task is not None:
                records.store(msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True))
        stores = self._stores
        stores.budgets.settle(came, went)
        for eviction in report.evictions:
            stores.problems.drop("Pod", eviction.uid)
        stores.groups.settle(report.jobs)

    def _ask(self, eviction: Evict, now: float) -> bool:
        """Ask a pod to end by itself, if that is what was decided."""
        records = self._records
        task = records.tasks.get(eviction.uid)
        if task is None or task.asked is not None or not eviction.asks:
            return False
        wait = min(eviction.wait or ASKS_SECONDS, ASKS_SECONDS)
        request = EvictionRequest(now, ceil(now + wait), eviction.action, eviction.beneficiary)
        records.store(msgspec.structs.replace(task.moved(_RELEASING, task.node), asked=request))
        return True

    def awaits(self, uid: str) -> bool:
        """Whether a binding or an eviction of the pod is assumed and not shown by the watch yet."""
        return uid in self._records.assumed

    def has_left(self, uid: str) -> bool:
        """Whether the watch shows that a pod is leaving or gone."""
        records = self._records
        task = records.assumed.before(uid) or records.tasks.get(uid)
        return task is None or task.status is _RELEASING

    def review(self) -> None:
        """Show every job as changed once, some in each session: the leader before may not have written its status."""
        self._stores.jobs.review()

    # -- bindings and claims

    def forget(self, uid: str) -> bool:
        """Drop an assumed binding or eviction that failed: the pod and its claims are as last watched.

        False if nothing was assumed. A pod that a partly bound gang lacks keeps its node as a nomination: the next
        session gives it to others only where the pod cannot have it any more.
        """
        records = self._records
        self._stores.budgets.withdraw(uid)
        task = records.tasks.get(uid)
        was_bound = task is not None and task.status is _BINDING
        if task is not None and was_bound:
            records.tried[uid, task.node] = None
        shown = records.show(records.assumed.end(uid))
        if task is not None and was_bound and shown:
            self._keep_place(records.tasks[uid], task.node)
        shown |= records.show(records.assumed.unanswer(uid))
        forgotten = records.uses.claims.forget(uid) or shown
        if forgotten:
            self._events.on_change()
        return forgotten

    def _keep_place(self, task: Task, node: str) -> None:
        job = self._records.jobs.job(task.job)
        if task.status is _PENDING and job is not None and job.holding and job.may_be_partial:
            self._records.store(self._records.assumed.nominate(task, node))

    def binding_refused(self, uid: str, message: str, node: str = "") -> None:
        """The API server refused a binding; ``node`` is where admission will not have the pod, empty for no node."""
        records = self._records
        records.exclude_nodes((uid, *records.refused.note(uid, message, node, self.now)))
        if uid in records.tasks:
            records.jobs.report_again(records.tasks[uid].job)
        self._events.on_calm_change()

    def binding_settled(self, uid: str) -> None:
        """The pod is bound, or is gone: what was refused to it does not count any more."""
        records = self._records
        if records.refused.drop(uid):
            records.exclude_nodes((uid,))

    def found_bound(self, uid: str, node: str) -> None:
        """The API server says that a pod which was to be bound was bound already, to this node.

        Unless we tried before, it is foreign. Until the watch shows it, it is assumed there.
        """
        records = self._records
        task = records.tasks.get(uid)
        if task is None:
            return
        moves = task.status is Status.BINDING and task.node != node
        if moves:
            task = records.assumed.begin(task, Status.BINDING, node)
            records.store(task)
            records.uses.claims.forget(uid)
        if (uid, node) not in records.tried:
            self._events.on_foreign(task)
        if moves:
            self._events.on_change()

    def accepted(self, uid: str) -> None:
        """The API server accepted the binding: lists that begin from now on must show it."""
        self._records.assumed.accept(uid)

    def list_begins(self) -> None:
        """A list of all pods begins."""
        self._records.assumed.list_begins()

    def listed_unbound(self, uid: str) -> None:
        """The list shows a pod without a node: it was not bound, whatever the answer was."""
        records = self._records
        if records.show(records.assumed.listed_unbound(uid)):
            records.uses.claims.forget(uid)
            self._events.on_change()

    def forget_node(self, name: str) -> None:
        """A node is not what it was: the pods that it refused may be tried there again."""
        self._records.exclude_nodes(self._records.refused.forget_node(name))

    def claim_release_failed(self, key: str) -> None:
        """A claim (``namespace/name``) could not be given back: it is again as last watched."""
        if self._stores.claims.release_failed(key):
            self._events.on_change()

    # -- evictions

    def spare(self, uid: str) -> None:
        """An eviction was refused: the pod is no victim until ``unspare``, or until it is gone."""
        records = self._records
        task = records.tasks.get(uid)
        if task is not None:
            records.store(records.assumed.spare(task))

    def unspare(self, uid: str) -> None:
        """The pod may be a victim again."""
        self._shown(self._records.assumed.unspare(uid))

    def took(self, taker: str, victim: str, now: float) -> float:
        """A pod of the job ``victim`` was evicted for another one. How long they leave each other alone from now on
        because they take from each other in turn; 0 where they do not."""
        return self._stores.loops.took(taker, victim, now)

    # -- what is written to pods and PodGroups

    def nomination_written(self, uid: str, node: str, resource_version: str = "") -> None:
        """A nomination was written; ``resource_version`` is that of the pod, empty if unknown."""
        records, version = self._records, self._stores.seen["Pod"].version(uid)
        records.show(records.assumed.nomination_written(uid, node, as_number(resource_version) or version + 1, version))

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod's nomination is again as last watched."""
        self._records.show(self._records.assumed.nomination_failed(uid, node))

    def ungate_failed(self, uid: str) -> None:
        """A scheduling gate could not be removed: the pod still waits at it."""
        self._shown(self._records.assumed.ungate_failed(uid))

    def status_written(self, key: str, resource_version: str = "") -> None:
        """A PodGroup's status was written; ``resource_version`` is that of the object, empty if unknown."""
        self._stores.groups.status_written(key, resource_version)

    def status_failed(self, key: str) -> None:
        """A PodGroup's status could not be written: its phase is again as last watched."""
        if self._stores.groups.status_failed(key):
            self._events.on_change()

    def _shown(self, task: Task | None) -> None:
        if self._records.show(task):
            self._events.on_change()
