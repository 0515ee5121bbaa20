"""All pods as last watched. Changes are passed to the stores of jobs, and of what pods use.

Methods that take in objects return whether that can matter to scheduling.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

import msgspec

from vsched import api
from vsched.errors import UNUSABLE, NoColumn
from vsched.mirror.events import MirrorEvents
from vsched.mirror.ingest.pods import PodReader
from vsched.mirror.state.durations import DurationStore
from vsched.mirror.state.gangs import GangStore
from vsched.mirror.state.pod_records import PodRecords
from vsched.mirror.state.resource_versions import SeenVersions
from vsched.model.jobs.durations import Learnt
from vsched.model.pods.shape import PodLabels
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task

ENDED = (Status.SUCCEEDED, Status.FAILED)
UNLEARNT_MAX = 4096
"""How many finished pods are remembered until the next snapshot."""


class OtherObjects(NamedTuple):
    """What objects besides a pod say about it."""

    gangs: GangStore
    """Its owners: which gang it belongs to."""
    joined: Callable[[Task], Task]
    """Native PodGroups: the pod with the job that its group belongs to."""
    answered: Callable[[Task], Task]
    """Evictions: the pod, asked to end by itself, with what its responders say."""
    judge_class: Callable[[str], tuple[int, str]]
    """PriorityClasses: the priority of a class, and what is wrong where there is no such class."""


class PodStore:
    """Reads pods, and keeps them as other objects say that they are."""

    def __init__(
        self, records: PodRecords, reader: PodReader, seen: SeenVersions, others: OtherObjects, events: MirrorEvents
    ) -> None:
        self._records = records
        self._reader = reader
        self._seen = seen
        self._others = others
        self._events = events
        self._durations = DurationStore()
        self._unlearnt: deque[Task] = deque(maxlen=UNLEARNT_MAX)
        """Pods that finished since the last snapshot; their PodGroup may not have been seen yet."""

    def put(self, uid: str, pod: api.Pod, remarks: list[str]) -> bool:
        """Take in a pod. Raises BadObject; then only its usage of its node counts.

        Raises NoColumn where it is to be read again once there is a column for each resource that it requests.
        """
        records = self._records
        try:
            facts = self._reader.read(pod)
        except UNUSABLE as error:
            records.drop(uid)
            occupant = self._reader.occupant(pod)
            if occupant is not None:
                records.store(occupant.task)
                if occupant.lacks_column:
                    raise NoColumn(api.complaint("Pod", pod.metadata, error)) from error
            raise
        if facts is None:
            return records.drop(uid)
        remarks.extend(facts.remarks)
        task, implicit = facts.task, facts.implicit
        if self._others.gangs.has(uid):
            task, implicit = self._others.gangs.placed(task, implicit)
        task = self._others.joined(task) if task.group else task
        task = self._others.answered(task) if task.asked is not None else task
        task = records.with_exclusions(task)
        if facts.needs_class:
            records.classless[uid] = task.gated, task.unsupported
            task = self._with_class(task)
        else:
            records.classless.pop(uid, None)
        before = records.tasks.get(uid)
        if before is not None and before.shape.rules.refused and _has_changed(before, task):
            records.refused.drop(uid)
            task = records.with_exclusions(task)
        task = records.assumed.overlay(task, self._seen.version(uid))
        if before is not None and says_the_same(before, task) and records.jobs.implicit_of(before) == implicit:
            return False
        if before is not None and before.status is Status.BINDING and task.status is not Status.BINDING:
            self._events.on_arrival(uid)
        if task.status in ENDED:
            records.uses.claims.forget(uid)
        if before is not None and self._reader.is_ours(pod) and self._is_foreign(before, task):
            self._events.on_foreign(task)
        records.store(task)
        records.jobs.imply(task, implicit)
        if task.finished and task.job and (before is None or not before.finished):
            self._unlearnt.append(task)
        if before is None or matters(before, task):
            return True
        if before.status is not task.status and task.status is Status.RUNNING:
            self._events.on_calm_change()
        return False

    def _is_foreign(self, before: Task, after: Task) -> bool:
        """Whether a pod that waited has a node which we did not choose."""
        waited = before.status in (Status.PENDING, Status.BINDING) and bool(after.node)
        return waited and after.node != before.node and (after.uid, after.node) not in self._records.tried

    def learn(self) -> Mapping[str, Learnt]:
        """Learnt durations, with pods that finished since the last call; valid until the next call."""
        for task in self._unlearnt:
            spec = self._records.jobs.spec(task.job)
            if spec is not None:
                self._durations.learn(spec, task)
        self._unlearnt.clear()
        return self._durations.publish()

    # What other objects say

    def repricing(self) -> Iterator[None]:
        """Priority classes changed: compute the priorities of pods again that have their class's, a pod a step."""
        records = self._records
        for uid in list(records.classless):
            yield
            task = records.tasks.get(uid)
            if task is not None and uid in records.classless:
                repriced = self._with_class(task)
                if repriced is not task:
                    records.store(repriced)
                records.assumed.reprice((uid,), self._with_class)

    def rejoin(self, uids: Collection[str]) -> None:
        """The native PodGroups of these pods belong to other jobs now."""
        records = self._records
        for uid in uids:
            task = records.tasks.get(uid)
            joined = task if task is None else self._others.joined(task)
            if joined is not None and joined is not task:
                records.store(joined)
        records.assumed.reprice(uids, self._others.joined)

    def regather(self, uids: Collection[str]) -> None:
        """The owners of these pods say something else about their gangs."""
        records = self._records
        for uid in uids:
            task = records.tasks.get(uid)
            if task is None:
                continue
            moved, implicit = self._others.gangs.again(task)
            if uid in records.classless:
                records.classless[uid] = moved.gated, moved.unsupported
                moved = self._with_class(moved)
            if moved is not task:
                records.store(moved)
            records.jobs.imply(moved, implicit)
        records.assumed.reprice(uids, lambda task: self._others.gangs.again(task)[0])

    def answer(self, uid: str) -> bool:
        """The responders of this pod say something new; True where that can matter."""
        records = self._records
        task = records.tasks.get(uid)
        answered = task if task is None else self._others.answered(task)
        if answered is None or answered is task:
            return False
        records.store(answered)
        records.assumed.reprice((uid,), self._others.answered)
        return True

    def _with_class(self, task: Task) -> Task:
        """The pod with the priority of its class; if there is no such class, it waits for it."""
        priority, missing = self._others.judge_class(task.priority_class)
        gated, asked = self._records.classless[task.uid]
        waits = task.status is Status.PENDING
        unsupported = asked or (missing if waits else "")
        if unsupported != task.unsupported:
            task = msgspec.structs.replace(task, gated=gated or (waits and bool(unsupported)), unsupported=unsupported)
        return task if priority == task.priority else msgspec.structs.replace(task, priority=priority)

    # Sizes

    def sweep_overgrown(self) -> None:
        """Forget shapes that no pod has any more, once there are many."""
        if self._reader.shaper.overgrown:
            self.sweep()

    def sweep(self) -> None:
        """Forget shapes that no pod has any more."""
        tasks = self._records.tasks.values()
        self._reader.sweep({task.shape for task in tasks}, {task.labels for task in tasks})

    def columns(self) -> set[int]:
        """Columns of resources that pods ask for."""
        records = self._records
        shapes = {task.shape for task in (*records.tasks.values(), *records.assumed.watched())}
        return {column for shape in shapes for column, _ in shape.request}

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        records = self._records
        return {
            "tasks": len(records.tasks),
            "assumed_tasks": len(records.assumed),
            "assumed_nominations": records.assumed.nominations,
            "spared_tasks": records.assumed.spared,
            "assumed_ungated": records.assumed.ungated,
            "shapes": len(self._reader.shaper),
            "learnt_durations": len(self._durations),
        }


def _has_changed(before: Task, after: Task) -> bool:
    """Whether a pod that waits asks for something else than before, or has other labels."""
    return after.status is Status.PENDING and (before.shape is not after.shape or before.labels is not after.labels)


ON_ITS_WAY = frozenset(
    {(Status.BINDING, Status.BOUND), (Status.BINDING, Status.RUNNING), (Status.BOUND, Status.RUNNING)}
)
"""Changes of status that follow from a binding."""
COME_WITH_NODES = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
"""Labels that API servers give a pod with its node."""
INDECISIVE = frozenset(
    {
        "condition",
        "started",
        "expected",
        "limit",
        "endless",
        "unready",
        "finished",
        "zones",
        "devices",
        "checkpoint",
        "deletion_cost",
        "cooperates",
        "responds",
    }
)
"""Fields that make no placement possible: the text of a condition, a start, the expected duration, readiness, what was
decided about zones and devices, and what an eviction costs."""
_ASKED_APART = frozenset({"status", "labels", "protected_until"})
_decisive = attrgetter(*(name for name in Task.__struct_fields__ if name not in INDECISIVE | _ASKED_APART))


def says_the_same(before: Task, after: Task) -> bool:
    """Whether two records of a pod are equal."""
    return before.status is after.status and msgspec.structs.astuple(before) == msgspec.structs.astuple(after)


def matters(before: Task, after: Task) -> bool:
    """Whether a changed pod can change a decision.

    The arrival of an assumed binding cannot, with the labels that come with it, nor can a longer cool-down.
    """
    arrived = before.node == after.node and (before.status, after.status) in ON_ITS_WAY
    if before.status is not after.status and not arrived:
        return True
    if before.labels != after.labels and not (arrived and _only_of_node(before.labels, after.labels)):
        return True
    return after.protected_until < before.protected_until or _decisive(before) != _decisive(after)


def _only_of_node(before: PodLabels, after: PodLabels) -> bool:
    """Whether a pod has the labels that it had, and besides only those that come with nodes."""
    return [pair for pair in after.pairs if pair[0] not in COME_WITH_NODES] == list(before.pairs)
