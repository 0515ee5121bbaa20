"""Gangs: all of the minimum, or nothing, on paper as well."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.model.amounts.resources import add, subtract
from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task
from vsched.proof.cycle import Cycle, waits
from vsched.proof.minima import lacking

STEPS_MAX = 2_000
"""Where more are needed, the question stays open."""


def gangs_start_whole(cycle: Cycle) -> Iterator[str]:
    """Pods of a job are bound only if its minima are met with what ran and what was bound.

    config/policies/README.md, "gang": all of a job's minimum or nothing, by ``minMember``, role and sub-group.
    """
    if not cycle.facts.starts_whole:
        return
    for key in dict.fromkeys(bind.job for bind in cycle.report.binds):
        job = cycle.jobs[key]
        short = lacking(job, cycle.ready(job, evicted=True))
        yield f"{key} starts with {short}" if short else ""


def gangs_keep_whole(cycle: Cycle) -> Iterator[str]:
    """Room is kept for the pods of a job only if its minima are met with that room.

    A gang that cannot start takes nothing, not even on paper: others could use the room. Reports tell of no room that
    a gang has on paper besides on idle nodes: it counts where there is any.
    """
    if not cycle.facts.starts_whole:
        return
    for key in dict.fromkeys(cycle.tasks[uid].job for uid in cycle.kept):
        job = cycle.jobs[key]
        short = lacking(job, cycle.ready(job, kept=True))
        if short and not could_be_whole(cycle, job):
            yield f"room is kept for {key}, which would start with {short}"


def could_be_whole(cycle: Cycle, job: Job) -> bool:
    """Whether more waiting pods of a job fit besides all that is kept, so that it has its minima; tries all ways.

    True where that takes too many steps to find out.
    """
    room, steps = {node: cycle.room_after(node) for node in cycle.nodes}, 0
    for node, left in room.items():
        subtract(left, cycle.kept_on(node).items())
    placed = cycle.bound.keys() | cycle.kept.keys()
    pods = [task for task in job.pending.values() if waits(task) and task.uid not in placed]

    def fits(at: int, have: list[Task]) -> bool:
        nonlocal steps
        steps += 1
        if steps > STEPS_MAX or not lacking(job, have):
            return True
        if at == len(pods):
            return False
        task = pods[at]
        for left in room.values():
            if all(value <= left[column] for column, value in task.shape.request):
                subtract(left, task.shape.request)
                if fits(at + 1, [*have, task]):
                    return True
                add(left, task.shape.request)
        return fits(at + 1, have)

    return fits(0, cycle.ready(job, kept=True))
