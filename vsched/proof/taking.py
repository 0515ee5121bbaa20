"""What is taken from others: no more than queues have beyond their part, nothing in vain, and in turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import takewhile

from vsched.model.amounts.resources import PODS, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.proof import words
from vsched.proof.cycle import MOVING, TAKING, WHOLE, Cycle, Sums, waits
from vsched.proof.minima import lacking, leaves_whole
from vsched.proof.placement import is_bound_by_more
from vsched.proof.queues import LIMITING, CycleQueues, queues_of


def queues_keep_what_they_deserve(cycle: Cycle) -> Iterator[str]:
    """``reclaim`` takes what a queue, and each queue above it that is not above the taker's, holds beyond its part.

    It counts in a resource that the taker lacks on the victim's node, or asks for where more than that is in its way.
    A job that lacks its minimum may take while the queue is over before the loss. One that has it, a gang that leaves
    as a whole, and a job that is not preemptible leave the queue with what it deserves. The guarantee stays in each
    resource.
    """
    division = next((name for name in ("capacity", "proportion") if name in cycle.facts.plugins), "")
    if not cycle.victims:
        return
    queues = queues_of(cycle)
    holds = queues.holds(gone=())

    @cache
    def has_more_in_its_way(key: str) -> bool:
        """Whether more than room on nodes keeps a taker from starting, before anybody leaves for it."""
        rules = any(is_bound_by_more(cycle.tasks[uid]) for uid in cycle.placed[key])
        is_limited = cycle.jobs[key].spec.namespace in cycle.snapshot.quotas
        return rules or is_limited or not is_within_limits(queues, key, [], holds)

    @cache
    def short_of(key: str, node: str) -> set[int]:
        """The columns that a taker lacks on a node, or asks for if there is more in its way."""
        asked = set(cycle.sum_of(cycle.placed[key])) - {PODS}
        return asked if has_more_in_its_way(key) else _lacks_on_node(cycle, key, node) or asked

    @cache
    def complete(key: str, action: str) -> bool:
        """Whether a taker has its minimum before the action."""
        before = takewhile(lambda one: (one.beneficiary, one.action) != (key, action), cycle.evicted.values())
        absent = {one.uid for one in before} | (cycle.bound.keys() if cycle.comes_before_allocate(action) else set())
        have = [task for task in cycle.ready(cycle.jobs[key], evicted=True) if task.uid not in absent]
        return not lacking(cycle.jobs[key], have)

    @cache
    def as_one(key: str, action: str) -> bool:
        return _leaves_as_one(cycle, cycle.jobs[key], {action})

    for eviction, task in cycle.takings():
        taker, job, action = cycle.jobs.get(eviction.beneficiary), cycle.jobs.get(task.job), eviction.action
        looked_at = "reclaim" in action and cycle.facts.protects(division, action)
        short = short_of(taker.key, task.node) if looked_at and taker is not None else set[int]()
        queues.count(holds, task.uid, -1)
        if not looked_at or taker is None or job is None:
            continue
        whole, lost, why = as_one(job.key, action), cycle.sum_of([task.uid]), ""
        keeps = whole or complete(taker.key, action) or job.spec.preemptibility is Preemptibility.NONE
        for name in queues.path(job.spec.queue):
            if name in queues.path(taker.spec.queue) or not queues.sound(name):
                break
            deserved, guarantee, left = queues.deserved(name), queues.guarantees[name], holds[name]
            under = [column for column in lost if left[column] < min(left[column] + lost[column], guarantee[column])]
            over = any(
                left[one] + (0 if keeps else lost[one] - 1) >= deserved[one] for one in short if whole or lost[one]
            )
            if under or (short and not over):
                part = guarantee if under else deserved
                has, own = ({column: amounts[column] for column in under or short} for amounts in (left, part))
                why = why or words.leaves_queue(name, cycle.words(has), cycle.words(own))
        yield words.bad_eviction(task.key, eviction.beneficiary, why) if why else ""


REFUSING = frozenset({"extender", "nodegroup", "resourcestrategyfit"})
"""Plugins by which a node with room may refuse a pod until others have left: what they count is not looked at here."""


def nobody_leaves_in_vain(cycle: Cycle) -> Iterator[str]:
    """No victim can be left out: what was placed of the job that it leaves for does not fit there without that room.

    Or the job's queue lacks it for its limits. Looked at are pods whose place depends on amounts and their own
    rules for nodes alone. What leaves together with others counts as one. Room for pods with which jobs may grow counts
    as taken.
    """
    if cycle.facts.plugins & REFUSING:
        return
    for key, queues, holds in takers_in_turn(cycle):
        placed, victims = cycle.placed[key], cycle.victims[key]
        if not placed or any(map(is_bound_by_more, [*victims, *(cycle.tasks[uid] for uid in placed)])):
            continue
        room = room_for(cycle, key, set(placed.values()), {task.uid for task in victims})
        asked = cycle.sums_on(placed)
        for node, left in room.items():
            subtract(left, asked[node].items())
            for task in growing(cycle, key):
                if all(value <= left[column] for column, value in task.shape.request):
                    subtract(left, task.shape.request)
        fits = all(left[column] >= 0 for node, left in room.items() for column in asked[node])
        for together in units(cycle, victims):
            lost = cycle.sums_on({task.uid: task.node for task in together})
            spared = fits and all(
                room[node][column] >= lost[node][column] for node in room.keys() & lost for column in asked[node]
            )
            names = [task.key for task in together]
            moved = cycle.evicted[together[0].uid].action in MOVING  # queues hold what is moved in any case
            in_vain = spared and (moved or is_within_limits(queues, key, together, holds))
            yield words.leaves_in_vain(names, key) if in_vain else ""


def growing(cycle: Cycle, key: str) -> list[Task]:
    """The waiting pods with which jobs may grow until ``reclaim`` ends, up to this job: reports do not tell of them."""
    takers = (*takewhile(lambda one: one != key, cycle.victims), key)
    grow = (one for one in takers if any(cycle.evicted[task.uid].action == "reclaim" for task in cycle.victims[one]))
    tasks = (task for taker in grow if taker in cycle.jobs for task in cycle.jobs[taker].pending.values())
    return [task for task in tasks if waits(task) and task.uid not in cycle.bound | cycle.reserved]


def _lacks_on_node(cycle: Cycle, key: str, node: str) -> set[int]:
    """The columns that a job lacks on a node while its victims stay; none if it may be slots for pods alone.

    Whether there is more of what was freed before is unknown (``room_for``): none as well if that may be enough.
    """
    before = [task.uid for taker in takewhile(lambda one: one != key, cycle.victims) for task in cycle.victims[taker]]
    asked = cycle.sums_on(cycle.placed[key]).get(node, Sums())
    least, most = (
        {column for column in asked if asked[column] > room.get(node, asked)[column]}
        for room in (room_for(cycle, key, [node], gone) for gone in (before, ()))
    )
    return most if least - {PODS} and PODS not in most else set()


def _leaves_as_one(cycle: Cycle, job: Job, actions: set[str]) -> bool:
    """Whether the pods of a job leave together: by its own word, or because a gang form breaks it up."""
    if job.spec.leaves_whole or not actions <= WHOLE:
        return job.spec.leaves_whole
    return leaves_whole(job, cycle.evicted) and not lacking(job, cycle.ready(job, evicted=True))


def units(cycle: Cycle, victims: list[Task]) -> Iterator[list[Task]]:
    """Victims one by one; those of a gang that leaves as a whole together."""
    by_job: dict[str, list[Task]] = {}
    for task in victims:
        by_job.setdefault(task.job, []).append(task)
    for key, tasks in by_job.items():
        actions = {cycle.evicted[task.uid].action for task in tasks}
        as_one = key in cycle.jobs and _leaves_as_one(cycle, cycle.jobs[key], actions)
        yield from [tasks] if as_one else ([task] for task in tasks)


def takers_in_turn(cycle: Cycle) -> Iterator[tuple[str, CycleQueues, dict[str, Sums]]]:
    """The jobs that pods were evicted for, with what queues hold then: later ones have evicted nobody, and got nothing.

    So what is guaranteed to the queues of later ones is still to be kept free. None where reports do not tell enough.
    """
    if not cycle.victims or cycle.has_more_on_paper:
        return
    queues = queues_of(cycle)
    holds = queues.holds(uid for key in cycle.victims for uid in cycle.placed[key] if uid in cycle.reserved)
    for key in cycle.victims:
        for uid in cycle.placed[key]:
            queues.count(holds, uid, int(uid in cycle.reserved))
        for task in cycle.victims[key]:
            if cycle.evicted[task.uid].action in TAKING:
                queues.count(holds, task.uid, -1)
        yield key, queues, holds


def is_within_limits(queues: CycleQueues, key: str, stay: list[Task], holds: dict[str, Sums]) -> bool:
    """Whether the queues of a job are within their limits if these victims stay, where queues hold this without.

    What other gangs lack that have a part of their minimum counts as held.
    """
    cycle = queues.cycle
    if not LIMITING & cycle.facts.limits:
        return True
    more = [*(task.uid for task in stay), *(uid for uid in queues.owed if cycle.tasks[uid].job != key)]
    for uid in more:
        queues.count(holds, uid)
    held, columns = queues.standing(holds), set(cycle.sum_of(cycle.placed[key]))
    path = queues.path(cycle.jobs[key].spec.queue)
    within = all(holds[name][column] <= queues.most(name, held)[column] for name in path for column in columns)
    for uid in more:
        queues.count(holds, uid, -1)
    return within


def room_for(cycle: Cycle, key: str, nodes: Iterable[str], victims: Collection[str]) -> dict[str, Sums]:
    """The room on these nodes for a job if these pods leave for it, by node: what others got is not there.

    Victims of jobs that evicted before have left; those of later ones are still there. Room that is kept for gangs
    that cannot start is nobody's. What was freed before beyond what was placed there counts as taken: reports do not
    tell of pods that get it on paper, until ``allocate`` places them.
    """
    room, before = dict[str, Sums](), set(takewhile(lambda taker: taker != key, cycle.victims))
    for node in cycle.nodes.keys() & nodes:
        left, freed = cycle.idle[node].copy(), Sums()
        subtract(left, cycle.sum_of(cycle.moved_to[node]).items())
        add(left, cycle.leaving[node].items())
        for uid in cycle.evicted_from[node]:
            eviction = cycle.evicted[uid]
            if uid in victims or eviction.action not in TAKING:
                add(left, cycle.tasks[uid].shape.request)
            elif eviction.beneficiary in before:
                add(freed, cycle.tasks[uid].shape.request)
        for uid in (*cycle.bound_on[node], *cycle.reserved_on[node]):
            job = cycle.tasks[uid].job
            if job != key and (uid in cycle.bound or job not in cycle.hollow):
                subtract(freed if job in before else left, cycle.tasks[uid].shape.request)
        add(left, ((column, min(amount, 0)) for column, amount in freed.items()))
        room[node] = left
    return room


def queues_give_in_turn(cycle: Cycle) -> Iterator[str]:
    """``reclaim`` takes from the queue with the largest share at that moment, as long as shares are what tells.

    Compared are queues side by side with ``capacity``, of equal priority, by pods that ask for the same on the same
    node: before its last victim, no queue had a smaller share than another one is left with. volcano.md 4.6,
    QueueOrder, reversed for victims.
    """
    if cycle.facts.tree or "capacity" not in cycle.facts.plugins or not cycle.victims:
        return
    queues = queues_of(cycle)
    holds = queues.held()
    for uid in cycle.evicted:
        queues.count(holds, uid, -1)
    left = {name: _share(queues, name, held) for name, held in holds.items()}
    more = [queue for queue in queues.all.values() if queue.reclaimable and left[queue.name] > 1]
    stay: dict[tuple[str, str], list[Task]] = {}
    for job in cycle.jobs.values() if more else ():
        for task in cycle.ready(job) if not job.spec.preemptibility else ():
            stay.setdefault((job.spec.queue, task.node), []).append(task)
    takings = [(one, cycle.jobs[task.job]) for one, task in cycle.takings() if task.job in cycle.jobs]
    last = {(one.beneficiary, job.spec.queue): one for one, job in takings}
    for (beneficiary, name), eviction in last.items():
        if eviction.action != "reclaim" or beneficiary not in cycle.jobs:
            continue
        victim, why = cycle.tasks[eviction.uid], ""
        before = holds[name].copy()
        add(before, victim.shape.request)
        share, but = _share(queues, name, before), (name, cycle.jobs[beneficiary].spec.queue)
        for other in more:
            equal = other.name not in but and other.priority == queues.all[name].priority
            alike = stay.get((other.name, victim.node), ())
            if equal and left[other.name] > share and any(_could_go(cycle, task, victim) for task in alike):
                why = words.out_of_turn(victim.key, name, other.name)
        yield why


def _share(queues: CycleQueues, name: str, held: Sums) -> Fraction:
    deserved = ((held[column], value) for column, value in queues.deserved(name).items() if value)
    return max((Fraction(*pair) for pair in deserved), default=Fraction(1))


def _could_go(cycle: Cycle, task: Task, victim: Task) -> bool:
    """Whether a pod is like a victim, its job could lose it as well, and no disruption budget may forbid it."""
    if task.shape is not victim.shape or (task.preemptable, task.priority) != (victim.preemptable, victim.priority):
        return False
    labels = dict(task.labels.pairs)
    if any(one.selector.matches(labels) for one in cycle.snapshot.budgets.get(task.namespace, ())):
        return False
    job = cycle.jobs[task.job]
    stay = [one for one in cycle.ready(job) if one is not task and one.uid not in cycle.bound]
    return task.status is Status.RUNNING and not lacking(job, stay)
