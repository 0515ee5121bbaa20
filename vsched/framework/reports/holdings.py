"""The usage of queues and namespaces after a cycle. Where it did not change, the record is the same as last time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from vsched.framework.points.extension import PastUse, QueueDivision
from vsched.framework.session import Session
from vsched.framework.words import jobs as words
from vsched.kernels.differing import differing_keys
from vsched.model.plan import NamespaceOutcome, QueueOutcome
from vsched.model.queues.queue import Namespace, Queue
from vsched.model.snapshot import QueueUsage, Snapshot

QUEUES = "queues"
"""The owner of ``QueueReports``."""
NO_SUCH_CLASS = "NoSuchPriorityClass"


class QueueReport(NamedTuple):
    """The outcome of a queue, and its inputs."""

    queue: Queue
    held: Mapping[int, int]
    division: QueueDivision | None
    past: PastUse | None
    outcome: QueueOutcome


class QueueReports(NamedTuple):
    """The outcomes of queues in the last cycle, and their inputs."""

    queues: Mapping[str, Queue]
    usage: Mapping[str, QueueUsage]
    """As the snapshot has it."""
    inputs: Mapping[str, object] | None
    """The other inputs of the division of each; None where they are not known."""
    whole: object
    """The inputs of all of them."""
    records: dict[str, QueueReport]
    """Of queues whose usage at the end was that of the snapshot."""
    moved: Set[str]
    """The other queues."""
    outcomes: dict[str, QueueOutcome]


NO_REPORTS = QueueReports({}, {}, None, None, {}, frozenset(), {})


def queue_outcomes(session: Session) -> dict[str, QueueOutcome]:
    """Each queue's share of the cluster after the cycle, by name, sorted; the cost follows what has changed."""
    snapshot = session.snapshot
    known = session.memo.take(QUEUES, QueueReports) or NO_REPORTS
    queues, by = snapshot.queues, session.plugins.divided_by()
    moved = {name for name in session.usage.moved_queues() if name in queues}
    usage, inputs, whole = dict(snapshot.books), None if by is None else by.by_queue, None if by is None else by.whole
    records = known.records
    outcomes: dict[str, QueueOutcome] = {}
    changed: Iterable[str] = sorted(queues)
    if known.queues is queues and known.whole is whole and inputs is not None and known.inputs is not None:
        outcomes = dict(known.outcomes)
        others = *differing_keys(usage, known.usage), *differing_keys(inputs, known.inputs)
        changed = queues.keys() & {*known.moved, *moved, *others}
    for name in changed:
        record = _queue_record(session, queues[name], records.pop(name, None))
        if name not in moved:  # else what it holds may still change in place
            records[name] = record
        outcomes[name] = record.outcome
    if len(records) > len(queues):
        records = {name: record for name, record in records.items() if name in queues}
    session.memo.leave(QUEUES, QueueReports(queues, usage, inputs, whole, records, moved, outcomes))
    return outcomes


def _queue_record(session: Session, queue: Queue, known: QueueReport | None) -> QueueReport:
    name = queue.name
    division, held, past = session.plugins.division(queue), session.usage.queue(name), session.plugins.past_use(queue)
    found = queue, division, past
    if known is not None and known.held is held and (known.queue, known.division, known.past) == found:
        return known
    names = session.snapshot.axis.names
    capability = queue.capability if division is None else division.capability
    problem = None if division is None else division.problem
    lost = words.no_priority_class(queue.missing_class) if queue.missing_class else ""
    amounts = {**held, **division.devices} if division is not None and division.devices else held
    outcome = QueueOutcome(
        name=name,
        weight=queue.weight,
        share=0.0 if division is None else division.share,
        allocated=_named(names, amounts.items()),
        subtree={} if division is None else _named(names, division.subtree.items()),
        deserved={} if division is None else _named(names, [(c, round(v)) for c, v in division.deserved.items()]),
        capability={names[column]: value for column, value in sorted(capability)},
        guarantee=_named(names, queue.guarantee),
        overused=division is not None and division.overused,
        problem_reason=problem.reason if problem is not None else NO_SUCH_CLASS if lost else "",
        problem=problem.message if problem is not None else lost,
        used_times=None if past is None else past.times,
        used_seconds=0.0 if past is None else past.seconds,
    )
    return QueueReport(queue, held, division, past, outcome)


class NamespaceRecords(NamedTuple):
    """The outcomes of namespaces by the usage in the snapshot, and their inputs."""

    shares: Mapping[tuple[str, str], Mapping[int, int]]
    """What each queue and namespace holds, as the snapshot has it."""
    namespaces: Mapping[str, Namespace]
    total: Sequence[int]
    outcomes: dict[str, NamespaceOutcome]
    """By ``queue/namespace``, sorted."""


def namespace_outcomes(session: Session) -> dict[str, NamespaceOutcome]:
    """What each namespace holds in each queue; the cost follows what has changed."""
    snapshot = session.snapshot
    found = session.memo.renewed("namespaces", "", NamespaceRecords, lambda before: _as_found(snapshot, before))
    moved = session.usage.moved_namespaces()
    if not moved:
        return found.outcomes
    outcomes = dict(found.outcomes)
    for queue, namespace in moved:
        held = session.usage.namespace(queue, namespace)
        outcomes[f"{queue}/{namespace}"] = _outcome(snapshot, queue, namespace, held)
    if len(outcomes) == len(found.outcomes):
        return outcomes
    return {f"{queue}/{name}": outcomes[f"{queue}/{name}"] for queue, name in session.usage.namespaces()}


def _as_found(snapshot: Snapshot, known: NamespaceRecords | None) -> NamespaceRecords:
    """The records by the snapshot; those of pairs that hold what they did are the same as before."""
    shares, namespaces, total = snapshot.shares, snapshot.namespaces, snapshot.total
    if known is None or known.namespaces is not namespaces or known.total != total:
        known = NamespaceRecords({}, namespaces, total, {})
    moved = differing_keys(shares, known.shares)
    if not moved:
        return known
    outcomes = dict(known.outcomes)
    for queue, name in moved:
        key, held = f"{queue}/{name}", shares.get((queue, name))
        if held is None:
            del outcomes[key]
        else:
            outcomes[key] = _outcome(snapshot, queue, name, held)
    if outcomes.keys() - known.outcomes.keys():
        outcomes = {f"{queue}/{name}": outcomes[f"{queue}/{name}"] for queue, name in sorted(shares)}
    return NamespaceRecords(dict(shares), namespaces, total, outcomes)


def _outcome(snapshot: Snapshot, queue: str, namespace: str, held: Mapping[int, int]) -> NamespaceOutcome:
    names, total, known = snapshot.axis.names, snapshot.total, snapshot.namespaces.get(namespace)
    share, weight = 0.0, 1 if known is None else known.weight
    for column, value in held.items():  # quicker than max of a generator
        if total[column] and value / total[column] > share:
            share = value / total[column]
    return NamespaceOutcome(queue, namespace, weight, share, _named(names, held.items()))


def _named(names: list[str], amounts: Iterable[tuple[int, int]]) -> dict[str, int]:
    return {names[column]: value for column, value in sorted(amounts) if value}
