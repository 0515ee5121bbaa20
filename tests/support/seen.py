"""Everything that a cycle sees of a mirror, for comparing two."""

from __future__ import annotations

from typing import Any

from vsched.model.snapshot import Snapshot


def seen(snapshot: Snapshot) -> dict[str, Any]:
    """Everything that a cycle looks at, by names, so that two mirrors can be compared."""
    axis, nodes = snapshot.axis, snapshot.nodes
    order = [axis.find(name) for name in sorted(axis.names)]

    def named(amounts: Any) -> dict[str, int]:
        found = amounts.items() if hasattr(amounts, "items") else amounts
        return {axis.names[column]: value for column, value in sorted(found) if value}

    def table(amounts: Any) -> list[list[int]]:
        return [amounts[column].tolist() for column in order]

    return {
        "nodes": nodes.statics.attributes,
        "amounts": [
            table(one) for one in (nodes.allocatable, nodes.idle, nodes.releasing, nodes.pipelined, nodes.requested)
        ],
        "scoring": nodes.scoring.tolist(),
        "total": [snapshot.total[column or 0] for column in order],
        "used": [snapshot.used[column or 0] for column in order],
        "active": list(snapshot.active),
        "nominated": list(snapshot.nominated),
        "admitted": list(snapshot.admitted),
        "reserving": list(snapshot.reserving),
        "asked": list(snapshot.asked),
        "holders": {queue: sorted(jobs) for queue, jobs in snapshot.holders.items()},
        "queues": {
            name: (
                queue.state,
                queue.weight,
                queue.reclaimable,
                queue.affinity,
                named(queue.capability),
                named(queue.deserved),
                named(queue.guarantee),
                {group: named(limit) for group, limit in queue.group_limits or ()},
            )
            for name, queue in snapshot.queues.items()
        },
        "books": {
            name: (
                sums.jobs,
                *map(named, (sums.allocated, sums.pending, sums.elastic, sums.inqueue, sums.promised)),
            )
            for name, sums in snapshot.books.items()
        },
        "shares": {pair: named(held) for pair, held in snapshot.shares.items() if named(held)},
        "quotas": snapshot.quotas,
        "budgets": snapshot.budgets,
        "jobs": {
            key: (
                job.spec.queue,
                job.spec.min_member,
                job.spec.min_task_member,
                job.priority,
                None if job.spec.min_resources is None else named(job.spec.min_resources),
                job.counts,
                named(job.allocated),
                named(job.pending_request),
                sorted((task.name, task.gated, named(task.shape.request)) for task in job.pending.values()),
            )
            for key, job in snapshot.jobs.items()
        },
    }


def placed(snapshot: Snapshot) -> list[object]:
    """What pods see of each other, by node."""
    found = snapshot.placed
    return [
        sorted((labels.namespace, labels.pairs, sorted(counts.items())) for labels, counts in found.counts.items()),
        sorted((port.port, sorted(counts.items())) for port, counts in found.ports.items()),
    ]
