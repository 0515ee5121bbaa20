"""Why a queue gets nothing more: what its waiting jobs wait for, what it holds, and who holds what it deserves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from vsched.actions.taking import RECLAIM
from vsched.explain.changes import SIMULATIONS_MAX, changes
from vsched.explain.constraints import Examiner, ordered
from vsched.explain.order import waiting_order
from vsched.explain.records import Change, Constraint, Explanation, State
from vsched.framework.callout import Callout
from vsched.framework.codes import Code
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.framework.wording import counted
from vsched.model.advice import headline_of
from vsched.model.counted import format_counted
from vsched.model.job import Job
from vsched.model.plan import CycleReport, QueueOutcome
from vsched.model.snapshot import Snapshot
from vsched.model.status import Status

QUEUE = "Queue"
OTHERS = (Code.PROTECTED, Code.BUDGET, Code.ORDER)
"""What is told of the first job besides its headline: who could make room, and does not."""
HOLDERS_TOLD = 5
"""So many queues that hold more than they deserve are named."""


def explain_queue(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    report: CycleReport,
    name: str,
    *,
    callout: Callout | None = None,
    simulations: int = SIMULATIONS_MAX,
    spent: Callable[[], bool] = lambda: False,
) -> Explanation | None:
    """Why a queue's jobs wait; None where there is no such queue and nobody names it.

    What would help is looked for on behalf of the first of its jobs.
    """
    jobs = [job for job in snapshot.jobs.values() if job.spec.queue == name]
    queue = snapshot.queues.get(name)
    if queue is None:
        return _missing(snapshot, name, jobs) if jobs else None
    order = waiting_order(snapshot, policy, registry)
    lane = [view.key for view in order.lane(name) if _still_waits(report, view.key)]
    session = run_actions(snapshot, policy, registry, Trace(), callout)
    first: tuple[Constraint, ...] = ()
    if lane and (view := session.view(lane[0])) is not None:
        first = Examiner(session).of_job(view)
    others = [one for one in first[1:] if one.lasting or one.code in OTHERS]
    told = ordered(None, [*_by_code(report, lane), *others, *_holders(session, report, name)])
    helping: tuple[Change, ...] = ()
    if lane and simulations:
        helping = changes(
            snapshot, policy, registry, report, lane[0], order=order, simulations=simulations, spent=spent
        ).changes
    return Explanation(
        QUEUE,
        name,
        _state(lane, first, jobs),
        _headline(report, name, lane),
        queue=queue.parent,
        phase=queue.state,
        at=snapshot.now,
        constraints=told,
        changes=helping,
        counts=_counts(lane, jobs),
    )


def _missing(snapshot: Snapshot, name: str, jobs: list[Job]) -> Explanation:
    told = f"queue {name} does not exist: {counted(len(jobs), 'job waits', 'jobs wait')} for it to be created"
    constraint = Constraint(Code.QUEUE_NOT_FOUND, told, lasting=True, subject=name)
    return Explanation(
        QUEUE, name, State.NEVER, told, at=snapshot.now, constraints=(constraint,), counts={"jobs": len(jobs)}
    )


def _still_waits(report: CycleReport, key: str) -> bool:
    """Whether a job was not given its minimum in the session that is explained."""
    outcome = report.jobs.get(key)
    return outcome is not None and bool(outcome.message)


def _state(lane: list[str], first: tuple[Constraint, ...], jobs: list[Job]) -> State:
    if lane:
        return State.NEVER if any(one.lasting for one in first) else State.WAITS
    busy = any(job.holding or job.pending for job in jobs)
    return State.RUNS if busy or not jobs else State.FINISHED


def _headline(report: CycleReport, name: str, lane: list[str]) -> str:
    outcome = report.queues[name]
    if outcome.problem:
        return outcome.problem
    if not lane:
        return f"no job waits; {_share(outcome)}"
    message = headline_of(report.jobs[lane[0]].message)
    return f"{counted(len(lane), 'job waits', 'jobs wait')}, {lane[0]} first: {message}"


def _share(outcome: QueueOutcome) -> str:
    """What a queue holds of what it deserves, of the resource that it holds most of by that measure."""
    told = _most(outcome.allocated, outcome.deserved)
    return f"holds {told} that it deserves" if told else "holds nothing"


def _most(held: Mapping[str, int], of: Mapping[str, int]) -> str:
    parts = [(held.get(name, 0) / amount, name) for name, amount in of.items() if amount and name != "pods"]
    if not parts:
        return ""
    _, name = max(parts)
    return f"{format_counted(name, held.get(name, 0))} of the {format_counted(name, of[name])} {name}"


def _by_code(report: CycleReport, lane: list[str]) -> Iterator[Constraint]:
    """What its jobs wait for, that of the first job first, then by how many."""
    codes = Counter(report.jobs[key].code for key in lane)
    firsts: dict[str, str] = {}
    for key in lane:
        firsts.setdefault(report.jobs[key].code, key)
    leading = report.jobs[lane[0]].code if lane else ""
    for code, count in sorted(codes.items(), key=lambda one: (one[0] != leading, -one[1], one[0])):
        key = firsts[code]
        told = f"{counted(count, 'job', 'jobs')}, {key} first: {headline_of(report.jobs[key].message)}"
        yield Constraint(code or Code.OTHER, told, subject=key)


def _holders(session: Session, report: CycleReport, name: str) -> Iterator[Constraint]:
    """The queues that hold more than they deserve of what this one has less of, and why it stays with them."""
    own = report.queues[name]
    lacking = {one for one, amount in own.deserved.items() if own.allocated.get(one, 0) < amount and one != "pods"}
    reclaims = RECLAIM in session.policy.actions
    found = 0
    for other in sorted(report.queues.values(), key=lambda one: (-one.share, one.name)):
        over = sorted(r for r in lacking if other.allocated.get(r, 0) > other.deserved.get(r, 0))
        if other.name == name or not over or found == HOLDERS_TOLD:
            continue
        found += 1
        held = ", ".join(f"{_has(other.allocated, r)} where it deserves {_has(other.deserved, r)}" for r in over)
        queue = session.snapshot.queues[other.name]
        if not queue.reclaimable:
            why = ", and is not reclaimable"
        else:
            why = "" if reclaims else ", and the policy takes nothing back (it has no action reclaim)"
        yield Constraint(Code.PROTECTED, f"queue {other.name} holds {held}{why}", False, over[0], other.name)


def _has(amounts: Mapping[str, int], resource: str) -> str:
    return f"{format_counted(resource, amounts.get(resource, 0))} {resource}"


def _counts(lane: list[str], jobs: list[Job]) -> dict[str, int]:
    return {
        "jobs": len(jobs),
        "waiting": len(lane),
        "running": sum(1 for job in jobs if job.counts[Status.RUNNING]),
        "pods": sum(len(job.tasks) for job in jobs),
        "pending": sum(len(job.pending) for job in jobs),
    }
