"""The mirror: the cluster as the watch streams tell it, plus what was decided and is not confirmed yet.

One writer, synchronous: everything changes through ``apply``, ``replace``, ``assume``, ``forget`` and the reports on
statuses. ``snapshot`` costs what changed since the last one, not the size of the cluster. Objects may arrive in any
order, twice or late; the mirror ends up as a fresh list would make it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from vsched.cluster import wire
from vsched.cluster.assumed import AssumedPhases, AssumedTasks
from vsched.cluster.bound_books import BoundBooks
from vsched.cluster.defaults import ClusterDefaults
from vsched.cluster.ingest import PodReader, uid_of
from vsched.cluster.ingest_bounds import budget_of, quota_of
from vsched.cluster.ingest_objects import (
    class_of,
    job_spec_of,
    namespace_of,
    node_of,
    queue_of,
    selected_by,
    weight_of,
)
from vsched.cluster.job_books import JobBooks
from vsched.cluster.node_books import NodeBooks, dense_vector
from vsched.cluster.seen import Seen
from vsched.cluster.selection_books import SelectionBooks
from vsched.errors import BadObject
from vsched.model.budget import DisruptionBudget
from vsched.model.job import JobSpec
from vsched.model.plan import CycleReport
from vsched.model.quota import Quota
from vsched.model.resources import ResourceAxis
from vsched.model.shape import Selector
from vsched.model.snapshot import Snapshot
from vsched.model.status import Status
from vsched.model.task import Task

DELETED = "DELETED"
UPSERTS = frozenset({"ADDED", "MODIFIED"})
BROKEN_LIMIT = 4096


class Broken(NamedTuple):
    """An object that was left out, and why."""

    kind: str
    namespace: str
    name: str
    uid: str
    message: str
    left_out: bool = True
    """False where only an annotation cannot be used."""


class Cache:
    """The mirror of the cluster that cycles are decided on."""

    def __init__(
        self,
        scheduler_names: frozenset[str],
        default_queue: str = "default",
        *,
        open_without_state: bool = False,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.axis = ResourceAxis()
        self.broken: dict[tuple[str, str], Broken] = {}
        """By kind and identity; bounded, the oldest go first."""
        self.blemished: dict[tuple[str, str], Broken] = {}
        """The same for objects that are used, but for an annotation."""
        self.on_change = on_change
        """Called after changes that can matter to scheduling; must be quick."""
        self._open_without_state = open_without_state
        self._default_queue = default_queue
        self._reader = PodReader(self.axis, scheduler_names)
        self._seen = {kind: Seen() for kind in wire.KINDS}
        self._tasks: dict[str, Task] = {}
        self._classless: set[str] = set()
        """Pods whose priority is that of the class they name."""
        self._assumed = AssumedTasks()
        self._phases = AssumedPhases()
        self._watched_groups: dict[str, JobSpec] = {}
        self._defaults = ClusterDefaults(default_queue)
        self._nodes = NodeBooks(self.axis)
        self._selections = SelectionBooks()
        self._budgets: BoundBooks[DisruptionBudget] = BoundBooks()
        self._quotas: BoundBooks[Quota] = BoundBooks()
        self._jobs = JobBooks(self._defaults.job_priority, self._defaults.queue_of)
        self._snapshots = 0
        self._previous = 0.0

    # Events

    def apply(self, kind: str, type: str, found: wire.Object) -> None:
        """One event of a watch stream; kinds the mirror does not keep and bookmarks are ignored."""
        seen = self._seen.get(kind)
        if seen is None:
            return
        key, version = _identity(kind, found.metadata), _version(found.metadata.resource_version)
        if type == DELETED:
            matters = seen.delete(key, version) and self._delete(kind, key)
        elif type in UPSERTS:
            matters = seen.admit(key, version) and self._put(kind, key, found)
        else:
            return
        if matters:
            self.on_change()

    def replace(self, kind: str, objects: Iterable[wire.Object]) -> None:
        """A full list of one kind: what it lacks is gone, what it has is believed whatever its version."""
        seen = self._seen[kind]
        missing, matters = seen.restart(), False
        for found in objects:
            key, version = _identity(kind, found.metadata), _version(found.metadata.resource_version)
            before = missing.pop(key, None)
            seen.admit(key, version)
            if before is None or not version or before != version:
                matters |= self._put(kind, key, found)
        for key in missing:
            matters |= self._delete(kind, key)
        if matters:
            self.on_change()

    # Decisions

    def assume(self, report: CycleReport) -> None:
        """Take what a cycle decided for granted until the watch shows it, or a failure is reported."""
        for bind in report.binds:
            task = self._tasks.get(bind.uid)
            if task is not None and task.status is Status.PENDING and bind.uid not in self._assumed:
                self._store(self._assumed.begin(task, Status.BINDING, bind.node))
        for eviction in report.evictions:
            task = self._tasks.get(eviction.uid)
            if task is not None and task.status in (Status.BOUND, Status.RUNNING) and task.uid not in self._assumed:
                self._store(self._assumed.begin(task, Status.RELEASING, task.node))
        for nomination in report.nominations:
            task = self._tasks.get(nomination.uid)
            if task is not None and task.status is Status.PENDING and nomination.lasting:
                self._store(self._assumed.nominate(task, nomination.node))
        for key, outcome in report.jobs.items():
            watched = self._watched_groups.get(key)
            group = self._jobs.group(key)
            if watched is None or group is None or outcome.phase == group.phase:
                continue
            self._phases.begin(key, outcome.phase)
            self._show_group(key)

    def forget(self, uid: str) -> bool:
        """A binding or an eviction failed: the pod is again what the watch last said; False where it already was."""
        task = self._assumed.end(uid)
        if task is None:
            return False
        self._store(task)
        self.on_change()
        return True

    def spare(self, uid: str) -> None:
        """An eviction was refused: the pod is not offered as a victim until ``unspare``, or until it is gone."""
        task = self._tasks.get(uid)
        if task is not None:
            self._store(self._assumed.spare(task))

    def unspare(self, uid: str) -> None:
        """The pod may be a victim again."""
        task = self._assumed.unspare(uid)
        if task is not None:
            self._store(task)
            self.on_change()

    def nomination_written(self, uid: str, node: str, resource_version: str = "") -> None:
        """A nomination was written, in this version where the API server said which."""
        version = self._seen["Pod"].version(uid)
        task = self._assumed.nomination_written(uid, node, _version(resource_version) or version + 1, version)
        if task is not None:
            self._store(task)

    def nomination_failed(self, uid: str, node: str) -> None:
        """A nomination cannot be written: the pod is nominated as the watch last said."""
        task = self._assumed.nomination_failed(uid, node)
        if task is not None:
            self._store(task)

    def status_written(self, key: str, resource_version: str = "") -> None:
        """A PodGroup's status was written, in this version where the API server said which."""
        version = self._seen["PodGroup"].version(key)
        self._phases.written(key, _version(resource_version) or version + 1)
        self._show_group(key)

    def status_failed(self, key: str) -> None:
        """A PodGroup's status could not be written: its phase is again what the watch last said."""
        if self._phases.end(key):
            self._show_group(key)
            self.on_change()

    def settle(self, report: CycleReport) -> None:
        """What a cycle decided has come true: for what-if questions, where no watch will ever say so."""
        for bind in report.binds:
            task = self._tasks.get(bind.uid)
            if task is not None and task.status is Status.PENDING:
                self._store(task.moved(Status.RUNNING, bind.node))
        for eviction in report.evictions:
            self._delete("Pod", eviction.uid)
        for nomination in report.nominations:
            task = self._tasks.get(nomination.uid)
            if task is not None and nomination.lasting:
                self._store(msgspec.structs.replace(task, nominated=nomination.node))
        for key, outcome in report.jobs.items():
            watched = self._watched_groups.get(key)
            if watched is not None:
                self._watched_groups[key] = msgspec.structs.replace(watched, phase=outcome.phase)
                self._show_group(key)

    # Views

    def snapshot(self, now: float) -> Snapshot:
        """The cluster as it is now; valid until the next snapshot."""
        self._snapshots += 1
        previous, self._previous = self._previous, now
        self._settle_defaults()
        changed = self._jobs.publish()
        nodes, placed = self._nodes.publish()
        if self._reader.shaper.overgrown:
            self._reader.shaper.sweep(
                {task.shape for task in self._tasks.values()}, {task.labels for task in self._tasks.values()}
            )
        sums = self._jobs.sums
        queues = self._defaults.queues(sums.books, ("Queue", self._default_queue) not in self.broken)
        return Snapshot(
            now=now,
            axis=self.axis,
            nodes=nodes,
            jobs=self._jobs.published,
            active=self._jobs.active,
            changed=changed,
            nominated=sorted(self._jobs.nominated),
            holders=self._jobs.holders.by_queue,
            queues=queues,
            books=sums.books,
            shares=sums.shares,
            namespaces=self._defaults.namespaces(),
            selections=self._selections.publish(),
            placed=placed,
            total=dense_vector(self._nodes.total, nodes.width),
            used=dense_vector(self._nodes.used, nodes.width),
            previous=previous,
            budgets=self._budgets.publish(),
            quotas=self._quotas.publish(),
            priority_range=self._defaults.priority_range(queues),
        )

    def task(self, uid: str) -> Task | None:
        """The pod of this uid as it is seen now."""
        return self._tasks.get(uid)

    def group_uid(self, key: str) -> str:
        """The uid of the PodGroup object of this key, empty where there is none."""
        group = self._watched_groups.get(key)
        return "" if group is None else group.uid

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {
            "nodes": len(self._nodes),
            "tasks": len(self._tasks),
            "jobs": len(self._jobs.published),
            "active_jobs": len(self._jobs.active),
            "assumed_tasks": len(self._assumed),
            "assumed_nominations": self._assumed.nominations,
            "assumed_phases": len(self._phases),
            "spared_tasks": self._assumed.spared,
            "shapes": len(self._reader.shaper),
            "selectors": len(self._selections),
            "budgets": len(self._budgets),
            "quotas": len(self._quotas),
            "broken": len(self.broken),
            "blemished": len(self.blemished),
            "snapshots": self._snapshots,
        }

    # One object

    def _put(self, kind: str, key: str, found: wire.Object) -> bool:
        """Take in an object, or leave it out with a reason; True where that can matter to scheduling."""
        remarks: list[str] = []
        try:
            match found:
                case wire.Pod():
                    matters = self._put_pod(key, found, remarks)
                case wire.Node():
                    matters = self._nodes.see(node_of(found, self.axis))
                case wire.PodGroup():
                    matters = self._put_group(key, found, remarks)
                case wire.Queue():
                    matters = self._defaults.put_queue(queue_of(found, self.axis, self._open_without_state, remarks))
                case wire.PriorityClass():
                    matters = self._defaults.put_class(class_of(found))
                case wire.Namespace():
                    matters = self._defaults.put_namespace(namespace_of(found))
                case wire.ResourceQuota():
                    matters = self._quotas.put(key, quota_of(found))
                    matters |= self._defaults.put_weight(key.partition("/")[0], key, weight_of(found))
                case wire.PodDisruptionBudget():
                    matters = self._budgets.put(key, budget_of(found))
                case wire.Selecting():
                    matters = self._put_selection(kind, key, selected_by(found))
                case wire.Malformed():
                    raise BadObject(found.message)
        except BadObject as error:
            if not isinstance(found, wire.Pod):
                self._drop(kind, key)
            self._unnote(kind, key)
            _note(self.broken, kind, key, found.metadata, str(error), left_out=True)
            return True
        self._unnote(kind, key)
        if remarks:
            message = f"{wire.named(kind, found.metadata)}: {'; '.join(remarks)}"
            _note(self.blemished, kind, key, found.metadata, message, left_out=False)
        return matters

    def _delete(self, kind: str, key: str) -> bool:
        self._unnote(kind, key)
        return self._drop(kind, key)

    def _drop(self, kind: str, key: str) -> bool:
        """Forget an object; True where it was known."""
        match kind:
            case "Pod":
                return self._drop_pod(key)
            case "Node":
                return self._nodes.lose(key)
            case "PodGroup":
                self._phases.end(key)
                known = self._watched_groups.pop(key, None) is not None
                self._jobs.set_group(key, None)
                return known
        if issubclass(wire.KINDS[kind], wire.Selecting):
            return self._put_selection(kind, key, None)
        if kind == "PodDisruptionBudget":
            return self._budgets.put(key, None)
        limited = kind == "ResourceQuota" and self._quotas.put(key, None)
        return self._defaults.drop(kind, key) or limited

    def _unnote(self, kind: str, key: str) -> None:
        self.broken.pop((kind, key), None)
        self.blemished.pop((kind, key), None)

    # Pods

    def _put_pod(self, uid: str, pod: wire.Pod, remarks: list[str]) -> bool:
        try:
            facts = self._reader.read(pod)
        except BadObject:
            self._drop_pod(uid)
            occupant = self._reader.occupant(pod)
            if occupant is not None:
                self._store(occupant)
            raise
        if facts is None:
            return self._drop_pod(uid)
        remarks.extend(facts.remarks)
        task = facts.task
        if facts.needs_class:
            self._classless.add(uid)
            task = self._with_class_priority(task)
        else:
            self._classless.discard(uid)
        before = self._tasks.get(uid)
        task = self._assumed.overlay(task, self._seen["Pod"].version(uid))
        if before is not None and _same(before, task) and self._jobs.implicit_of(before) == facts.implicit:
            return False
        self._store(task)
        self._jobs.imply(task, facts.implicit)
        return before is None or _matters(before, task)

    def _drop_pod(self, uid: str) -> bool:
        task = self._tasks.pop(uid, None)
        self._assumed.drop(uid)
        self._classless.discard(uid)
        if task is None:
            return False
        self._nodes.move(task, None)
        self._jobs.drop(task)
        return True

    def _store(self, task: Task) -> None:
        before = self._tasks.get(task.uid)
        if before is not None and before.job != task.job:
            self._jobs.drop(before)
        self._tasks[task.uid] = task
        self._nodes.move(before, task)
        self._jobs.put(task)

    def _with_class_priority(self, task: Task) -> Task:
        priority = self._defaults.pod_priority(task.priority_class)
        return task if priority == task.priority else msgspec.structs.replace(task, priority=priority)

    # PodGroups

    def _put_group(self, key: str, group: wire.PodGroup, remarks: list[str]) -> bool:
        watched = job_spec_of(group, self.axis, self._default_queue, remarks)
        before = self._jobs.group(key)
        self._watched_groups[key] = watched
        self._show_group(key)
        after = self._jobs.group(key)
        return before is None or (before is not after and after is not None and _asks_otherwise(before, after))

    def _show_group(self, key: str) -> None:
        watched = self._watched_groups.get(key)
        if watched is not None:
            self._jobs.set_group(key, self._phases.overlay(key, watched, self._seen["PodGroup"].version(key)))

    # Selectors

    def _put_selection(self, kind: str, key: str, selector: Selector | None) -> bool:
        """Never a reason to decide: a selector says which node is the better one, not whether there is one."""
        self._selections.put(kind, key, selector)
        return False

    # What one object means for others

    def _settle_defaults(self) -> None:
        """Classes, queues or namespaces changed: what rests on them is worked out again, once a snapshot."""
        if self._defaults.take_priorities_changed():
            for uid in self._classless:
                task = self._tasks.get(uid)
                if task is not None:
                    repriced = self._with_class_priority(task)
                    if repriced is not task:
                        self._store(repriced)
            self._assumed.reprice(self._classless, self._with_class_priority)
            self._jobs.reprice()
        if self._defaults.take_default_queues_changed():
            self._jobs.respecify_implicit()


def _identity(kind: str, metadata: wire.Metadata) -> str:
    if kind == "Pod":
        return uid_of(metadata)
    return f"{metadata.namespace or 'default'}/{metadata.name}" if kind in wire.NAMESPACED else metadata.name


def _note(
    notes: dict[tuple[str, str], Broken], kind: str, key: str, metadata: wire.Metadata, message: str, *, left_out: bool
) -> None:
    if len(notes) >= BROKEN_LIMIT:
        del notes[next(iter(notes))]
    notes[kind, key] = Broken(kind, metadata.namespace, metadata.name, metadata.uid, message, left_out)


def _version(text: str) -> int:
    """A resource version as a number, 0 where it is none and so says nothing about order."""
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _same(left: Task, right: Task) -> bool:
    return msgspec.structs.astuple(left) == msgspec.structs.astuple(right)


def _matters(before: Task, after: Task) -> bool:
    """Whether a changed record can change a decision.

    A new condition text cannot, nor a binding that arrived, a start, or a longer cool-down: they open no way.
    """
    arrived = before.status is Status.BINDING and after.status is Status.BOUND and before.node == after.node
    as_before = msgspec.structs.replace(
        after,
        condition=before.condition,
        status=before.status if arrived else after.status,
        started=before.started,
        protected_until=min(before.protected_until, after.protected_until),
    )
    return not _same(before, as_before)


def _asks_otherwise(before: JobSpec, after: JobSpec) -> bool:
    """Whether a PodGroup changed in more than what is written to its status."""
    return before != msgspec.structs.replace(
        after,
        written_phase=before.written_phase,
        conditions=before.conditions,
        running=before.running,
        succeeded=before.succeeded,
        failed=before.failed,
    )
