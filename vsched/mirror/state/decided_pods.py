"""Pods with what is decided about them, until the watch shows it or a write fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil

import msgspec

from vsched.mirror.ingest.pods import ASKS_SECONDS
from vsched.mirror.state.pod_records import PodRecords
from vsched.mirror.state.resource_versions import as_number
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


class DecidedPods(PodRecords):
    """Every pod, and over what the watch says what is assumed."""

    # What is decided

    def awaits(self, uid: str) -> bool:
        """Whether something is assumed of the pod that the watch does not show yet."""
        return uid in self._assumed

    def has_left(self, uid: str) -> bool:
        """Whether the watch shows that a pod is leaving or gone."""
        task = self._assumed.before(uid) or self._tasks.get(uid)
        return task is None or task.status is _RELEASING

    def assume(self, report: CycleReport, leaving: list[Task]) -> Iterator[None]:
        """Assume what a cycle decided about pods, one a step; ``leaving`` gets the one that is to leave, if it runs."""
        for bind in report.binds:
            task = self._tasks.get(bind.uid)
            if task is not None and task.status is _PENDING and bind.uid not in self._assumed:
                if bind.annotations:
                    self._zones.decide(bind)
                    self._device_shares.decide(bind)
                task = self._assumed.begin(task, _BINDING, bind.node)
                self._store(task)
                if bind.claims is not None:
                    self.claims.assume(task, bind.claims)
            yield
        for eviction in report.evictions:
            task = self._tasks.get(eviction.uid)
            if task is not None and task.status in (_BOUND, _RUNNING) and task.uid not in self._assumed:
                self._store(self._assumed.begin(task, _RELEASING, task.node))
                if task.status is _RUNNING:
                    leaving.append(task)
            elif task is not None and task.asked is not None:
                self._store(self._assumed.answer(task))
            yield
        for withdrawal in report.withdrawals:
            task = self._tasks.get(withdrawal.uid)
            if task is not None and task.asked is not None:
                self._store(self._assumed.answer(task))
            yield
        for nomination in report.lasting_nominations:
            task = self._tasks.get(nomination.uid)
            if task is not None and task.status is _PENDING:
                self._store(self._assumed.nominate(task, nomination.node))
            yield
        for opened in report.ungated:
            task = self._tasks.get(opened.uid)
            if task is not None and task.awaits_queue:
                self._store(self._assumed.ungate(task))
            yield

    def settle(self, report: CycleReport, now: float) -> tuple[list[Task], list[Task]]:
        """Make the decisions of a cycle about pods true, for what-if simulations: bound pods run from ``now`` on.

        Pods that are asked to end by themselves stay until a later cycle evicts them, or the caller drops them.
        Returns the pods that now run, and the ready pods that ran and are gone.
        """
        came, went = list[Task](), list[Task]()
        for bind in report.binds:
            task = self._tasks.get(bind.uid)
            if task is not None and task.status is _PENDING:
                self._zones.decide(bind, on_paper=task.shape.zones is not None)
                self._device_shares.decide(bind)
                self._store(msgspec.structs.replace(task.moved(_RUNNING, bind.node), started=now))
                came.append(task)
        for eviction in report.evictions:
            if self._ask(eviction, now):
                continue
            leaving = self._assumed.before(eviction.uid) or self._tasks.get(eviction.uid)
            if leaving is not None and leaving.status is _RUNNING and not leaving.unready:
                went.append(leaving)
            self.drop(eviction.uid)
        for withdrawal in report.withdrawals:
            task = self._tasks.get(withdrawal.uid)
            if task is not None and task.asked is not None:
                self._store(msgspec.structs.replace(task.moved(_RUNNING, task.node), asked=None))
        for nomination in report.lasting_nominations:
            task = self._tasks.get(nomination.uid)
            if task is not None:
                self._store(msgspec.structs.replace(task, nominated=nomination.node))
        for opened in report.ungated:
            task = self._tasks.get(opened.uid)
            if task is not None:
                self._store(msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True))
        return came, went

    def _ask(self, eviction: Evict, now: float) -> bool:
        """Ask a pod to end by itself, if that is what was decided."""
        task = self._tasks.get(eviction.uid)
        if task is None or task.asked is not None or not eviction.asks:
            return False
        wait = min(eviction.wait or ASKS_SECONDS, ASKS_SECONDS)
        request = EvictionRequest(now, ceil(now + wait), eviction.action, eviction.beneficiary)
        self._store(msgspec.structs.replace(task.moved(_RELEASING, task.node), asked=request))
        return True

    # What the API server answers

    def accept(self, uid: str) -> None:
        """The API server accepted the binding."""
        self._assumed.accept(uid)

    def list_begins(self) -> None:
        """A list of all pods begins."""
        self._assumed.list_begins()

    def listed_unbound(self, uid: str) -> bool:
        """The list shows the pod without a node; True where that ends an assumed binding."""
        shown = self._show(self._assumed.listed_unbound(uid))
        if shown:
            self.claims.forget(uid)
        return shown

    def forget(self, uid: str) -> bool:
        """A binding or an eviction failed; False where none was assumed."""
        task = self._tasks.get(uid)
        if task is not None and task.status is _BINDING:
            self._tried[uid] = task.node
        shown = self._show(self._assumed.end(uid))
        shown |= self._show(self._assumed.unanswer(uid))
        return self.claims.forget(uid) or shown

    def binding_refused(self, uid: str, message: str, node: str, at: float) -> None:
        """The API server refused a binding; ``node`` is where admission will not have the pod, empty for no node."""
        self.exclude_nodes((uid, *self.refused.note(uid, message, node, at)))
        if uid in self._tasks:
            self._jobs.report_again(self._tasks[uid].job)

    def binding_settled(self, uid: str) -> None:
        """What was refused to a pod does not count any more."""
        if self.refused.drop(uid):
            self.exclude_nodes((uid,))

    def forget_node(self, name: str) -> None:
        """A node is not what it was: the pods that it refused may be tried there again."""
        self.exclude_nodes(self.refused.forget_node(name))

    def forget_refusals(self, now: float) -> None:
        """Pods may be tried again on nodes that refused them long ago."""
        self.exclude_nodes(self.refused.expire(now))

    def exclude_nodes(self, uids: Iterable[str]) -> None:
        """Keep these pods from the nodes that are known to refuse them, and from no others."""
        for uid in uids:
            self._assumed.reprice((uid,), self._with_exclusions)
            task = self._tasks.get(uid)
            if task is not None:
                excluding = self._with_exclusions(task)
                if excluding is not task:
                    self._store(excluding)

    def spare(self, uid: str) -> None:
        """The pod is no victim until ``unspare``, or until it is gone."""
        task = self._tasks.get(uid)
        if task is not None:
            self._store(self._assumed.spare(task))

    def unspare(self, uid: str) -> bool:
        """The pod may be a victim again; False where it always was."""
        return self._show(self._assumed.unspare(uid))

    def nomination_written(self, uid: str, node: str, resource_version: str) -> None:
        """A nomination was written, in this version where the API server said which."""
        version = self._seen.version(uid)
        self._show(self._assumed.nomination_written(uid, node, as_number(resource_version) or version + 1, version))

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod is nominated as the watch last said."""
        self._show(self._assumed.nomination_failed(uid, node))

    def ungate_failed(self, uid: str) -> bool:
        """A scheduling gate could not be removed; False where its removal was not assumed."""
        return self._show(self._assumed.ungate_failed(uid))
