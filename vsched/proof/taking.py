"""What is taken from others: no more than queues have beyond their part, and nothing in vain."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from vsched.model.amounts.resources import PODS, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.proof.cycle import TAKING, WHOLE, Cycle, Sums
from vsched.proof.limits import LIMITING
from vsched.proof.minima import lacking, leaves_whole
from vsched.proof.placement import is_bound_by_more
from vsched.proof.queues import Queues


def queues_keep_what_they_deserve(cycle: Cycle) -> Iterator[str]:
    """``reclaim`` takes what a queue, and each queue above it that is not above the taker's, holds beyond its part.

    It counts in a resource that the taker asks for and lacks. A job that lacks its minimum may take while the queue is
    over before the loss. One that has it, a gang that leaves as a whole, and a job that is not preemptible leave the
    queue with what it deserves. The guarantee stays in each resource.
    """
    division = next((name for name in ("capacity", "proportion") if name in cycle.facts.plugins), "")
    queues = Queues(cycle)
    holds = queues.holds(gone=())
    for eviction, task in cycle.takings():
        queues.count(holds, task.uid, -1)
        taker, job = cycle.jobs.get(eviction.beneficiary), cycle.jobs.get(task.job)
        protects = cycle.facts.protects(division, eviction.action)
        if "reclaim" not in eviction.action or taker is None or job is None or not protects:
            continue
        short, lost = _lacks_on_nodes(cycle, taker.key), cycle.sum_of([task.uid])
        whole = _leaves_as_one(cycle, job, {eviction.action})
        kept = whole or job.spec.preemptibility is Preemptibility.NONE
        later = cycle.bound if cycle.comes_before_allocate(eviction.action) else ()
        have = [task for task in cycle.ready(taker, evicted=True) if task.uid not in later]
        keeps, why = kept or not lacking(taker, have), ""
        for name in queues.path(job.spec.queue):
            if name in queues.path(taker.spec.queue) or not queues.sound(name):
                break
            deserved, guarantee, left = queues.deserved(name), queues.guarantee(name), holds[name]
            under = [column for column in lost if left[column] < min(left[column] + lost[column], guarantee[column])]
            over = any(
                left[column] + (0 if keeps else lost[column] - 1) >= deserved[column]
                for column in short
                if whole or lost[column]
            )
            if under or (short and not over):
                part = guarantee if under else deserved
                has, own = ({column: amounts[column] for column in under or short} for amounts in (left, part))
                why = why or f"leaves queue {name} {cycle.words(has)} of {cycle.words(own)} that are its own"
        yield f"the eviction of {task.key} for {eviction.beneficiary} {why}" if why else ""


def nobody_leaves_in_vain(cycle: Cycle) -> Iterator[str]:
    """No victim can be left out: what was placed of the job that it leaves for does not fit there without that room.

    Or the job's queue lacks it for its limits. Looked at are pods whose place depends on amounts and their own
    rules for nodes alone. What leaves together with others counts as one.
    """
    for key in [] if cycle.has_more_on_paper else cycle.takers():
        placed, victims = cycle.placed(key), cycle.victims(key)
        if not placed or any(map(is_bound_by_more, [*victims, *(cycle.tasks[uid] for uid in placed)])):
            continue
        for together in units(cycle, victims):
            room = room_for(cycle, key, [task.uid for task in victims if task not in together])
            for uid, node in placed.items():
                subtract(room[node], cycle.request(uid))
            fits = all(room[node][column] >= 0 for uid, node in placed.items() for column, _ in cycle.request(uid))
            names = ", ".join(task.key for task in together)
            in_vain = fits and is_within_limits(cycle, key, together)
            yield f"{names} leaves in vain: what is placed of {key} fits without it" if in_vain else ""


def _lacks_on_nodes(cycle: Cycle, key: str) -> set[int]:
    """The columns that a job lacks where it gets room, while its victims stay; all if it lacks slots for pods alone."""
    placed, room = cycle.placed(key), room_for(cycle, key, ())
    short = set[int]()
    for node in dict.fromkeys(placed.values()):
        asked = cycle.sum_of(uid for uid, at in placed.items() if at == node)
        short |= {column for column, value in asked.items() if value > room[node][column]}
    return short - {PODS} or set(cycle.sum_of(placed)) - {PODS}


def _leaves_as_one(cycle: Cycle, job: Job, actions: set[str]) -> bool:
    """Whether the pods of a job leave together: by its own word, or because a gang form breaks it up."""
    had_minimum = not lacking(job, cycle.ready(job, evicted=True))
    return job.spec.leaves_whole or (actions <= WHOLE and had_minimum and leaves_whole(job, cycle.evicted))


def units(cycle: Cycle, victims: list[Task]) -> Iterator[list[Task]]:
    """Victims one by one; those of a gang that leaves as a whole together."""
    for key in dict.fromkeys(task.job for task in victims):
        tasks = [task for task in victims if task.job == key]
        actions = {cycle.evicted[task.uid].action for task in tasks}
        if key in cycle.jobs and _leaves_as_one(cycle, cycle.jobs[key], actions):
            yield tasks
        else:
            yield from ([task] for task in tasks)


def is_within_limits(cycle: Cycle, key: str, stay: list[Task]) -> bool:
    """Whether the queues of a job are within their limits if these victims stay, and those of later takers, too.

    Later takers have evicted nobody by then: what is guaranteed to their queues is still to be kept free.
    """
    queues = Queues(cycle)
    if not LIMITING & cycle.facts.limits:
        return True
    until = _until(cycle, key)
    gone = {task.uid for task in cycle.victims(*until) if task not in stay}
    later = {other for other in cycle.takers() if other not in until}
    gone |= {uid for uid in cycle.kept if cycle.tasks[uid].job in later}
    holds = queues.holds(gone)
    return all(
        holds[name][column] <= queues.most(name, holds)[column]
        for name in queues.path(cycle.jobs[key].spec.queue)
        for column in cycle.sum_of(cycle.placed(key))
    )


def room_for(cycle: Cycle, key: str, victims: Collection[str]) -> dict[str, Sums]:
    """The room on nodes for a job if these pods leave for it, by node: what others got is not there.

    Victims of jobs that evicted before have left; those of later ones are still there. Room that is kept for gangs
    that cannot start is nobody's. What was freed before beyond what was placed there counts as taken: reports do not
    tell of pods that get it on paper, until ``allocate`` places them.
    """
    room, before = {node: amounts.copy() for node, amounts in cycle.idle.items()}, _until(cycle, key)[:-1]
    for node, leaving in cycle.leaving.items():
        add(room[node], leaving.items())
    freed = {node: Sums() for node in room}
    for uid, eviction in cycle.evicted.items():
        if eviction.node in room:
            if uid in victims or eviction.action not in TAKING:
                add(room[eviction.node], cycle.request(uid))
            elif eviction.beneficiary in before:
                add(freed[eviction.node], cycle.request(uid))
    for uid, node in (cycle.bound | cycle.kept).items():
        job = cycle.jobs[cycle.tasks[uid].job]
        starts = uid in cycle.bound or not cycle.facts.starts_whole or not lacking(job, cycle.ready(job, kept=True))
        if job.key != key and starts and node in room:
            subtract(freed[node] if job.key in before else room[node], cycle.request(uid))
    for node, amounts in freed.items():
        add(room[node], ((column, min(amount, 0)) for column, amount in amounts.items()))
    return room


def _until(cycle: Cycle, key: str) -> list[str]:
    """The jobs that pods were evicted for, up to this one."""
    return cycle.takers()[: cycle.takers().index(key) + 1]
