"""Makes a snapshot with pseudonyms; a cycle on it makes the same decisions, under the pseudonyms."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from vsched.model.anonymous.catalogue import (
    Selects,
    renamed_catalogue,
    renamed_devices,
    renamed_topology,
    renamed_zones,
)
from vsched.model.anonymous.rules import Renaming, counted, name, node, pairs, parts, sentence
from vsched.model.history.records import Holder, UsageHistory
from vsched.model.jobs.job import Job, Judgement, phases_of
from vsched.model.jobs.provisioning import Provisioning
from vsched.model.jobs.runs import runs_of
from vsched.model.nodes.table import NodeStatics, NodeTable
from vsched.model.pods.placed import NodeCounts, PlacedPods
from vsched.model.pods.selections import Selections
from vsched.model.snapshot import Snapshot

T = TypeVar("T")

KEYS = ("active", "changed", "nominated", "admitted", "reserving", "asked", "elsewhere")
"""Fields with keys of jobs."""
BY_NAME = ("queues", "namespaces", "budgets", "quotas", "priority_classes", "ceilings", "pools")
"""Fields that map names to a record or to several records."""
SUMS_BY_NAME = ("books", "held")
"""Fields that map names to sums."""
NAMELESS = ("now", "previous", "axis", "total", "used", "priority_range", "ignored")
"""Fields without names; names of resources stay."""
OWN = (
    "nodes",
    "jobs",
    "strays",
    "holders",
    "runs",
    "shares",
    "selections",
    "placed",
    "arbitration",
    "held_limits",
    "advice",
    "provisioning",
    "node_pools",
    "learnt",
    "setbacks",
    "foreign",
    "history",
    "claims",
    "topology",
    "zones",
    "device_shares",
    "masks",
    "phases",
    "state",
    "since",
)
"""Fields that ``renamed_snapshot`` converts one by one."""


def renamed_snapshot(renaming: Renaming, snapshot: Snapshot, selects: Selects) -> Snapshot:
    """The same snapshot with pseudonyms; fields that decide nothing and contain names become empty.

    ``selects`` evaluates selectors of devices.
    """
    strangers = {field.name for field in fields(snapshot)}.difference(KEYS, BY_NAME, SUMS_BY_NAME, NAMELESS, OWN)
    assert not strangers, f"nobody knows which names are in {sorted(strangers)}"
    jobs = {name(renaming, key): _job(renaming, job) for key, job in snapshot.jobs.items()}
    arbitration = snapshot.arbitration
    made: dict[str, Any] = {
        "state": None,
        "since": None,
        **{field: _keys(renaming, getattr(snapshot, field)) for field in KEYS},
        **{field: pairs(name, parts)(renaming, getattr(snapshot, field)) for field in BY_NAME},
        **{field: pairs(name)(renaming, getattr(snapshot, field)) for field in SUMS_BY_NAME},
        "nodes": _nodes(renaming, snapshot.nodes),
        "jobs": jobs,
        "strays": {name(renaming, key): _job(renaming, job) for key, job in snapshot.strays.items()},
        "holders": {
            name(renaming, queue): {name(renaming, key): jobs[name(renaming, key)] for key in held}
            for queue, held in snapshot.holders.items()
        },
        "runs": runs_of(jobs.values()),
        "phases": phases_of(jobs.values()),
        "shares": {
            (name(renaming, queue), name(renaming, space)): held for (queue, space), held in snapshot.shares.items()
        },
        "selections": {
            name(renaming, space): Selections(parts(renaming, found.selectors))
            for space, found in snapshot.selections.items()
        },
        "placed": _placed(renaming, snapshot.placed),
        "arbitration": None if arbitration is None else renaming.record(arbitration),
        "held_limits": pairs(name, pairs(counted))(renaming, snapshot.held_limits),
        "advice": {},
        "provisioning": _provisioning(renaming, snapshot),
        "node_pools": {},
        "learnt": {},
        "setbacks": {},
        "foreign": {},
        "history": _history(renaming, snapshot.history),
        "claims": renamed_catalogue(renaming, snapshot.claims, selects),
        "topology": renamed_topology(renaming, snapshot.topology),
        "zones": renamed_zones(renaming, snapshot.zones),
        "device_shares": renamed_devices(renaming, snapshot.device_shares),
        "masks": tuple(map(renaming.record, snapshot.masks)),
    }
    return replace(snapshot, **made)


def _provisioning(renaming: Renaming, snapshot: Snapshot) -> dict[str, Provisioning] | None:
    """The requests of gangs."""
    if snapshot.provisioning is None:
        return None
    return {name(renaming, key): renaming.record(found) for key, found in snapshot.provisioning.items()}


def _history(renaming: Renaming, found: UsageHistory) -> UsageHistory:
    def renamed(holder: Holder) -> Holder:
        return Holder(*(name(renaming, part) for part in holder))

    held = {renamed(holder): amounts for holder, amounts in found.held.items()}
    return replace(found, holders=tuple(map(renamed, found.holders)), held=held)


def _keys(renaming: Renaming, keys: Any) -> tuple[str, ...]:
    return tuple(name(renaming, key) for key in keys)


def _job(renaming: Renaming, job: Job) -> Job:
    found = job.judgement
    judgement = Judgement(
        found.priority,
        sentence(renaming, found.unsupported),
        sentence(renaming, found.notice),
        name(renaming, found.awaits_class),
    )
    made = Job(name(renaming, job.key), renaming.record(job.spec), judgement)
    for task in job.tasks.values():
        made.put(renaming.once(task))
    made.allocated, made.pending_request = job.allocated.copy(), job.pending_request.copy()
    made.frozen = True
    return made


def _nodes(renaming: Renaming, nodes: NodeTable) -> NodeTable:
    made = nodes.copy()
    made.statics = NodeStatics([renaming.record(one) for one in nodes.statics.attributes])
    if nodes.usage is not None:
        young = nodes.usage.young
        young = young._replace(kinds=tuple(renaming.once(kind) for kind in young.kinds))
        made.usage = nodes.usage._replace(young=young)
    return made


def _placed(renaming: Renaming, placed: PlacedPods) -> PlacedPods:
    def counts(found: NodeCounts) -> NodeCounts:
        return {node(renaming, host): count for host, count in found.items()}

    return PlacedPods.of(
        ((renaming.once(labels), counts(found)) for labels, found in placed.counts.items()),
        (
            ((renaming.once(affinity), name(renaming, space)), counts(found))
            for (affinity, space), found in placed.terms.items()
        ),
        ((renaming.record(port), counts(found)) for port, found in placed.ports.items()),
    )
