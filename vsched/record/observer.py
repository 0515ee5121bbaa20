"""Looks at one snapshot of the mirror after the other, and says in lines what has changed. Pure.

It sees bindings once the API server has them, whoever made them: what a scheduler has only decided is not said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from vsched import __version__
from vsched.model.amounts.resources import PODS, Amounts
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeStatics
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot
from vsched.record.book import WorkBook
from vsched.record.lines import (
    DELETED,
    FAILED,
    NODE_LABELS,
    SUCCEEDED,
    AnyLine,
    Began,
    Complete,
    JobGone,
    JobThere,
    NodeGone,
    NodeThere,
    PodBound,
    PodEnded,
    PodStarted,
    PodThere,
    QueueGone,
    QueueThere,
    Requests,
)
from vsched.record.names import TraceNames

ON_NODE = (Status.BOUND, Status.RUNNING, Status.RELEASING, Status.SUCCEEDED, Status.FAILED)
"""Statuses of pods whose node the API server knows, where they have one."""
LATE_SECONDS = 2.0
"""A binding is seen at once; where its pod has run for longer, it was bound when that began. Objects say seconds."""
DIGITS = 3
"""Of seconds."""
OVER = {Status.SUCCEEDED: SUCCEEDED, Status.FAILED: FAILED}


class WorkObserver:
    """What was said of a cluster, and what there is to say."""

    def __init__(
        self,
        names: TraceNames,
        schedulers: tuple[str, ...],
        scheduler_of: Callable[[str], str] = lambda uid: "",
        after: float = 0.0,
    ) -> None:
        """``scheduler_of`` says which scheduler a pod names; ``after`` when somebody recorded before this, or 0."""
        self.book = WorkBook()
        self._names, self._schedulers, self._scheduler_of, self._after = names, schedulers, scheduler_of, after
        self.seen = after
        """When the cluster was looked at last."""
        self._ids: dict[str, str] = {}
        """Of jobs, by key."""
        self._uids: dict[str, str] = {}
        """Of their PodGroups, by key; empty as long as they have none."""
        self._statics: NodeStatics | None = None
        self._has: bytes = b""
        """The allocatable amounts of all nodes when they were looked at."""
        self._queues: object = None
        self._begun = False

    def look(self, snapshot: Snapshot) -> list[AnyLine]:
        """What has changed since the last snapshot of the same mirror; all that is there, the first time."""
        return [*self.looking(snapshot)]

    def looking(self, snapshot: Snapshot) -> Iterator[AnyLine]:
        """The same, line by line: the first time there is much to say."""
        now = self.seen = round(snapshot.now, DIGITS)
        keys: Iterable[str] = snapshot.changed if self._begun else snapshot.jobs
        begins, self._begun = not self._begun, True
        if begins:
            yield self.began(now, self._after)
        lines = chain(self._nodes(snapshot, now), self._of_queues(snapshot, now), self._of_jobs(snapshot, keys, now))
        for line in lines:  # each is taken before the next is made, which may depend on it
            if self.book.take(line):
                yield line
        if begins:
            yield Complete(at=now)

    def again(self, after: float = 0.0) -> Iterator[AnyLine]:
        """All that is there, as the begin of a further segment; ``after`` where lines since then were lost.

        It may be taken in another thread while more is looked at.
        """
        return chain((self.began(self.seen, after),), self.book.lines(), (Complete(at=self.seen),))

    def began(self, now: float, after: float = 0.0) -> Began:
        """The first line of a segment."""
        return Began(
            at=now, version=__version__, schedulers=self._schedulers, anonymous=self._names.anonymous, after=after
        )

    # -- nodes and queues

    def _nodes(self, snapshot: Snapshot, now: float) -> Iterator[AnyLine]:
        nodes = snapshot.nodes
        has = nodes.allocatable.tobytes()
        if nodes.statics is self._statics and has == self._has:
            return
        self._statics, self._has = nodes.statics, has
        there = set[str]()
        for row, node in enumerate(nodes.statics.attributes):
            name = self._names.name("node", node.name)
            there.add(name)
            amounts = enumerate(nodes.allocatable[: len(snapshot.axis), row].tolist())
            asks = {snapshot.axis.names[column]: amount for column, amount in amounts if amount}
            labels = self._names.labels(node.labels)
            yield NodeThere(at=now, name=name, has=asks, labels=labels, open=not node.unschedulable)
        for name in [*self.book.nodes]:
            if name not in there:
                yield NodeGone(at=now, name=name)

    def _of_queues(self, snapshot: Snapshot, now: float) -> Iterator[AnyLine]:
        if snapshot.queues is self._queues:
            return
        self._queues = snapshot.queues
        there = set[str]()
        for queue in snapshot.queues.values():
            line = self._queue(snapshot, queue, now)
            there.add(line.name)
            yield line
        for name in [*self.book.queues]:
            if name not in there:
                yield QueueGone(at=now, name=name)

    def _queue(self, snapshot: Snapshot, queue: Queue, now: float) -> QueueThere:
        return QueueThere(
            at=now,
            name=self._names.name("queue", queue.name),
            parent=self._names.name("queue", queue.parent),
            weight=queue.weight,
            priority=queue.priority,
            reclaimable=queue.reclaimable,
            capability=_named(snapshot, queue.capability),
            deserved=_named(snapshot, queue.deserved),
            guarantee=_named(snapshot, queue.guarantee),
        )

    # -- jobs and pods

    def _of_jobs(self, snapshot: Snapshot, keys: Iterable[str], now: float) -> Iterator[AnyLine]:
        for key in keys:
            job = snapshot.jobs.get(key)
            id = self._ids.get(key, "")
            if id and (job is None or self._is_another(key, job)):
                yield from self._gone(key, id, now)
                id = ""
            if job is None:
                continue
            if not id:
                id = self._ids[key] = self._id_of(job)
            self._uids[key] = job.spec.uid
            yield self._job(id, job, now)
            yield from self._pods(snapshot, id, job, now)

    def _is_another(self, key: str, job: Job) -> bool:
        """Whether a job only has the name of the one that was said. A PodGroup may be made for pods that are there."""
        before = self._uids[key]
        return bool(before) and job.spec.uid != before

    def _id_of(self, job: Job) -> str:
        """Of its PodGroup, or of its key and its oldest pod where nobody made one."""
        oldest = min(((task.created, task.uid) for task in job.tasks.values()), default=(0.0, ""))
        return self._names.id(job.spec.uid or f"{job.key} {oldest[1]}")

    def _gone(self, key: str, id: str, now: float) -> Iterator[AnyLine]:
        for pod in sorted(self.book.pods_of.get(id, ())):
            if pod in self.book.pods:
                yield PodEnded(at=now, id=pod, how=DELETED)
        del self._ids[key], self._uids[key]
        yield JobGone(at=now, id=id)

    def _job(self, id: str, job: Job, now: float) -> JobThere:
        spec, names = job.spec, self._names
        return JobThere(
            at=now,
            id=id,
            namespace=names.name("namespace", spec.namespace),
            name=names.name("job", spec.name),
            queue=names.name("queue", spec.queue),
            created=spec.created,
            min_member=spec.min_member,
            roles={names.name("role", role): least for role, least in spec.min_task_member},
            priority=job.priority,
            user=names.name("user", job.user),
            made_for=(spec.gang or spec.made_for).partition(" ")[0],
            expected=spec.expected,
        )

    def _pods(self, snapshot: Snapshot, id: str, job: Job, now: float) -> Iterator[AnyLine]:
        there = set[str]()
        for task in job.tasks.values():
            pod = self._names.id(task.uid)
            there.add(pod)
            if pod in self.book.over:
                continue
            is_new = pod not in self.book.pods
            if is_new:
                yield self._pod(snapshot, id, pod, task, now)
            yield from self._fate(pod, task, now, is_new=is_new)
        for pod in self.book.pods_of.get(id, set()) - there:
            if pod in self.book.pods:
                yield PodEnded(at=now, id=pod, how=DELETED)
            self.book.forget(id, pod)

    def _pod(self, snapshot: Snapshot, id: str, pod: str, task: Task, now: float) -> PodThere:
        return PodThere(
            at=now,
            id=pod,
            job=id,
            created=task.created,
            role=self._names.name("role", task.role),
            asks=_named(snapshot, task.shape.request),
            expected=task.expected,
            returns=task.returns,
            selector=self._names.labels(dict(task.shape.rules.node_selector)),
            ruled=_is_ruled(task.shape) or task.claims is not None,
        )

    def _fate(self, pod: str, task: Task, now: float, *, is_new: bool) -> Iterator[AnyLine]:
        """Where a pod is by now, and whether it has ended."""
        if task.node and task.status in ON_NODE:
            unseen = is_new and bool(task.started)
            is_late = bool(task.started) and now - task.started > LATE_SECONDS
            at = task.started if is_late else now
            node = self._names.name("node", task.node)
            yield PodBound(at=at, id=pod, node=node, by=self._scheduler_of(task.uid), unseen=unseen)
        if task.started:
            yield PodStarted(at=min(task.started, now), id=pod)
        if task.status in OVER:
            yield PodEnded(at=min(task.finished or now, now), id=pod, how=OVER[task.status])


def _named(snapshot: Snapshot, amounts: Amounts) -> Requests:
    names = snapshot.axis.names
    return {names[column]: amount for column, amount in amounts if column != PODS}


def _is_ruled(shape: Shape) -> bool:
    rules = shape.rules
    return bool(
        any(label not in NODE_LABELS for label, _ in rules.node_selector)
        or rules.required
        or rules.node_name
        or shape.affinity
        or shape.spread
        or shape.ports
        or shape.devices
        or (shape.zones is not None and shape.zones.policy)
    )
