"""Order: who gives, where several could."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from vsched.model.amounts.resources import add
from vsched.model.pods.status import Status
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
    left = {name: _share(queues, name, held) for name, held in holds.items()}
    more = [queue for queue in queues.all.values() if queue.reclaimable and left[queue.name] > 1]
    stay: dict[tuple[str, str], list[Task]] = {}
    for job in cycle.jobs.values() if more else ():
        for task in cycle.ready(job) if not job.spec.preemptibility else ():
            stay.setdefault((job.spec.queue, task.node), []).append(task)
    last = {(one.beneficiary, cycle.jobs[task.job].spec.queue): one for one, task in cycle.takings()}
    for (beneficiary, name), eviction in last.items():
        if eviction.action != "reclaim" or beneficiary not in cycle.jobs:
            continue
        victim, why = cycle.tasks[eviction.uid], ""
        before = holds[name].copy()
        add(before, cycle.request(eviction.uid))
        share, but = _share(queues, name, before), (name, cycle.jobs[beneficiary].spec.queue)
        for other in more:
            equal = other.name not in but and other.priority == queues.all[name].priority
            alike = stay.get((other.name, victim.node), ())
            if equal and left[other.name] > share and any(_could_go(cycle, task, victim) for task in alike):
                why = f"{victim.key} leaves queue {name}, which held less of its share than {other.name} still has"
        yield why


def _share(queues: Queues, name: str, held: Sums) -> Fraction:
    deserved = queues.deserved(name)
    return max((Fraction(held[column], value) for column, value in deserved.items() if value), default=Fraction(1))


def _could_go(cycle: Cycle, task: Task, victim: Task) -> bool:
    """Whether a pod is like a victim, and its job could lose it as well."""
    if task.shape is not victim.shape or (task.preemptable, task.priority) != (victim.preemptable, victim.priority):
        return False
    job = cycle.jobs[task.job]
    stay = [one for one in cycle.ready(job) if one is not task and one.uid not in cycle.bound]
    return task.status is Status.RUNNING and not lacking(job, stay)
