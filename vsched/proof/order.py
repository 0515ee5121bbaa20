"""Order: who gives, where several could."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from vsched.model.amounts.resources import add
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.proof.cycle import Cycle, Sums
from vsched.proof.minima import lacking
from vsched.proof.queues import Queues


def queues_give_in_turn(cycle: Cycle) -> Iterator[str]:
    """``reclaim`` takes from the queue with the largest share at that moment, as long as shares are what tells.

    Compared are queues side by side with ``capacity``, of equal priority, by pods that ask for the same on the same
    node: before its last victim, no queue had a smaller share than another one is left with. volcano.md 4.6,
    QueueOrder, reversed for victims.
    """
    if cycle.facts.tree or "capacity" not in cycle.facts.plugins:
        return
    queues = Queues(cycle)
    holds = queues.held()
    for uid in cycle.evicted:
        queues.count(holds, uid, -1)
    last = {(one.beneficiary, cycle.jobs[task.job].spec.queue): one for one, task in cycle.takings()}
    for (beneficiary, name), eviction in last.items():
        if eviction.action != "reclaim" or beneficiary not in cycle.jobs:
            continue
        victim, why = cycle.tasks[eviction.uid], ""
        before = holds[name].copy()
        add(before, cycle.request(eviction.uid))
        share, mine = _share(queues, name, before), queues.all[name]
        for other in queues.all.values():
            if other.name in (name, cycle.jobs[beneficiary].spec.queue) or other.priority != mine.priority:
                continue
            left = _share(queues, other.name, holds[other.name])
            if left > share and left > 1 and other.reclaimable and _could_give(cycle, other.name, victim):
                why = (
                    f"{victim.key} leaves queue {name}, which held less of its share than queue {other.name} still has"
                )
        yield why


def _share(queues: Queues, name: str, held: Sums) -> Fraction:
    deserved = queues.deserved(name)
    return max((Fraction(held[column], value) for column, value in deserved.items() if value), default=Fraction(1))


def _could_give(cycle: Cycle, queue: str, victim: Task) -> bool:
    """Whether a queue has a pod like the victim, on the same node, that its job could lose as well."""
    for job in cycle.jobs.values():
        stay = [one for one in job.tasks.values() if HOLDS[one.status].ready and one.uid not in cycle.evicted]
        for task in stay if job.spec.queue == queue and not job.spec.preemptibility else ():
            alike = task.shape is victim.shape and task.node == victim.node and task.preemptable == victim.preemptable
            equal = task.status is Status.RUNNING and task.priority == victim.priority
            if alike and equal and not lacking(job, [one for one in stay if one is not task]):
                return True
    return False
