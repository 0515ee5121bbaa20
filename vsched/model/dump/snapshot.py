"""A snapshot to JSON parts and back: all fields in the same order, so that cycles on both make the same decisions.

Nodes, jobs and pods are tables. Shapes, label sets and pods are written once, and other parts refer to them by
position. Counts of jobs follow from their pods and are not written; sums are written, in the order of their entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from itertools import chain
from typing import Any, TypeVar, get_type_hints

import msgspec

from vsched.errors import BadInput
from vsched.model import words
from vsched.model.amounts.counted import Counted
from vsched.model.amounts.resources import ResourceAxis, Vector
from vsched.model.arbitration.records import Arbitration, Bucket, NamespaceAccount
from vsched.model.claims.catalogue import NO_CLAIMS
from vsched.model.dump.claims import ClaimParts, claim_catalogue, claim_parts, users_of
from vsched.model.dump.nodes import NodeParts, NodePositions, node_parts, node_table
from vsched.model.dump.placed import PlacedParts, placed_parts, placed_pods
from vsched.model.dump.tables import Numbered, Parts, Piece, pieces, records
from vsched.model.history.holding import held_by
from vsched.model.history.records import NO_HISTORY, HistoryRecord, UsageHistory, history_of
from vsched.model.jobs.job import Job, Judgement, phases_of
from vsched.model.jobs.runs import runs_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.selections import Selections
from vsched.model.pods.shape import PodLabels, Selector, Shape, ShapeTable
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

T = TypeVar("T")

PARTED = frozenset(
    {
        "axis",
        "nodes",
        "jobs",
        "holders",
        "runs",
        "shares",
        "selections",
        "placed",
        "arbitration",
        "strays",
        "phases",
        "claims",
        "state",
        "since",
        "history",
    }
)
"""Fields of a snapshot with parts of their own, or that follow from others; all others are written as they are."""


class DumpedJob(msgspec.Struct, frozen=True):
    """A job without its spec and its pods; the pods of a job are consecutive in the table of pods."""

    key: str
    priority: int
    pods: int
    allocated: tuple[tuple[int, int], ...]
    """In the order in which the sums were built, zeros included; the same holds for ``pending``."""
    pending: tuple[tuple[int, int], ...]
    unsupported: str = ""
    notice: str = ""
    awaits_class: str = ""


class AccountParts(msgspec.Struct, frozen=True):
    """The account of a namespace, with its pods by position."""

    party: NamespaceAccount
    tasks: list[int]
    pending: list[int]


class ArbitrationParts(msgspec.Struct, frozen=True):
    """The input of arbitration (``Arbitration``) with accounts in parts."""

    parties: dict[str, AccountParts]
    buckets: dict[str, Bucket]
    storage: Counted
    version: int


class SnapshotParts(msgspec.Struct, frozen=True):
    """The parts of a snapshot, for decoding; they are written one after another."""

    plain: dict[str, msgspec.Raw]
    """By name: the fields that are written as they are."""
    axis: list[str]
    attributes: list[Piece]
    nodes: NodeParts
    specs: list[Piece]
    jobs: list[Piece]
    strays: int
    """How many jobs at the end of ``jobs`` are strays, which are not scheduled."""
    tasks: list[Piece]
    """The pods of all jobs, job by job; then pods that only other parts refer to."""
    holders: dict[str, list[int]]
    """By queue: positions of jobs."""
    shares: list[tuple[str, str, Vector]]
    selections: dict[str, list[Selector]]
    placed: PlacedParts
    arbitration: ArbitrationParts | None
    shapes: list[Piece]
    labels: list[Piece]
    claims: ClaimParts | None = None
    """None where there are no volumes and devices."""
    history: HistoryRecord | None = None
    """None where nothing was counted."""


# -- writing --------------------------------------------------------------------------------------------------------


class Writing:
    """Writes a snapshot, and remembers the positions that it gives to shared objects."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.tasks: Numbered[str] = Numbered()
        """Uids of the pods in the table, by position."""
        self._shapes: Numbered[Shape] = Numbered()
        self._labels: Numbered[PodLabels] = Numbered()
        self._jobs: Numbered[str] = Numbered(snapshot.jobs)
        self._nodes = NodePositions(snapshot.nodes.statics.names)

    def parts(self) -> Iterator[tuple[str, object]]:
        """The parts in order, as (name, content). Earlier parts refer to positions in later ones."""
        snapshot = self._snapshot
        jobs = [*snapshot.jobs.values(), *snapshot.strays.values()]
        plain = (field.name for field in fields(snapshot) if field.name not in PARTED)
        yield "plain", Parts((name, getattr(snapshot, name)) for name in plain)
        yield "axis", list(snapshot.axis.names)
        yield "attributes", pieces(snapshot.nodes.statics.attributes)
        yield "nodes", node_parts(snapshot.nodes, self._shapes)
        yield "specs", pieces(job.spec for job in jobs)
        yield "jobs", pieces(_line(job) for job in jobs)
        yield "strays", len(snapshot.strays)
        yield "tasks", pieces(self._tasks(jobs), {"shape": self._shapes.at, "labels": self._labels.at})
        holders = {queue: [self._jobs.at(key) for key in held] for queue, held in snapshot.holders.items()}
        yield "holders", holders
        yield "shares", [(queue, namespace, held) for (queue, namespace), held in snapshot.shares.items()]
        yield "selections", {namespace: found.selectors for namespace, found in snapshot.selections.items()}
        yield "placed", Parts(placed_parts(snapshot.placed, self._labels, self._nodes))
        yield "arbitration", self._arbitration()
        if not snapshot.claims.is_empty:
            yield "claims", Parts(claim_parts(snapshot.claims, self.tasks))
        if not snapshot.history.is_empty:
            yield "history", snapshot.history.record()
        yield "shapes", pieces(iter(self._shapes))
        yield "labels", pieces(iter(self._labels))

    def _tasks(self, jobs: Sequence[Job]) -> Iterator[Task]:
        """Every pod once, pods of jobs first."""
        arbitration = self._snapshot.arbitration
        for job in jobs:
            for task in job.tasks.values():
                self.tasks.at(task.uid)
                yield task
        parties = arbitration.parties.values() if arbitration is not None else ()
        counted = (task for party in parties for task in party.tasks.values())
        for task in chain(counted, users_of(self._snapshot.claims)):
            if self.tasks.find(task.uid) is None:
                self.tasks.at(task.uid)
                yield task

    def _arbitration(self) -> ArbitrationParts | None:
        found = self._snapshot.arbitration
        if found is None:
            return None
        parties = {namespace: self._party(party) for namespace, party in found.parties.items()}
        return ArbitrationParts(parties, dict(found.buckets), found.storage, found.version)

    def _party(self, party: NamespaceAccount) -> AccountParts:
        tasks, pending = ([self.tasks.at(uid) for uid in named] for named in (party.tasks, party.pending))
        return AccountParts(msgspec.structs.replace(party, tasks={}, pending={}), tasks, pending)


def _line(job: Job) -> DumpedJob:
    pending = tuple(job.pending_request.items())
    held = tuple(job.allocated.items())
    return DumpedJob(job.key, job.priority, len(job.tasks), held, pending, *job.judgement[1:])


# -- reading --------------------------------------------------------------------------------------------------------


def snapshot_of(parts: SnapshotParts) -> tuple[Snapshot, list[Task]]:
    """The snapshot, and its pods by position; raises BadInput, or IndexError or KeyError where a position is wrong."""
    interned = ShapeTable()
    shapes = [
        msgspec.structs.replace(shape, rules=interned.rules(shape.rules)) for shape in records(parts.shapes, Shape)
    ]
    labels = records(parts.labels, PodLabels)
    tasks = records(parts.tasks, Task, {"shape": _in(shapes), "labels": _in(labels)})
    by_position = list(_jobs(parts, tasks))
    if not 0 <= parts.strays <= len(by_position):
        raise BadInput(words.too_many_strays(parts.strays, len(by_position)))
    by_key = {job.key: job for job in by_position}
    strays = {job.key: by_key.pop(job.key) for job in by_position[len(by_position) - parts.strays :]}
    axis = ResourceAxis(parts.axis)
    table = node_table(parts.nodes, axis, records(parts.attributes, NodeAttributes), shapes)
    snapshot = Snapshot(
        **_plain(parts.plain),
        axis=axis,
        nodes=table,
        jobs=by_key,
        strays=strays,
        holders={queue: {by_position[at].key: by_position[at] for at in held} for queue, held in parts.holders.items()},
        runs=runs_of(by_key.values()),
        phases=phases_of(by_key.values()),
        shares={(queue, namespace): held for queue, namespace, held in parts.shares},
        selections={namespace: Selections(found) for namespace, found in parts.selections.items()},
        placed=placed_pods(parts.placed, labels, table.statics.names),
        arbitration=_arbitration(parts.arbitration, tasks),
        claims=NO_CLAIMS if parts.claims is None else claim_catalogue(parts.claims, tasks),
        history=NO_HISTORY if parts.history is None else _history(parts.history, by_key.values()),
    )
    _check(snapshot)
    return snapshot, tasks


def _in(values: Sequence[T]) -> Callable[[int], T]:
    return values.__getitem__


def _jobs(parts: SnapshotParts, tasks: Sequence[Task]) -> Iterator[Job]:
    pods = iter(tasks)
    for line, spec in zip(records(parts.jobs, DumpedJob), records(parts.specs, JobSpec), strict=True):
        job = Job(line.key, spec, Judgement(line.priority, line.unsupported, line.notice, line.awaits_class))
        for _ in range(line.pods):
            job.put(next(pods))
        job.allocated, job.pending_request = dict(line.allocated), dict(line.pending)
        job.frozen = True
        yield job


def _plain(found: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    kinds = plain_kinds()
    unknown = found.keys() - kinds.keys()
    if unknown:
        raise BadInput(words.record_has_no_field("a snapshot", min(unknown)))
    return {name: msgspec.json.decode(raw, type=kinds[name]) for name, raw in found.items()}


@cache
def plain_kinds() -> dict[str, Any]:
    """The types of the fields of a snapshot that are written as they are."""
    hints = get_type_hints(Snapshot)
    return {field.name: hints[field.name] for field in fields(Snapshot) if field.name not in PARTED}


def _arbitration(parts: ArbitrationParts | None, tasks: Sequence[Task]) -> Arbitration | None:
    if parts is None:
        return None
    parties = {namespace: _party(found, tasks) for namespace, found in parts.parties.items()}
    return Arbitration(parties, parts.buckets, parts.storage, parts.version)


def _party(found: AccountParts, tasks: Sequence[Task]) -> NamespaceAccount:
    def by_uid(positions: Iterable[int]) -> dict[str, Task]:
        return {tasks[at].uid: tasks[at] for at in positions}

    return msgspec.structs.replace(found.party, tasks=by_uid(found.tasks), pending=by_uid(found.pending))


def _history(record: HistoryRecord, jobs: Iterable[Job]) -> UsageHistory:
    try:
        return history_of(record, held_by(jobs))
    except ValueError as error:
        raise BadInput(words.usage_history(error)) from None


def _check(snapshot: Snapshot) -> None:
    """Raise BadInput where parts do not match, because cycles rely on that."""
    for name in ("active", "nominated", "admitted", "reserving", "asked", "elsewhere"):
        known = {**snapshot.jobs, **snapshot.strays} if name == "asked" else snapshot.jobs
        strangers = [key for key in getattr(snapshot, name) if key not in known]
        if strangers:
            raise BadInput(words.no_job_among(strangers[0], name))
    width = len(snapshot.axis)
    if not len(snapshot.total) == len(snapshot.used) == snapshot.nodes.width:
        raise BadInput(words.sums_of_other_resources(snapshot.nodes.width))
    shapes: set[Shape] = {task.shape for job in snapshot.jobs.values() for task in job.tasks.values()}
    widest = max((column for shape in shapes for column, _ in shape.request), default=0)
    if widest >= width or snapshot.nodes.width > width:
        raise BadInput(words.no_such_column(widest, width))
