"""The pages ``/queues``, ``/jobs`` and ``/nodes`` as plain data: one pure function for each, for any thread.

Each gives one object after the other by name, in order: there may be a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypedDict

import msgspec

from vsched.model.amounts.resources import format_amount
from vsched.model.jobs.job import Job
from vsched.model.plan import JobOutcome, NamespaceOutcome, PlannedStart, QueueOutcome, SubGroupOutcome
from vsched.model.pods.status import Phase, Status
from vsched.model.queues.queue import Queue
from vsched.web.findings import Findings
from vsched.web.overview.jobs import goes_before
from vsched.web.overview.nodes import standing

NO_POSITIONS: Mapping[str, int] = {}


Quantities = dict[str, str]
"""By resource."""


class NamespaceShareShown(TypedDict):
    """What a namespace holds in a queue."""

    weight: int
    share: float
    allocated: Quantities


class QueueObjectShown(TypedDict, total=False):
    """What the object of a queue says; nothing where it is gone."""

    state: str
    parent: str
    priority: int
    reclaimable: bool


class QueueShown(QueueObjectShown):
    """A queue with its share, its amounts and limits, and its problem."""

    weight: int
    share: float
    overused: bool
    allocated: Quantities
    deserved: Quantities
    capability: Quantities
    guarantee: Quantities
    subtree: Quantities
    problem: str
    problemReason: str
    namespaces: dict[str, NamespaceShareShown]


class JobShown(TypedDict):
    """A PodGroup with its phase, counts, the reason it waits, and its position in its queue if known."""

    called: str
    phase: str
    queue: str
    priority: int
    minMember: int
    ready: int
    pending: int
    running: int
    succeeded: int
    failed: int
    created: float
    code: str
    message: str
    reasons: dict[str, int]
    domain: str
    tier: int | None
    sub_groups: list[SubGroupOutcome]
    planned: PlannedStart | None
    unplanned: str
    ahead_of: str
    position: int | None


class NodeShown(TypedDict):
    """A node with its amounts."""

    allocatable: Quantities
    idle: Quantities
    releasing: Quantities
    pipelined: Quantities
    unschedulable: bool
    state: str
    group: str


def amounts(named: Mapping[str, int]) -> dict[str, str]:
    """Base units by resource name as quantities."""
    return {name: format_amount(name, value) for name, value in named.items() if value}


def queues(findings: Findings) -> Iterator[tuple[str, QueueShown]]:
    """Every queue with its share, its allocated and deserved amounts, its limits, and its problem."""
    records = findings.snapshot.queues if findings.snapshot is not None else {}
    held_in: dict[str, list[NamespaceOutcome]] = {}
    for held in list(findings.namespaces.values()):
        held_in.setdefault(held.queue, []).append(held)
    found = findings.queues
    for name in sorted(found):
        yield name, _queue(records.get(name), found[name].shown, held_in.get(name, ()))


def _queue(record: Queue | None, queue: QueueOutcome, held_in: Iterable[NamespaceOutcome]) -> QueueShown:
    return {
        **_record(record),
        "weight": queue.weight,
        "share": round(queue.share, 6),
        "overused": queue.overused,
        "allocated": amounts(queue.allocated),
        "deserved": amounts(queue.deserved),
        "capability": amounts(queue.capability),
        "guarantee": amounts(queue.guarantee),
        "subtree": amounts(queue.subtree),
        "problem": queue.problem,
        "problemReason": queue.problem_reason,
        "namespaces": {
            held.namespace: {
                "weight": held.weight,
                "share": round(held.share, 6),
                "allocated": amounts(held.allocated),
            }
            for held in held_in
        },
    }


def _record(queue: Queue | None) -> QueueObjectShown:
    """Fields of a queue's object; empty where it is gone."""
    if queue is None:
        return {}
    return {
        "state": queue.state,
        "parent": queue.parent,
        "priority": queue.priority,
        "reclaimable": queue.reclaimable,
    }


def jobs(findings: Findings, positions: Mapping[str, int] = NO_POSITIONS) -> Iterator[tuple[str, JobShown]]:
    """Every PodGroup with its phase, counts, the reason it waits, and its position in its queue if known."""
    snapshot = findings.snapshot
    if snapshot is None:
        return
    ahead = goes_before(dict(findings.jobs))
    for key in sorted(snapshot.jobs):
        job = snapshot.jobs.get(key)
        if job is not None:
            yield key, _job(job, findings.jobs.get(key), ahead.get(key, ""), positions.get(key))


def _job(job: Job, outcome: JobOutcome | None, ahead_of: str, position: int | None) -> JobShown:
    succeeded, failed = job.counts[Status.SUCCEEDED], job.counts[Status.FAILED]
    if outcome is not None and outcome.phase == Phase.COMPLETED:  # finished pods may have been cleaned away since
        succeeded, failed = max(succeeded, outcome.succeeded), max(failed, outcome.failed)
    return {
        "called": job.called if job.spec.made_for else "",
        "phase": outcome.phase if outcome is not None else job.spec.phase,
        "queue": job.spec.queue,
        "priority": job.priority,
        "minMember": job.spec.min_member,
        "ready": job.ready,
        "pending": len(job.pending),
        "running": job.counts[Status.RUNNING],
        "succeeded": succeeded,
        "failed": failed,
        "created": job.spec.created,
        "code": outcome.code if outcome is not None else "",
        "message": outcome.message if outcome is not None else "",
        "reasons": dict(outcome.reasons) if outcome is not None else {},
        "domain": outcome.domain if outcome is not None else "",
        "tier": outcome.tier if outcome is not None else None,
        "sub_groups": msgspec.to_builtins(outcome.sub_groups) if outcome is not None else [],
        "planned": msgspec.to_builtins(outcome.planned) if outcome is not None else None,
        "unplanned": outcome.unplanned if outcome is not None else "",
        "ahead_of": ahead_of,
        "position": position,
    }


def nodes(findings: Findings) -> Iterator[tuple[str, NodeShown]]:
    """Every node with its allocatable, idle, releasing and pipelined amounts."""
    snapshot = findings.snapshot
    if snapshot is None:
        return
    table, names = snapshot.nodes, snapshot.axis.names
    for row, attributes in enumerate(table.statics.attributes):
        allocatable, idle, releasing, pipelined = (
            amounts({names[column]: int(array[column, row]) for column in range(table.width)})
            for array in (table.allocatable, table.idle, table.releasing, table.pipelined)
        )
        state, group = standing(attributes)
        yield (
            attributes.name,
            {
                "allocatable": allocatable,
                "idle": idle,
                "releasing": releasing,
                "pipelined": pipelined,
                "unschedulable": attributes.unschedulable,
                "state": state,
                "group": group,
            },
        )
