"""What differs between two plans of one cluster, today's and that of a what-if. Pure: plans in, records out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from vsched.cli.plan.trial import POD_GROUPS, Sent
from vsched.cli.plan.view import Planned, quantities
from vsched.cli.plan.words import pages as words
from vsched.model.amounts.resources import format_amount
from vsched.model.jobs.job import Job
from vsched.model.plan import Evict, JobOutcome, QueueOutcome
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

T = TypeVar("T")
Pair = tuple[T | None, T | None]
"""A value today and then, None where there is none."""


class Ran(NamedTuple):
    """A plan, and how the cluster stands once it has come true."""

    planned: Planned
    final: Snapshot


class Fate(msgspec.Struct, frozen=True):
    """What becomes of one object that was submitted."""

    kind: str
    name: str
    pods: int
    placed: int
    nodes: dict[str, int] = {}
    """How many of its pods go to each node."""
    phase: str = ""
    message: str = ""
    """Why the rest of it waits."""
    domain: str = ""
    """Of a PodGroup that asks for closeness: the closest domain that contains the nodes of its pods."""
    tier: int | None = None
    """The tier of ``domain``."""


class BindChange(msgspec.Struct, frozen=True):
    """A pod that goes to another node than today, to one where it went to none, or to none."""

    pod: str
    job: str
    today: str = ""
    then: str = ""


class EvictionChange(msgspec.Struct, frozen=True, rename={"beneficiary": "for"}):
    """A pod that is evicted in one of the two plans only."""

    pod: str
    node: str
    action: str
    beneficiary: str
    then: bool
    """Evicted then; else spared, and evicted today."""


class JobChange(msgspec.Struct, frozen=True):
    """A job that stands differently."""

    job: str
    queue: str
    change: str
    """``starts``, ``waits``, ``grows``, ``shrinks``, ``reason``, ``phase``, ``new`` or ``gone``."""
    phase: Pair[str]
    ready: Pair[int]
    pending: Pair[int]
    minimum: Pair[int]
    message: Pair[str]


class QueueChange(msgspec.Struct, frozen=True):
    """A queue that stands differently: the fields that differ, by name, today and then."""

    fields: dict[str, tuple[object, object]]
    allocated: tuple[dict[str, int], dict[str, int]]
    """Base units by resource, today and then, whether they differ or not."""
    fair: tuple[dict[str, int], dict[str, int]]
    """What it deserves, likewise."""


class Changes(msgspec.Struct, frozen=True):
    """Everything that differs."""

    submitted: list[Fate]
    binds: list[BindChange]
    evictions: list[EvictionChange]
    jobs: list[JobChange]
    queues: dict[str, QueueChange]
    namespaces: dict[str, dict[str, tuple[object, object]]]
    """By ``queue/namespace``."""
    nodes: tuple[int, int]
    """How many there are."""
    used: dict[str, tuple[int, int]]
    """Base units that all nodes together have in use, by resource."""
    total: dict[str, tuple[int, int]]
    """What they have to give."""

    @property
    def nothing(self) -> bool:
        """Whether all is as today."""
        lists = (self.submitted, self.binds, self.evictions, self.jobs, self.queues, self.namespaces)
        amounts = (self.nodes, *self.used.values(), *self.total.values())
        return not any(lists) and all(today == then for today, then in amounts)


def changes_between(today: Ran, then: Ran, sent: Sequence[Sent]) -> Changes:
    """What differs of two plans, and the fate of what was submitted in the second."""
    mine = {uid for one in sent for uid in one.pods}
    groups = {one.name for one in sent if one.kind in POD_GROUPS}
    return Changes(
        submitted=[_fate(one, then) for one in sent],
        binds=_binds(today, then),
        evictions=_evictions(today.planned, then.planned),
        jobs=_jobs(today, then, mine, groups),
        queues=_queues(today.planned, then.planned),
        namespaces=_namespaces(today.planned, then.planned),
        nodes=(len(today.final.nodes), len(then.final.nodes)),
        used=_amounts(today.final, then.final, lambda snapshot: snapshot.used),
        total=_amounts(today.final, then.final, lambda snapshot: snapshot.total),
    )


# -- pods -----------------------------------------------------------------------------------------------------------


def _fate(one: Sent, then: Ran) -> Fate:
    planned, uids = then.planned, set(one.pods)
    bound = {bind.uid: bind for report in planned.reports for bind in report.binds if bind.uid in uids}
    jobs = [job for job in then.final.jobs.values() if not uids.isdisjoint(job.tasks)]
    key = jobs[0].key if jobs else one.name if one.kind in POD_GROUPS else ""
    outcome = planned.jobs.get(key)
    waiting = [found for found in planned.last.unschedulable.values() if found.uid in uids]
    message = (outcome.message if outcome is not None else "") or (waiting[0].message if waiting else "")
    done = len(bound) >= len(uids)
    if one.kind in POD_GROUPS and outcome is not None:
        done = done and not outcome.pending and _runs(outcome)
    group = outcome if one.kind in POD_GROUPS else None
    return Fate(
        one.kind,
        one.name,
        len(uids),
        len(bound),
        dict(sorted(Counter(bind.node for bind in bound.values()).items())),
        "" if group is None else group.phase,
        "" if done else message,
        "" if group is None else group.domain,
        None if group is None else group.tier,
    )


def _binds(today: Ran, then: Ran) -> list[BindChange]:
    before, after = _bound(today), _bound(then)
    return [
        BindChange(pod, job, before.get((pod, job), ""), after.get((pod, job), ""))
        for pod, job in dict.fromkeys((*after, *before))
        if before.get((pod, job), "") != after.get((pod, job), "")
    ]


def _bound(ran: Ran) -> dict[tuple[str, str], str]:
    """Where each pod goes, in decision order, by its name and what its job is called."""
    return {
        (f"{bind.namespace}/{bind.name}", called(ran.final.jobs.get(bind.job), bind.job)): bind.node
        for report in ran.planned.reports
        for bind in report.binds
    }


def called(job: Job | None, key: str) -> str:
    """A job as people know it."""
    return key if job is None else job.called


def _evictions(today: Planned, then: Planned) -> list[EvictionChange]:
    before, after = _evicted(today), _evicted(then)
    found = [_eviction(evict, then=True) for uid, evict in after.items() if uid not in before]
    return found + [_eviction(evict, then=False) for uid, evict in before.items() if uid not in after]


def _evicted(planned: Planned) -> dict[str, Evict]:
    return {evict.uid: evict for report in planned.reports for evict in report.evictions}


def _eviction(evict: Evict, *, then: bool) -> EvictionChange:
    return EvictionChange(
        f"{evict.namespace}/{evict.name}", evict.node, evict.action, evict.whom or evict.beneficiary, then
    )


# -- jobs -----------------------------------------------------------------------------------------------------------


def _jobs(today: Ran, then: Ran, mine: set[str], groups: set[str]) -> list[JobChange]:
    before, after = today.planned.jobs, then.planned.jobs
    found = []
    for key in sorted(before.keys() | after.keys()):
        job = next((job for ran in (then, today) if (job := ran.final.jobs.get(key)) and job.tasks), None)
        if key in groups if job is None else mine.issuperset(job.tasks):
            continue  # its fate is told
        old, new = before.get(key), after.get(key) if key in then.final.jobs else None
        change = _change(old, new)
        if change:
            found.append(_job_change(called(job, key), change, old, new))
    return found


def _change(old: JobOutcome | None, new: JobOutcome | None) -> str:
    """In one word what is different, empty where nothing is."""
    if old is None or new is None:
        return "" if old is new else "gone" if new is None else "new"
    if _runs(old) != _runs(new):
        return "starts" if _runs(new) else "waits"
    if old.ready != new.ready:
        return "grows" if new.ready > old.ready else "shrinks"
    if old.phase != new.phase:
        return "phase"
    return "reason" if old.message != new.message and (old.pending or new.pending) else ""


def _runs(job: JobOutcome) -> bool:
    return job.ready >= max(1, job.min_member)


def _job_change(name: str, change: str, old: JobOutcome | None, new: JobOutcome | None) -> JobChange:
    def pair(of: Callable[[JobOutcome], T]) -> Pair[T]:
        return None if old is None else of(old), None if new is None else of(new)

    known = new or old
    return JobChange(
        name,
        known.queue if known is not None else "",
        change,
        pair(lambda job: job.phase),
        pair(lambda job: job.ready),
        pair(lambda job: job.pending),
        pair(lambda job: job.min_member),
        pair(lambda job: job.message),
    )


# -- queues and namespaces ------------------------------------------------------------------------------------------


def _queues(today: Planned, then: Planned) -> dict[str, QueueChange]:
    found: dict[str, QueueChange] = {}
    before, after = ({name: one.shown for name, one in each.last.queues.items()} for each in (today, then))
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        fields = _differing(_told(old, today.queues.get(name)), _told(new, then.queues.get(name)))
        if fields:
            found[name] = QueueChange(fields, (_held(old), _held(new)), (_deserved(old), _deserved(new)))
    return found


def _told(queue: QueueOutcome | None, record: Queue | None) -> dict[str, object]:
    if queue is None or record is None:
        return {}
    return {
        "state": record.state,
        "parent": record.parent,
        "weight": queue.weight,
        "priority": record.priority,
        "share": round(queue.share, 6),
        "overused": queue.overused,
        words.TIMES_ITS_SHARE: None if queue.used_times is None else round(queue.used_times, 2),
        "problem": queue.problem,
        **{
            f"{kind}.{resource}": amount
            for kind, amounts in (
                ("allocated", _held(queue)),
                ("deserved", queue.deserved),
                ("capability", queue.capability),
                ("guarantee", queue.guarantee),
            )
            for resource, amount in quantities(amounts).items()
        },
    }


def _held(queue: QueueOutcome | None) -> dict[str, int]:
    return {} if queue is None else queue.subtree or queue.allocated


def _deserved(queue: QueueOutcome | None) -> dict[str, int]:
    return {} if queue is None else queue.deserved


def _namespaces(today: Planned, then: Planned) -> dict[str, dict[str, tuple[object, object]]]:
    def told(planned: Planned, key: str) -> dict[str, object]:
        found = planned.last.namespaces.get(key)
        if found is None:
            return {}
        allocated = {f"allocated.{name}": amount for name, amount in quantities(found.allocated).items()}
        return {"weight": found.weight, "share": round(found.share, 6), **allocated}

    keys = sorted(today.last.namespaces.keys() | then.last.namespaces.keys())
    pairs = ((key, _differing(told(today, key), told(then, key))) for key in keys)
    return {key: differing for key, differing in pairs if differing}


def _differing(old: Mapping[str, object], new: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """Fields that differ, today and then; an amount that is not there is none."""
    return {
        name: (old.get(name), new.get(name)) for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)
    }


def _amounts(today: Snapshot, then: Snapshot, of: Callable[[Snapshot], Iterable[int]]) -> dict[str, tuple[int, int]]:
    before = dict(zip(today.axis.names, of(today), strict=False))
    after = dict(zip(then.axis.names, of(then), strict=False))
    return {
        name: (before.get(name, 0), after.get(name, 0))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) or after.get(name)
    }


def as_document(changes: Changes) -> dict[str, object]:
    """The changes as JSON: amounts as quantities, pairs as lists of two."""
    told: dict[str, object] = msgspec.to_builtins(changes)
    told["queues"] = {name: queue.fields for name, queue in changes.queues.items()}
    for field in ("used", "total"):
        pairs: dict[str, tuple[int, int]] = getattr(changes, field)
        told[field] = {name: [format_amount(name, each) for each in pair] for name, pair in pairs.items()}
    return told
