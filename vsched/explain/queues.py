"""Explains why the jobs of a queue wait.

An explanation of a queue says what its waiting jobs wait for, what the queue holds, and which queues hold more than
they deserve of what this queue lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vsched.actions.victim_search import RECLAIM
from vsched.explain.changes import SIMULATIONS_MAX, changes
from vsched.explain.order import waiting_order
from vsched.explain.records import Change, Constraint, Explanation, Whereabouts
from vsched.explain.simulation import Asked, never, until
from vsched.explain.why.constraints import Examiner, ordered
from vsched.explain.why.words import NO_RECLAIM
from vsched.explain.words import reasons as words
from vsched.framework.callout import Callout
from vsched.framework.codes import Code
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.session import Session
from vsched.framework.times import length
from vsched.framework.unserved import of_queue, unserved
from vsched.framework.words.limits import in_words
from vsched.framework.words.lists import counted
from vsched.model.jobs.advice import headline_of
from vsched.model.jobs.job import Job
from vsched.model.plan import CycleReport, QueueOutcome
from vsched.model.pods.status import Phase, Status
from vsched.model.queues.queue import Queue
from vsched.model.queues.tree import lineage, tree
from vsched.model.snapshot import Snapshot

QUEUE = "Queue"
OTHERS = (Code.PROTECTED, Code.BUDGET, Code.ORDER)
"""Constraints of the first job that go into the explanation besides its headline: other jobs that could make room."""
HOLDERS_TOLD = 5
"""An explanation names at most this many queues that hold more than they deserve."""
GROUPS_TOLD = 20
"""An explanation lists at most this many groups of waiting jobs: by code, or by descendant queue."""
BEGUN = (Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN)
"""The phases of jobs that were admitted and have not finished."""
PODS_NAME = "pods"


def explain_queue(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    report: CycleReport,
    name: str,
    *,
    callout: Callout | None = None,
    simulations: int = SIMULATIONS_MAX,
    spent: Asked = never,
    over: Asked = never,
) -> Explanation | None:
    """Explain why the jobs of a queue and its descendants wait; None if the queue does not exist and no job names it.

    The search for changes is for the first waiting job; ``simulations``, ``spent`` and ``over`` limit it as in
    ``explain``. Raises Spent if ``over`` returns True before there is an explanation.
    """
    queue = snapshot.queues.get(name)
    if queue is None:
        jobs = [job for job in snapshot.jobs.values() if job.spec.queue == name]
        return _missing(snapshot, name, jobs) if jobs else None
    branch = branch_of(snapshot.queues, name)
    jobs = [job for job in snapshot.jobs.values() if job.spec.queue in branch]
    order = waiting_order(snapshot, policy, registry)
    lane = [view.key for one in branch for view in order.lane(one) if _still_waits(report, view.key)]
    if len(branch) > 1:
        lane.sort(key=order.overall().__getitem__)
    # Jobs that use unsupported features are not in the order: they go after those that a session tries.
    out = [job for job in jobs if job.waits and job.kept_out and _still_waits(report, job.key)]
    lane += [job.key for job in sorted(out, key=lambda job: (job.spec.created, job.key))]
    session = run_actions(snapshot, policy, registry, until(over), callout)
    first: tuple[Constraint, ...] = ()
    if lane and (view := session.view(lane[0])) is not None:
        first = Examiner(session).of_job(view)
    held = _held(report, branch)
    holders = [*_holders(session, report, branch, held)]
    told = {one.subject for one in holders}
    others = [
        one
        for one in first[1:]
        if (one.lasting or one.code in OTHERS)
        # That these queues keep it is said with amounts, below.
        and not (told and one.message == NO_RECLAIM)
        and not (one.code is Code.PROTECTED and one.subject in told)
    ]
    headline = _headline(snapshot, report, queue, lane, len(_without_pods(jobs, lane)), held)
    constraints = ordered(None, [*_groups(snapshot, report, lane, branch, headline), *others, *holders])
    helping: tuple[Change, ...] = ()
    if lane and simulations and _may_be_helped(snapshot.jobs[lane[0]]):
        helping = changes(
            snapshot, policy, registry, report, lane[0], order=order, simulations=simulations, spent=spent, over=over
        ).changes
    return Explanation(
        QUEUE,
        name,
        _state(queue, lane, first, jobs),
        headline,
        queue=queue.parent,
        phase=queue.state,
        at=snapshot.now,
        constraints=constraints,
        changes=helping,
        counts=_counts(lane, jobs),
        notes=tuple(filter(None, (past_use(report.queues.get(name)), *of_queue(queue, unserved(policy, registry))))),
    )


def past_use(outcome: QueueOutcome | None) -> str:
    """What a queue used over time, as a sentence; empty where nobody remembers."""
    if outcome is None or outcome.used_times is None:
        return ""
    times, span = outcome.used_times, length(outcome.used_seconds)
    return words.used_times_its_share(outcome.name, times, span)


def _may_be_helped(job: Job) -> bool:
    """Whether a change could help a job: no if it is unsupported, unless only its priority class is missing."""
    return not job.kept_out or bool(job.awaits_class)


def _missing(snapshot: Snapshot, name: str, jobs: list[Job]) -> Explanation:
    message = words.queue_awaited(name, len(jobs))
    constraint = Constraint(Code.QUEUE_NOT_FOUND, message, lasting=True, subject=name, repeats=True)
    return Explanation(
        QUEUE, name, Whereabouts.NEVER, message, at=snapshot.now, constraints=(constraint,), counts={"jobs": len(jobs)}
    )


def _still_waits(report: CycleReport, key: str) -> bool:
    """Whether the session left a job waiting: its outcome then has a message."""
    outcome = report.jobs.get(key)
    return outcome is not None and bool(outcome.message)


def branch_of(queues: Mapping[str, Queue], name: str) -> tuple[str, ...]:
    """The names of a queue and all its descendants."""
    parents = tree(queues)
    below = sorted(one for one in parents if name in lineage(one, parents))
    return (name, *below)


def _held(report: CycleReport, branch: Sequence[str]) -> dict[str, int]:
    """The total allocation of some queues, by resource."""
    held = Counter[str]()
    for name in branch:
        held.update(report.queues[name].allocated)
    return dict(held)


def _without_pods(jobs: Iterable[Job], lane: list[str]) -> list[Job]:
    """Admitted jobs below their minimum that have no pending pods."""
    known = set(lane)
    return [
        job
        for job in jobs
        if job.spec.phase in BEGUN and not job.pending and job.ready < job.spec.min_member and job.key not in known
    ]


def _state(queue: Queue, lane: list[str], first: tuple[Constraint, ...], jobs: list[Job]) -> Whereabouts:
    if lane:
        return Whereabouts.NEVER if any(one.lasting for one in first) else Whereabouts.WAITS
    if _without_pods(jobs, lane):
        return Whereabouts.WAITS
    busy = any(job.holding or job.pending for job in jobs)
    return Whereabouts.RUNS if busy or (queue.open and not jobs) else Whereabouts.FINISHED


def _headline(
    snapshot: Snapshot, report: CycleReport, queue: Queue, lane: list[str], podless: int, held: Mapping[str, int]
) -> str:
    outcome = report.queues[queue.name]
    if outcome.problem:
        return outcome.problem
    if lane:
        first, count = snapshot.jobs[lane[0]], counted(len(lane), "job waits", "jobs wait")
        own = first.spec.queue
        where = first.called if own == queue.name else words.job_of_queue(first.called, own)
        return f"{count}, {where} first: {headline_of(report.jobs[first.key].message)}"
    closed = "" if queue.open else f"is {queue.state}, not Open; "
    waits = words.wait_for_pods(podless) if podless else words.NO_JOB_WAITS
    return f"{closed}{waits}; {_share(snapshot, outcome, held)}"


def _share(snapshot: Snapshot, outcome: QueueOutcome, held: Mapping[str, int]) -> str:
    """How much a queue holds of its dominant resource, compared with its deserved amount, else with the cluster."""
    if not any(value for name, value in held.items() if name != PODS_NAME):
        return "holds nothing"
    amount = _most(held, outcome.deserved)
    if amount:
        return words.holds_deserved(amount)
    return words.holds_of_cluster(_most(held, dict(zip(snapshot.axis.names, snapshot.total, strict=False))))


def _most(held: Mapping[str, int], of: Mapping[str, int]) -> str:
    parts = [(held.get(name, 0) / amount, name) for name, amount in of.items() if amount and name != PODS_NAME]
    if not parts:
        return ""
    _, name = max(parts)
    return words.amount_of(in_words(name, held.get(name, 0)), in_words(name, of[name]), name)


def _groups(
    snapshot: Snapshot, report: CycleReport, lane: list[str], branch: Sequence[str], headline: str
) -> Iterator[Constraint]:
    """What the waiting jobs wait for, grouped by code, or by queue if there are descendants.

    The group of the first job comes first, then the largest groups. Of several groups, the first does not repeat the
    headline.
    """
    inner = len(branch) > 1
    groups: dict[str, list[str]] = {}
    for key in lane:
        groups.setdefault(snapshot.jobs[key].spec.queue if inner else report.jobs[key].code, []).append(key)
    leading = next(iter(groups), "")
    for name in sorted(groups, key=lambda one: (one != leading, -len(groups[one]), one))[:GROUPS_TOLD]:
        keys = groups[name]
        first = report.jobs[keys[0]]
        message = (
            f"{f'queue {name}: ' if inner else ''}{counted(len(keys), 'job', 'jobs')}, {snapshot.called(keys[0])} first"
        )
        why = headline_of(first.message)
        told = name == leading and why in headline
        alone = len(groups) == 1
        if alone or not told:
            message += f": {why}"
        subject = name if inner else keys[0]
        yield Constraint(first.code or Code.OTHER, message, subject=subject, repeats=alone and told)


def _holders(
    session: Session, report: CycleReport, branch: Sequence[str], held: Mapping[str, int]
) -> Iterator[Constraint]:
    """Queues that hold more than they deserve of the resources that this queue lacks, and why they keep them."""
    deserved = report.queues[branch[0]].deserved
    lacking = {one for one, amount in deserved.items() if held.get(one, 0) < amount and one != PODS_NAME}
    reclaims = RECLAIM in session.policy.actions
    found = 0
    for other in sorted(report.queues.values(), key=lambda one: (-one.share, one.name)):
        over = sorted(r for r in lacking if other.allocated.get(r, 0) > other.deserved.get(r, 0))
        if other.name in branch or not over or found == HOLDERS_TOLD:
            continue
        found += 1
        has = [(_has(other.allocated, one), _has(other.deserved, one)) for one in over]
        queue = session.snapshot.queues[other.name]
        if not queue.reclaimable:
            why = words.NOT_RECLAIMABLE
        else:
            why = "" if reclaims else words.NOTHING_TAKEN_BACK
        yield Constraint(Code.PROTECTED, words.holds_more(other.name, has, why), False, over[0], other.name)


def _has(amounts: Mapping[str, int], resource: str) -> str:
    return f"{in_words(resource, amounts.get(resource, 0))} {resource}"


def _counts(lane: list[str], jobs: list[Job]) -> dict[str, int]:
    return {
        "jobs": len(jobs),
        "waiting": len(lane) + len(_without_pods(jobs, lane)),
        "running": sum(1 for job in jobs if job.counts[Status.RUNNING]),
        "pods": sum(len(job.tasks) for job in jobs),
        "pending": sum(len(job.pending) for job in jobs),
    }
