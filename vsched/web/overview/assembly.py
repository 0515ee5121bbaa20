"""Makes the overview of a session from the tables of the modules beside this one. Pure, for any thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from vsched.model.amounts.resources import CPU, MEMORY, PODS
from vsched.model.arbitration.records import Award
from vsched.model.plan import JobOutcome
from vsched.model.snapshot import Snapshot
from vsched.version import build
from vsched.web.overview.deltas import OverviewDelta, delta
from vsched.web.overview.document import Overview, PolicyRow, Resource, SessionRow, unit_of
from vsched.web.overview.jobs import MOST_JOBS, JobTable, job_rows
from vsched.web.overview.nodes import MOST_NODES, NodeAllocation, held_after, node_rows
from vsched.web.overview.queues import MOST_NAMESPACES, MOST_QUEUES, namespaces_of, queue_rows
from vsched.web.snapshots import FrozenSnapshot

MOST_RESOURCES = 8
ALWAYS = (CPU, MEMORY)
CLEARLY = 0.1
"""A resource replaces another among those shown only if so much more of it is allocated, so that columns stay."""


class Most(NamedTuple):
    """How many rows an overview has at most, so that its size is bounded in any cluster."""

    queues: int = MOST_QUEUES
    namespaces: int = MOST_NAMESPACES
    nodes: int = MOST_NODES
    jobs: int = MOST_JOBS


DEFAULT_MOST = Most()


class Around(NamedTuple):
    """What an overview shows besides its session."""

    at: float
    """Seconds since the epoch."""
    role: str
    policy: PolicyRow | None = None
    sessions: tuple[SessionRow, ...] = ()
    bound: int = 0
    evicted: int = 0
    foreign: int = 0
    """Number of our pods that another scheduler has bound."""
    outcomes: Mapping[str, JobOutcome] = {}
    """The last outcome of each job; those of the session itself take precedence."""
    positions: Mapping[str, int] = {}
    """The position of each waiting job in its queue."""
    awards: Mapping[str, Award] = {}
    """By namespace, with arbitration."""
    weights: Mapping[str, int] = {}
    """Weights of namespaces in the division; empty without arbitration."""

    def besides_sessions(self) -> Around:
        """The part that stays the same over idle sessions."""
        return self._replace(at=0.0, sessions=(), outcomes={})


def assemble(
    frozen: FrozenSnapshot, around: Around, before: Overview | None = None, most: Most = DEFAULT_MOST
) -> Overview:
    """The overview after a session; ``before`` is the last one, whose columns keep their places if possible."""
    snapshot = frozen.snapshot
    held = held_after(snapshot, frozen.report.binds)
    columns = shown_columns(snapshot, held, before)
    jobs = job_rows(snapshot, frozen.report, around.outcomes, around.positions, columns, most.jobs)
    queues = queue_rows(snapshot, frozen.report, jobs, columns, most.queues)
    named = namespaces_of(frozen.report, jobs)
    namespaces = named.rows(snapshot, around.awards, around.weights, columns, most.namespaces)
    nodes = node_rows(snapshot, held, columns, frozen.policy.label_tiers(), most.nodes)
    return Overview(
        number=0 if before is None else before.number,
        at=around.at,
        version=build().version,
        role=around.role,
        resources=tuple(_resource(snapshot, held, column) for column in columns),
        queues=queues,
        namespaces=namespaces,
        nodes=nodes,
        jobs=jobs.rows,
        sessions=around.sessions,
        policy=around.policy,
        counts=_counts(
            around,
            len(snapshot.nodes),
            held.total[PODS],
            jobs,
            nodes_left_out=len(snapshot.nodes) - len(nodes),
            queues_left_out=len(snapshot.queues) - len(queues),
            namespaces_left_out=len(named) - len(namespaces),
        ),
    )


def nothing_changed(before: FrozenSnapshot, after: FrozenSnapshot) -> bool:
    """Whether the overviews of both sessions would be the same. It costs far less than making one."""
    was, found = before.snapshot, after.snapshot
    return (
        was.nodes.statics is found.nodes.statics
        and was.nodes.usage is found.nodes.usage
        and was.topology is found.topology
        and was.jobs == found.jobs
        and was.queues == found.queues
        and was.namespaces == found.namespaces
        and before.policy is after.policy
        and not after.report.binds
        and not before.report.binds
        and before.report.queues == after.report.queues
        and before.report.namespaces == after.report.namespaces
        and np.array_equal(was.nodes.idle, found.nodes.idle)
        and _equal(before.report.jobs, after.report.jobs)
    )


def _equal(was: Mapping[str, JobOutcome], found: Mapping[str, JobOutcome]) -> bool:
    """The same as ``==``, but in Python, so that other threads can run in between."""
    return len(was) == len(found) and all(was.get(key) == outcome for key, outcome in found.items())


def assemble_without_session(around: Around) -> Overview:
    """The overview of a daemon without sessions."""
    counts = _counts(around, 0, 0, JobTable())
    return Overview(
        0, around.at, build().version, around.role, (), {}, {}, {}, {}, around.sessions, around.policy, counts
    )


def with_number(found: Overview, before: Overview | None) -> tuple[Overview, OverviewDelta | None]:
    """The overview with its number, and its delta; ``before`` itself where nothing differs."""
    if before is None:
        return replace(found, number=1), None
    found = replace(found, number=before.number + 1)
    change = delta(before, found)
    return (before, None) if change is not None and change.empty else (found, change)


def _counts(
    around: Around,
    nodes: int,
    pods: int,
    jobs: JobTable,
    *,
    nodes_left_out: int = 0,
    queues_left_out: int = 0,
    namespaces_left_out: int = 0,
) -> dict[str, int]:
    return {
        "nodes": nodes,
        "pods_running": pods,
        "pods_waiting": jobs.pods_waiting,
        "jobs_running": jobs.running,
        "jobs_waiting": sum(jobs.waiting.values()),
        "bound_total": around.bound,
        "evicted_total": around.evicted,
        "bound_by_others": around.foreign,
        "jobs_left_out": jobs.left_out,
        "nodes_left_out": nodes_left_out,
        "queues_left_out": queues_left_out,
        "namespaces_left_out": namespaces_left_out,
    }


# -- resources


def shown_columns(snapshot: Snapshot, held: NodeAllocation, before: Overview | None) -> tuple[int, ...]:
    """Columns of the resources that are shown: cpu, memory, then the scarcest others, pods at the end."""
    names, total = snapshot.axis.names, snapshot.total
    known = [found.name for found in before.resources] if before is not None else []
    others = [
        column for column in range(len(total)) if column not in (*ALWAYS, PODS) and _matters(snapshot, held, column)
    ]

    def rank(column: int) -> tuple[float, str]:
        stays = CLEARLY if names[column] in known else 0.0
        return -(_part(held.total[column], total[column]) + stays), names[column]

    ranked = _settled(sorted(others, key=rank)[: MOST_RESOURCES - len(ALWAYS) - 1], snapshot, held, known)
    return (*ALWAYS, *ranked, PODS)


def _settled(columns: Sequence[int], snapshot: Snapshot, held: NodeAllocation, known: Sequence[str]) -> list[int]:
    """The columns in the order of the overview before, unless another resource has clearly become the scarcest."""
    names, total = snapshot.axis.names, snapshot.total
    if {names[column] for column in columns} != set(known[len(ALWAYS) : -1]):
        return sorted(columns, key=lambda column: (-_part(held.total[column], total[column]), names[column]))
    kept = sorted(columns, key=lambda column: known.index(names[column]))
    parts = [_part(held.total[column], total[column]) for column in kept]
    if parts and max(parts) > parts[0] + CLEARLY:
        scarcest = kept.pop(parts.index(max(parts)))
        return [scarcest, *kept]
    return kept


def _matters(snapshot: Snapshot, held: NodeAllocation, column: int) -> bool:
    """Whether the resource is shown: those of volumes and disks only if some of it is allocated."""
    return bool(held.total[column] or ("/" in snapshot.axis.names[column] and snapshot.total[column]))


def _part(held: int, total: int) -> float:
    return held / total if total else float(held > 0)


def _resource(snapshot: Snapshot, held: NodeAllocation, column: int) -> Resource:
    name = snapshot.axis.names[column]
    return Resource(name, unit_of(name), int(snapshot.total[column]), held.total[column])
