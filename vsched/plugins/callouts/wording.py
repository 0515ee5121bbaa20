"""Converts the objects of a cycle into payloads for an extender."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import SessionContext
from vsched.model.pods.shape import PodLabels, Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.plugins.callouts.payloads import (
    JobPayload,
    NamespacePayload,
    NodePayload,
    PodKind,
    QueuePayload,
    SessionRequest,
    TaskPayload,
)


class Wording:
    """Makes payloads from nodes, queues, jobs and pods; caches those of nodes until the nodes change."""

    def __init__(self, context: SessionContext) -> None:
        self._nodes = context.nodes
        self._usage = context.usage
        self._axis = context.snapshot.axis
        self._said: dict[int, msgspec.Raw] = {}

    def kind(self, shape: Shape, labels: PodLabels) -> PodKind:
        """The kind of pods with this shape and these labels."""
        request = self._axis.render(shape.request)
        return PodKind(labels.namespace, dict(labels.pairs), request, dict(shape.rules.node_selector))

    def task(self, task: Task, status: Status, node: str) -> TaskPayload:
        """One pod, with this status and node."""
        return TaskPayload(
            uid=task.uid,
            namespace=task.namespace,
            name=task.name,
            job=task.job,
            role=task.role,
            labels=dict(task.labels.pairs),
            priority=task.priority,
            preemptable=task.preemptable,
            request=self._axis.render(task.shape.request),
            node=node,
            status=status.name.capitalize(),
        )

    def node(self, row: int) -> msgspec.Raw:
        """One node, in JSON."""
        said = self._said.get(row)
        if said is None:
            table = self._nodes
            one = table.statics.attributes[row]
            allocatable, idle, releasing, pipelined = (
                self._axis.render(enumerate(amounts[:, row].tolist()))
                for amounts in (table.allocatable, table.idle, table.releasing, table.pipelined)
            )
            payload = NodePayload(
                one.name, one.labels, one.taints, one.unschedulable, allocatable, idle, releasing, pipelined
            )
            said = self._said[row] = msgspec.Raw(msgspec.json.encode(payload))
        return said

    def moved(self, row: int) -> None:
        """Note that the amounts of a node changed or are about to change."""
        self._said.pop(row, None)

    def queue(self, queue: Queue) -> QueuePayload:
        """One queue."""
        render = self._axis.render
        return QueuePayload(
            name=queue.name,
            weight=queue.weight,
            priority=queue.priority,
            parent=queue.parent,
            state=queue.state,
            reclaimable=queue.reclaimable,
            annotations=dict(queue.annotations),
            capability=render(queue.capability),
            deserved=render(queue.deserved),
            guarantee=render(queue.guarantee),
            allocated=render(self._usage.queue(queue.name).items()),
        )

    def job(self, job: JobView, tasks: Iterable[Task] | None = None) -> JobPayload:
        """One PodGroup, with ``tasks`` if given."""
        spec = job.spec
        return JobPayload(
            uid=spec.uid,
            namespace=spec.namespace,
            name=spec.name,
            queue=job.queue,
            priority=job.priority,
            phase=job.phase,
            annotations=dict(spec.annotations),
            min_member=job.min_member,
            min_resources=self._axis.render(spec.min_resources or ()),
            ready=job.ready,
            waiting=job.waiting,
            pending=job.pending_count,
            allocated=self._axis.render(job.allocated.items()),
            tasks=msgspec.UNSET if tasks is None else [self.task(one, one.status, one.node) for one in tasks],
        )

    def session(self, context: SessionContext) -> SessionRequest:
        """The cluster at the start of a cycle."""
        snapshot = context.snapshot
        names = self._nodes.statics.names
        return SessionRequest(
            jobs={key: self.job(job, job.job.tasks.values()) for key, job in context.jobs.items()},
            nodes={name: self.node(row) for row, name in enumerate(names)},
            queues={name: self.queue(queue) for name, queue in snapshot.queues.items()},
            namespace_info={
                name: NamespacePayload(found.weight, dict(found.labels)) for name, found in snapshot.namespaces.items()
            },
        )
