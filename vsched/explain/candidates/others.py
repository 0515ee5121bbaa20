"""Levers of jobs that hold resources which the waiting job could use: their minima and disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from vsched.explain.candidates.levers import Lever, MissingMinimum, Rank, in_proportion
from vsched.explain.edits.jobs import SetVictimMinimum
from vsched.explain.edits.namespaces import AllowDisruptions
from vsched.explain.words import reasons as words
from vsched.model.jobs.job import Job
from vsched.model.snapshot import Snapshot

BUDGETS_MAX, VICTIMS_MAX = 16, 8
EVICTIONS_MAX = 64
"""The most evictions that a lever adds to a budget."""
TAKING = ("reclaim", "preempt")


def other_levers(wants: MissingMinimum) -> Iterator[Lever]:
    """All levers of other jobs; none if the policy neither preempts nor reclaims."""
    if any(action in wants.situation.policy.actions for action in TAKING):
        yield from _minima(wants)
        yield from _budgets(wants)


def _minima(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers of gangs at their minimum: other queues' first, then the lowest priority, then the youngest."""
    queue = wants.job.spec.queue
    for job in sorted(
        islice(_at_minimum(wants), VICTIMS_MAX * VICTIMS_MAX),
        key=lambda job: (job.spec.queue == queue, job.priority, -job.spec.created, job.key),
    )[:VICTIMS_MAX]:
        spec = job.spec
        least = max(1, sum(minimum for _, minimum in spec.min_task_member))
        if spec.min_member > least:
            lowered = partial(_lowered, wants.situation.snapshot, job)
            yield Lever(
                Rank.ORDER, lowered, spec.min_member - least, whole=spec.min_member, kind=words.MINIMA_OF_OTHERS
            )


def _at_minimum(wants: MissingMinimum) -> Iterator[Job]:
    """Jobs that hold a resource which the job asks for, and could be victims if their minimum were smaller."""
    snapshot, own = wants.situation.snapshot, wants.job
    preempting = "preempt" in wants.situation.policy.actions
    reclaiming = "reclaim" in wants.situation.policy.actions
    for queue, holders in snapshot.holders.items():
        if not (preempting if queue == own.spec.queue else reclaiming):
            continue
        for job in holders.values():
            spec = job.spec
            if spec.implicit or spec.made or job.key == own.key or job.ready - spec.min_member >= wants.missing:
                continue
            if spec.native is not None and not spec.native.has_mutable_minimum:
                continue
            if queue == own.spec.queue and job.priority >= own.priority:
                continue
            if any(job.allocated.get(column) for column in wants.columns):
                yield job


def _lowered(snapshot: Snapshot, job: Job, step: int) -> SetVictimMinimum:
    minimum = job.spec.min_member - step
    return SetVictimMinimum(job.key, minimum, in_proportion(job.spec, snapshot.axis, minimum))


def _budgets(wants: MissingMinimum) -> Iterator[Lever]:
    """Levers of disruption budgets that allow fewer than ``EVICTIONS_MAX`` evictions."""
    budgets = (budget for found in wants.situation.snapshot.budgets.values() for budget in found)
    for budget in islice((one for one in budgets if one.allowed < EVICTIONS_MAX), BUDGETS_MAX):

        def allowing(
            step: int, namespace: str = budget.namespace, name: str = budget.name, allowed: int = budget.allowed
        ) -> AllowDisruptions:
            return AllowDisruptions(namespace, name, allowed + step)

        yield Lever(Rank.LIMITS, allowing, EVICTIONS_MAX, whole=EVICTIONS_MAX, kind="budgets")
