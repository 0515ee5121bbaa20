"""What a plan says, as the stable JSON shape. Pure: reports in, data out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from vsched.cli.allocations.shares import AllocationShares
from vsched.cli.allocations.view import as_document as allocations
from vsched.model.amounts.resources import format_amount
from vsched.model.claims.plan import ClaimPlan
from vsched.model.plan import CycleReport, JobOutcome, NamespaceOutcome, QueueOutcome, Unschedulable
from vsched.model.queues.queue import Queue

Document = dict[str, Any]


class Planned(NamedTuple):
    """What was planned, and on what."""

    reports: Sequence[CycleReport]
    """One a cycle."""
    queues: Mapping[str, Queue]
    ignored: Mapping[str, int]
    """Objects that were left aside, by kind."""
    now: float = 0.0
    """When it was planned, seconds since the epoch."""
    ended: Sequence[str] = ()
    """What ended by itself between cycles, because it was asked to; a sentence each time."""
    shares: AllocationShares | None = None
    """Who deserves and holds what; None where nobody arbitrates."""
    called: Callable[[str], str] = str
    """How people know a job, by its key."""

    @property
    def last(self) -> CycleReport:
        """How everything stands in the end."""
        return self.reports[-1]

    @property
    def jobs(self) -> dict[str, JobOutcome]:
        """Every job that was looked at as it was last seen, in the order of keys."""
        jobs: dict[str, JobOutcome] = {}
        for report in self.reports:
            jobs.update(report.jobs)
        return dict(sorted(jobs.items()))


def as_document(planned: Planned) -> Document:
    """The result of all cycles: decisions cycle by cycle, everything else as it stands after the last one."""
    last = planned.last
    shares = {} if planned.shares is None else allocations(planned.shares)
    return {
        "cycles": [_cycle(report) for report in planned.reports],
        "jobs": {key: _job(job) for key, job in planned.jobs.items() if not job.implicit},
        "queues": {name: _queue(last.queues[name].shown, planned.queues[name]) for name in sorted(last.queues)},
        "namespaces": {key: _namespace(last.namespaces[key]) for key in sorted(last.namespaces)},
        "allocations": shares.get("namespaces", {}),
        **({"buckets": shares["buckets"]} if shares.get("buckets") else {}),
        "unschedulable": {key: _unschedulable(last.unschedulable[key]) for key in sorted(last.unschedulable)},
        "ignored": dict(sorted(planned.ignored.items())),
        **({"ended": list(planned.ended)} if planned.ended else {}),
    }


def _cycle(report: CycleReport) -> Document:
    return {
        "binds": [
            {"pod": f"{bind.namespace}/{bind.name}", "node": bind.node, **_claims(bind.claims)} for bind in report.binds
        ],
        "evictions": [
            {
                "pod": f"{evict.namespace}/{evict.name}",
                "action": evict.action,
                "for": evict.beneficiary,
                "node": evict.node,
                **({"to": evict.to} if evict.to else {}),
                **({"asked": True, "waitSeconds": evict.wait} if evict.asks else {}),
            }
            for evict in report.evictions
        ],
        "nominations": [{"pod": f"{one.namespace}/{one.name}", "node": one.node} for one in report.lasting_nominations],
    }


def _claims(plan: ClaimPlan | None) -> Document:
    """What the pod's claims get: the volume of each, null for one that is made; and devices, as driver/pool/device."""
    if plan is None or not (plan.volumes or plan.devices):
        return {}
    return {
        "claims": {
            "volumes": {one.claim: one.volume or None for one in plan.volumes},
            "devices": {one.claim: [each.device.path for each in one.allocation.devices] for one in plan.devices},
        }
    }


def _job(job: JobOutcome) -> Document:
    return {
        "phase": job.phase,
        "queue": job.queue,
        "minMember": job.min_member,
        "ready": job.ready,
        "pending": job.pending,
        "message": job.message,
        "reasons": dict(sorted(job.reasons.items())),
        **({"domain": job.domain, "tier": job.tier} if job.domain else {}),
        **({"subGroups": [msgspec.structs.asdict(one) for one in job.sub_groups]} if job.sub_groups else {}),
    }


def _queue(queue: QueueOutcome, record: Queue) -> Document:
    """A queue; its priority, its state and what is wrong with it only where there is something to say."""
    told: Document = {
        "share": round(queue.share, 6),
        "weight": queue.weight,
        "allocated": quantities(queue.subtree or queue.allocated),
        "deserved": quantities(queue.deserved),
        "capability": quantities(queue.capability, slots=True),
        "guarantee": quantities(queue.guarantee),
        "overused": queue.overused,
    }
    if record.priority:
        told["priority"] = record.priority
    if not record.open:
        told["state"] = record.state
    if queue.problem:
        told["problem"] = {"reason": queue.problem_reason, "message": queue.problem}
    return told


def _namespace(namespace: NamespaceOutcome) -> Document:
    return {
        "weight": namespace.weight,
        "share": round(namespace.share, 6),
        "allocated": quantities(namespace.allocated),
    }


def _unschedulable(one: Unschedulable) -> Document:
    return {"message": one.message, "reasons": dict(sorted(one.reasons.items()))}


def quantities(amounts: Mapping[str, int], *, slots: bool = False) -> dict[str, str]:
    """Base units by resource name as quantities, sorted; slots for pods are left out, unless they are asked for."""
    return {name: format_amount(name, value) for name, value in sorted(amounts.items()) if slots or name != "pods"}
