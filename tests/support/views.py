"""A snapshot as plain values by name: equal for equal clusters, whatever order the mirror saw them in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from vsched.model.amounts.resources import ResourceAxis
from vsched.model.jobs.job import Job
from vsched.model.pods.shape import Shape
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import QueueUsage, Snapshot


def view(snapshot: Snapshot) -> dict[str, Any]:
    """Everything a cycle may look at, but for what changed since the snapshot before."""
    axis, nodes = snapshot.axis, snapshot.nodes
    return {
        "nodes": {
            attributes.name: (
                attributes,
                [
                    named(axis, enumerate(int(value) for value in table[:, row]))
                    for table in (nodes.allocatable, nodes.idle, nodes.releasing, nodes.pipelined, nodes.requested)
                ],
                [int(value) for value in nodes.scoring[:, row]],
            )
            for row, attributes in enumerate(nodes.statics.attributes)
        },
        "names": nodes.statics.names,
        "jobs": {key: job_view(axis, job) for key, job in snapshot.jobs.items()},
        "active": list(snapshot.active),
        "admitted": list(snapshot.admitted),
        "queues": {
            name: (
                msgspec.structs.replace(queue, capability=(), deserved=(), guarantee=(), group_limits=()),
                [named(axis, found) for found in (queue.capability, queue.deserved, queue.guarantee)],
                None
                if queue.group_limits is None
                else [
                    (group, {axis.names[column]: value for column, value in limit})
                    for group, limit in queue.group_limits
                ],
            )
            for name, queue in snapshot.queues.items()
        },
        "books": {name: books_view(axis, books) for name, books in snapshot.books.items()},
        "phases": dict(snapshot.phases),
        "shares": {share: named(axis, held.items()) for share, held in snapshot.shares.items()},
        "namespaces": dict(snapshot.namespaces),
        "selections": {name: set(found.selectors) for name, found in snapshot.selections.items()},
        "budgets": dict(snapshot.budgets),
        "quotas": dict(snapshot.quotas),
        "placed": {(labels.namespace, labels.pairs): counts for labels, counts in snapshot.placed.counts.items()},
        "terms": dict(snapshot.placed.terms),
        "ports": dict(snapshot.placed.ports),
        "total": named(axis, enumerate(snapshot.total)),
        "used": named(axis, enumerate(snapshot.used)),
    }


def named(axis: ResourceAxis, amounts: Iterable[tuple[int, int]]) -> dict[str, int]:
    return {axis.names[column]: value for column, value in amounts if value}


def books_view(axis: ResourceAxis, books: QueueUsage) -> tuple[Any, ...]:
    sums = (books.allocated, books.pending, books.elastic, books.inqueue, books.promised)
    return books.jobs, *(named(axis, found.items()) for found in sums)


def job_view(axis: ResourceAxis, job: Job) -> tuple[Any, ...]:
    return (
        job.key,
        job.spec,
        job.priority,
        {uid: task_view(axis, task) for uid, task in job.tasks.items()},
        sorted(job.pending),
        {status: job.counts[status] for status in Status},
        named(axis, job.allocated.items()),
        named(axis, job.pending_request.items()),
    )


def task_view(axis: ResourceAxis, task: Task) -> tuple[Any, ...]:
    fields = {name: getattr(task, name) for name in task.__struct_fields__ if name not in ("shape", "labels")}
    return fields, shape_view(axis, task.shape), (task.labels.namespace, task.labels.pairs)


def shape_view(axis: ResourceAxis, shape: Shape) -> tuple[Any, ...]:
    fields = {name: getattr(shape, name) for name in shape.__struct_fields__ if name not in ("number", "request")}
    return named(axis, shape.request), fields
