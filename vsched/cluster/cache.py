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
from vsched.cluster.defaults import ClusterDefaults
from vsched.cluster.ingest import PodReader, uid_of
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
from vsched.model.job import JobSpec
from vsched.model.plan import CycleReport
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
        self._jobs = JobBooks(self._defaults.job_priority, self._defaults.queue_of)
        self._snapshots = 0

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
        for key, outcome in report.jobs.items():
            watched = self._watched_groups.get(key)
            group = self._jobs.group(key)
            if watched is None or group is None or outcome.phase == group.phase:
                continue
            self._phases.begin(key, outcome.phase)
            self._show_group(key)

    def forget(self, uid: str) -> None:
        """A binding or an eviction failed: the pod is again what the watch last said."""
        watched = self._assumed.end(uid)
        if watched is not None:
            self._store(watched)
            self.on_change()

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
            if task is not None:
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
        self._settle_defaults()
        changed = self._jobs.publish()
        nodes, placed = self._nodes.publish()
        if self._reader.shaper.overgrown:
            self._reader.shaper.sweep(
                {task.shape for task in self._tasks.values()}, {task.labels for task in self._tasks.values()}
            )
        sums = self._jobs.sums
        return Snapshot(
            now=now,
            axis=self.axis,
            nodes=nodes,
            jobs=self._jobs.published,
            active=self._jobs.active,
            changed=changed,
            queues=self._defaults.queues(sums.books, ("Queue", self._default_queue) not in self.broken),
            books=sums.books,
            shares=sums.shares,
            namespaces=self._defaults.namespaces(),
            selections=self._selections.publish(),
            placed=placed,
            total=dense_vector(self._nodes.total, nodes.width),
            used=dense_vector(self._nodes.used, nodes.width),
        )

    def task(self, uid: str) -> Task | None:
        """The pod of this uid as it is seen now."""
        return self._tasks.get(uid)

    def has_no_state(self, queue: str) -> bool:
        """Whether the Queue object has no ``status.state`` yet."""
        return self._defaults.has_no_state(queue)

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {
            "nodes": len(self._nodes),
            "tasks": len(self._tasks),
            "jobs": len(self._jobs.published),
            "active_jobs": len(self._jobs.active),
            "assumed_tasks": len(self._assumed),
            "assumed_phases": len(self._phases),
            "shapes": len(self._reader.shaper),
            "selectors": len(self._selections),
            "broken": len(self.broken),
            "snapshots": self._snapshots,
        }

    # One object

    def _put(self, kind: str, key: str, found: wire.Object) -> bool:
        """Take in an object, or leave it out with a reason; True where that can matter to scheduling."""
        try:
            match found:
                case wire.Pod():
                    matters = self._put_pod(key, found)
                case wire.Node():
                    matters = self._nodes.see(node_of(found, self.axis))
                case wire.PodGroup():
                    matters = self._put_group(key, found)
                case wire.Queue():
                    matters = self._defaults.put_queue(
                        queue_of(found, self.axis, self._open_without_state), not found.status.state
                    )
                case wire.PriorityClass():
                    matters = self._defaults.put_class(class_of(found))
                case wire.Namespace():
                    matters = self._defaults.put_namespace(namespace_of(found))
                case wire.ResourceQuota():
                    namespace = found.metadata.namespace or "default"
                    matters = self._defaults.put_weight(namespace, key, weight_of(found))
                case wire.Selecting():
                    matters = self._put_selection(kind, key, selected_by(found))
                case wire.Malformed():
                    raise BadObject(found.message)
        except BadObject as error:
            if not isinstance(found, wire.Pod):
                self._drop(kind, key)
            self._note_broken(kind, key, found.metadata, str(error))
            return True
        self.broken.pop((kind, key), None)
        return matters

    def _delete(self, kind: str, key: str) -> bool:
        self.broken.pop((kind, key), None)
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
        return self._defaults.drop(kind, key)

    def _note_broken(self, kind: str, key: str, metadata: wire.Metadata, message: str) -> None:
        self.broken.pop((kind, key), None)
        if len(self.broken) >= BROKEN_LIMIT:
            del self.broken[next(iter(self.broken))]
        self.broken[kind, key] = Broken(kind, metadata.namespace, metadata.name, metadata.uid, message)

    # Pods

    def _put_pod(self, uid: str, pod: wire.Pod) -> bool:
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
        task = facts.task
        if facts.needs_class:
            self._classless.add(uid)
            task = self._with_class_priority(task)
        else:
            self._classless.discard(uid)
        before = self._tasks.get(uid)
        task = self._assumed.overlay(task, before)
        if before is not None and _same(before, task) and self._jobs.implicit_of(before) == facts.implicit:
            return False
        self._store(task)
        self._jobs.imply(task, facts.implicit)
        return before is None or _matters(before, task)

    def _drop_pod(self, uid: str) -> bool:
        task = self._tasks.pop(uid, None)
        self._assumed.end(uid)
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

    def _put_group(self, key: str, group: wire.PodGroup) -> bool:
        watched = job_spec_of(group, self.axis, self._default_queue)
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


def _version(text: str) -> int:
    """A resource version as a number, 0 where it is none and so says nothing about order."""
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _same(left: Task, right: Task) -> bool:
    return msgspec.structs.astuple(left) == msgspec.structs.astuple(right)


def _matters(before: Task, after: Task) -> bool:
    """Whether a changed record can change a decision: a new condition text, or a binding that arrived, cannot."""
    arrived = before.status is Status.BINDING and after.status is Status.BOUND and before.node == after.node
    status = before.status if arrived else after.status
    return not _same(before, msgspec.structs.replace(after, condition=before.condition, status=status))


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
