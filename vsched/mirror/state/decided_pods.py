"""Pods with what is decided about them, until the watch shows it or a write fails."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import msgspec

from vsched.mirror.ingest.pods import ASKS_SECONDS
from vsched.mirror.state.pod_records import PodRecords
from vsched.mirror.state.resource_versions import SeenVersions, as_number
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


class DecidedPods:
    """Every pod, and over what the watch says what is assumed."""

    def __init__(self, records: PodRecords, seen: SeenVersions) -> None:
        self._records = records
        self._seen = seen

    # What is decided

    def awaits(self, uid: str) -> bool:
        """Whether something is assumed of the pod that the watch does not show yet."""
        return uid in self._records.assumed

    def has_left(self, uid: str) -> bool:
        """Whether the watch shows that a pod is leaving or gone."""
        records = self._records
        task = records.assumed.before(uid) or records.tasks.get(uid)
        return task is None or task.status is _RELEASING

    def assume(self, report: CycleReport, leaving: list[Task]) -> Iterator[None]:
        """Assume what a cycle decided about pods, one a step; ``leaving`` gets the one that is to leave, if it runs."""
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
                    leaving.append(task)
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

    def settle(self, report: CycleReport, now: float) -> tuple[list[Task], list[Task]]:
        """Make the decisions of a cycle about pods true, for what-if simulations: bound pods run from ``now`` on.

        Pods that are asked to end by themselves stay until a later cycle evicts them, or the caller drops them.
        Returns the pods that now run, and the ready pods that ran and are gone.
        """
        records = self._records
        came, went = list[Task](), list[Task]()
        for bind in report.binds:
            task = records.tasks.get(bind.uid)
            if task is not None and task.status is _PENDING:
                records.uses.zones.decide(bind, on_paper=task.shape.zones is not None)
                records.uses.device_shares.decide(bind)
                records.store(msgspec.structs.replace(task.moved(_RUNNING, bind.node), started=now))
                came.append(task)
        for eviction in report.evictions:
            if self._ask(eviction, now):
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
        return came, went

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

    # What the API server answers

    def accept(self, uid: str) -> None:
        """The API server accepted the binding."""
        self._records.assumed.accept(uid)

    def list_begins(self) -> None:
        """A list of all pods begins."""
        self._records.assumed.list_begins()

    def listed_unbound(self, uid: str) -> bool:
        """The list shows the pod without a node; True where that ends an assumed binding."""
        records = self._records
        shown = records.show(records.assumed.listed_unbound(uid))
        if shown:
            records.uses.claims.forget(uid)
        return shown

    def forget(self, uid: str) -> bool:
        """A binding or an eviction failed; False where none was assumed."""
        records = self._records
        task = records.tasks.get(uid)
        if task is not None and task.status is _BINDING:
            records.tried[uid] = task.node
        shown = records.show(records.assumed.end(uid))
        shown |= records.show(records.assumed.unanswer(uid))
        return records.uses.claims.forget(uid) or shown

    def binding_refused(self, uid: str, message: str, node: str, at: float) -> None:
        """The API server refused a binding; ``node`` is where admission will not have the pod, empty for no node."""
        records = self._records
        records.exclude_nodes((uid, *records.refused.note(uid, message, node, at)))
        if uid in records.tasks:
            records.jobs.report_again(records.tasks[uid].job)

    def binding_settled(self, uid: str) -> None:
        """What was refused to a pod does not count any more."""
        records = self._records
        if records.refused.drop(uid):
            records.exclude_nodes((uid,))

    def forget_node(self, name: str) -> None:
        """A node is not what it was: the pods that it refused may be tried there again."""
        records = self._records
        records.exclude_nodes(records.refused.forget_node(name))

    def forget_refusals(self, now: float) -> None:
        """Pods may be tried again on nodes that refused them long ago."""
        records = self._records
        records.exclude_nodes(records.refused.expire(now))

    def spare(self, uid: str) -> None:
        """The pod is no victim until ``unspare``, or until it is gone."""
        records = self._records
        task = records.tasks.get(uid)
        if task is not None:
            records.store(records.assumed.spare(task))

    def unspare(self, uid: str) -> bool:
        """The pod may be a victim again; False where it always was."""
        records = self._records
        return records.show(records.assumed.unspare(uid))

    def nomination_written(self, uid: str, node: str, resource_version: str) -> None:
        """A nomination was written, in this version where the API server said which."""
        records = self._records
        version = self._seen.version(uid)
        records.show(records.assumed.nomination_written(uid, node, as_number(resource_version) or version + 1, version))

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod is nominated as the watch last said."""
        records = self._records
        records.show(records.assumed.nomination_failed(uid, node))

    def ungate_failed(self, uid: str) -> bool:
        """A scheduling gate could not be removed; False where its removal was not assumed."""
        records = self._records
        return records.show(records.assumed.ungate_failed(uid))
