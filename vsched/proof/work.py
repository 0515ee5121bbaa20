"""Work: nothing that fits waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vsched.model.amounts.resources import Amounts, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task
from vsched.proof.cycle import Cycle, Sums, waits
from vsched.proof.limits import LIMITING
from vsched.proof.minima import lacking
from vsched.proof.placement import ELSE_KEPT_OUT_BY, forbids, is_bound_by_more, repels
from vsched.proof.queues import Queues


def nothing_that_fits_waits(cycle: Cycle) -> Iterator[str]:
    """No admitted job that fits idle nodes within the limits of its queue waits.

    Looked at are jobs whose waiting pods are alike, so that any order of them does as well as another, and depend on
    amounts and their own rules for nodes alone. Pods for which room is kept wait for their own nodes.
    """
    if cycle.facts.plugins & ELSE_KEPT_OUT_BY or "allocate" not in cycle.facts.actions:
        return
    if cycle.snapshot.masks or cycle.has_more_on_paper:
        return
    queues = Queues(cycle)
    holds = queues.holds(gone=())  # room that evictions made came too late for what waits
    at = {uid: cycle.bound.get(uid, task.node) for uid, task in cycle.tasks.items()}
    repelling = [(task, at[uid]) for uid, task in cycle.tasks.items() if at[uid] and task.shape.affinity is not None]
    for key, job in cycle.jobs.items():
        pods, spec = _waiting(cycle, job), job.spec
        if not pods or not queues.sound(spec.queue):
            continue
        request, rules = pods[0].shape.request, pods[0].shape.rules
        missing = _missing(cycle, job, pods)
        held = Counter(cycle.kept[task.uid] for task in pods if task.uid in cycle.kept)
        fit = 0
        for node in cycle.nodes.values():
            if not forbids(rules, node) and not any(repels(cycle, *one, pods[0], node.name) for one in repelling):
                room = cycle.idle_after(node.name)
                subtract(room, cycle.kept_on(node.name, but=key).items())
                times = _times(request, room)
                fit += min(times, held[node.name]) if held else times
        for name in queues.path(spec.queue) if LIMITING & cycle.facts.limits else ():
            room = queues.most(name, holds)
            subtract(room, holds[name].items())
            add(room, [(column, value * held.total()) for column, value in request])
            fit = min(fit, _times(request, room))
        what = f"{key} waits, and {missing} of its pods fit idle nodes, which is enough for it to go on"
        yield what if 0 < missing <= fit else ""


def _waiting(cycle: Cycle, job: Job) -> list[Task]:
    """The waiting pods of a job, if it is one of those that are looked at; else none."""
    spec, queue = job.spec, cycle.snapshot.queues.get(job.spec.queue)
    outcome = cycle.report.jobs.get(job.key)
    actions = cycle.facts.actions
    late = "enqueue" in actions and actions.index("enqueue") > actions.index("allocate")
    phase = spec.phase if outcome is None or late else outcome.phase
    if phase == Phase.PENDING or queue is None or not queue.open or job.kept_out or job.awaits_class:
        return []
    if spec.topology or spec.sub_groups or spec.namespace in cycle.snapshot.ceilings or spec.native:
        return []
    pods = [task for task in job.pending.values() if task.uid not in cycle.bound and waits(task)]
    if len(pods) != len([uid for uid in job.pending if uid not in cycle.bound]):
        return []
    if len({task.shape for task in pods}) != 1 or any(task.reserves or task.best_effort for task in pods):
        return []
    return [] if any(map(is_bound_by_more, pods)) else pods


def _missing(cycle: Cycle, job: Job, pods: list[Task]) -> int:
    """How many more pods the job needs to go on; 0 where that many are not there, or where it needs certain ones."""
    ready = cycle.ready(job)
    if not cycle.facts.starts_whole or not lacking(job, ready):
        return 1
    minima = job.spec.min_task_member
    if minima and len({task.role for task in job.tasks.values()}) > 1:
        return 0
    return 0 if lacking(job, [*ready, *pods]) else job.spec.min_member - len(ready)


def _times(request: Amounts, room: Sums) -> int:
    """How often an amount is in another."""
    return max(0, min(room[column] // value for column, value in request if value))
