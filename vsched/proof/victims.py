"""Victims: who may be evicted for whom, and that nobody is evicted in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vsched.model.amounts.resources import PODS, Vector, add, subtract
from vsched.model.jobs.job import Job
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.proof.cycle import TAKING, Cycle
from vsched.proof.fitting import Pod, fit_together
from vsched.proof.limits import LIMITING
from vsched.proof.minima import lacking, leaves_whole
from vsched.proof.placement import ELSE_KEPT_OUT_BY, forbids, is_bound_by_more
from vsched.proof.queues import Queues

SYSTEM_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})
WHOLE = frozenset({"gangpreempt", "gangreclaim"})
"""Actions by which a whole gang may have to leave."""


def victims_may_leave(cycle: Cycle) -> Iterator[str]:
    """A victim holds its node, and nothing that it says itself, or that its PodGroup or queue says, protects it.

    Pods and PodGroups by ``volcano.sh/preemptable`` and ``vsched.io/preemptibility``; the cluster's own pods
    (``conformance``), a cool-down (``cdp``), queues that are not ``reclaimable``.
    """
    for eviction, task in cycle.takings():
        action, job = eviction.action, cycle.jobs.get(task.job)
        why = ""
        if task.status not in (Status.RUNNING, Status.BOUND):
            why = "does not run"
        elif not task.preemptable or task.spared:
            why = "is not preemptable"
        elif job is not None and job.spec.preemptibility is Preemptibility.NONE:
            why = "belongs to a job that is not preemptible"
        elif job is not None and action in WHOLE and job.spec.preemptable is False:
            why = "belongs to a job that is not preemptable"
        elif cycle.facts.protects("conformance", action) and (
            task.priority_class in SYSTEM_CLASSES or task.namespace == "kube-system"
        ):
            why = "is one of the cluster's own"
        elif cycle.facts.protects("cdp", action) and task.protected_until > cycle.snapshot.now:
            why = "was placed a moment ago"
        yield f"{task.key} is evicted by {action}, and {why}" if why else ""


def victims_are_in_reach(cycle: Cycle) -> Iterator[str]:
    """``preempt`` takes within a queue, ``reclaim`` from other queues that are reclaimable; gang forms likewise.

    ``gangpreempt`` takes from jobs of lower priority alone. A job whose pods never preempt takes from nobody.
    """
    for eviction, task in cycle.takings():
        taker, job, action, why = cycle.jobs.get(eviction.beneficiary), cycle.jobs.get(task.job), eviction.action, ""
        if taker is None or job is None:
            why = "for nobody" if taker is None else "though it belongs to no job"
        elif "reclaim" in action:
            queue = cycle.snapshot.queues.get(job.spec.queue)
            if job.spec.queue == taker.spec.queue:
                why = "in the queue of the job that it leaves for"
            elif queue is not None and not queue.reclaimable:
                why = f"and its queue {queue.name} is not reclaimable"
        elif job.spec.queue != taker.spec.queue:
            why = "in another queue than the job that it leaves for"
        elif action == "gangpreempt" and job.priority >= taker.priority:
            why = "and its job is no less than the one that it leaves for"
        placed = cycle.placed(eviction.beneficiary)
        if not why and placed and not any(cycle.tasks[uid].preempts for uid in placed):
            why = f"for {eviction.beneficiary}, whose pods never preempt"
        yield f"{task.key} is evicted by {action} {why}" if why else ""


def budgets_hold(cycle: Cycle) -> Iterator[str]:
    """Disruption budgets allow all evictions of the cycle together; a pod in two budgets is not evicted at all.

    Pods that do not run yet are free, and those that are not ready where the budget says so.
    """
    evicted = [cycle.tasks[uid] for uid, one in cycle.evicted.items() if one.asks_budgets and uid in cycle.tasks]
    concerned = Counter[str]()
    for budgets in cycle.snapshot.budgets.values():
        for budget in budgets:
            used = 0
            for task in evicted:
                if task.namespace != budget.namespace or task.status is not Status.RUNNING:
                    continue
                if budget.selector.matches(dict(task.labels.pairs)):
                    concerned[task.uid] += 1
                    used += task.name not in budget.disrupted and not (task.unready and budget.spares_unready)
            over = used > budget.allowed
            yield f"{used} pods of budget {budget.namespace}/{budget.name} leave, of {budget.allowed}" if over else ""
    for task in evicted:
        yield f"{task.key} is in two budgets" if concerned[task.uid] > 1 else ""


def gangs_keep_their_minima(cycle: Cycle) -> Iterator[str]:
    """A job that loses pods keeps the minima of itself, its roles and its sub-groups, or has none of its pods left.

    Only the gang forms break gangs up, which then leave as a whole. A job below its minimum loses nothing to
    ``preempt`` and ``reclaim``. Native groups may say that they leave as a whole in any case (``disruptionMode``).
    """
    losers: dict[str, set[str]] = {}
    for eviction, task in cycle.takings():
        losers.setdefault(task.job, set()).add(eviction.action)
    for key, actions in losers.items():
        job = cycle.jobs.get(key)
        if job is None:
            continue
        whole = leaves_whole(job, cycle.evicted)
        stay = cycle.ready(job)
        protected = job.spec.preemptibility is Preemptibility.SEMI or any(
            cycle.facts.protects("gang", action) for action in actions - WHOLE
        )
        why = ""
        if job.spec.leaves_whole:
            why = "" if whole else "leaves in part, and says that it leaves as a whole"
        elif (protected or actions <= WHOLE) and not (whole and actions <= WHOLE):
            short = lacking(job, stay)
            broken_before = actions <= WHOLE and bool(lacking(job, cycle.ready(job, evicted=True)))
            why = f"is left with {short}" if short and not broken_before else ""
        yield f"{key} loses pods to {', '.join(sorted(actions))}, and {why}" if why else ""


def takers_are_complete(cycle: Cycle) -> Iterator[str]:
    """Pods are evicted only for a job that gets room in the cycle, and has its minima with that room.

    "The gang gets all of its minimum, or nobody is evicted."
    """
    for key in dict.fromkeys(eviction.beneficiary for eviction, _ in cycle.takings()):
        job, why = cycle.jobs.get(key), ""
        if job is None or not cycle.placed(key):
            why = "which gets no room"
        elif cycle.facts.starts_whole and (short := lacking(job, cycle.ready(job, kept=True))):
            why = f"which then has {short}"
        yield f"pods are evicted for {key}, {why}" if why else ""


def queues_keep_what_they_deserve(cycle: Cycle) -> Iterator[str]:
    """``reclaim`` takes what a queue, and each queue above it that is not above the taker's, holds beyond its part.

    It counts in a resource that the taker asks for and lacks. A job that lacks its minimum may take while the queue is
    over before the loss. One that has it, and a gang that leaves as a whole, leave the queue with what it deserves. The
    guarantee stays in each resource.
    """
    division = next((name for name in ("capacity", "proportion") if name in cycle.facts.plugins), "")
    queues = Queues(cycle)
    holds = queues.held()
    for eviction, task in cycle.takings():
        queues.count(holds, queues.queue_of(task.uid), task.uid, -1)
        taker, job = cycle.jobs.get(eviction.beneficiary), cycle.jobs.get(task.job)
        protects = cycle.facts.protects(division, eviction.action)
        if "reclaim" not in eviction.action or taker is None or job is None or not protects:
            continue
        short, whole = lacks_on_nodes(cycle, taker.key), _leaves_as_one(cycle, job, {eviction.action})
        keeps = whole or not lacking(taker, cycle.ready(taker, evicted=True))
        above, why = queues.path(taker.spec.queue), ""
        for name in queues.path(job.spec.queue):
            if name in above or not queues.sound(name):
                break
            deserved = queues.deserved(name)
            if division == "proportion":
                deserved = {column: int(value) for column, value in queues.parts.get(name, {}).items()}
            lost = dict(cycle.request(task.uid))
            under = [
                column
                for column, value in lost.items()
                if holds[name].get(column, 0)
                < min(holds[name].get(column, 0) + value, queues.guarantee(name).get(column, 0))
            ]
            counted = short if whole else short & lost.keys()
            over = any(
                holds[name].get(column, 0) + (0 if keeps else lost[column] - 1) >= deserved.get(column, 0)
                for column in counted
            )
            if under or (short and not over):
                part = queues.guarantee(name) if under else deserved
                words = [
                    cycle.words({column: had.get(column, 0) for column in under or short})
                    for had in (holds[name], part)
                ]
                why = why or f"leaves queue {name} {words[0]} of {words[1]} that are its own"
        yield f"the eviction of {task.key} for {eviction.beneficiary} {why}" if why else ""


def _leaves_as_one(cycle: Cycle, job: Job, actions: set[str]) -> bool:
    """Whether the pods of a job leave together: by its own word, or because a gang form breaks it up."""
    had_minimum = not lacking(job, cycle.ready(job, evicted=True))
    broken_up = actions <= WHOLE and had_minimum and leaves_whole(job, cycle.evicted)
    return job.spec.leaves_whole or broken_up


def lacks_on_nodes(cycle: Cycle, key: str) -> set[int]:
    """The columns that a job lacks where it gets room, while its victims stay; all if it lacks slots for pods alone."""
    short = set[int]()
    placed = cycle.placed(key)
    for node in dict.fromkeys(placed.values()):
        room = room_for(cycle, key, {}).get(node, {})
        asked = cycle.sum_of(uid for uid, at in placed.items() if at == node)
        short |= {column for column, value in asked.items() if value > room.get(column, 0)}
    short.discard(PODS)
    return short or {column for uid in placed for column, _ in cycle.request(uid) if column != PODS}


def nobody_leaves_in_vain(cycle: Cycle) -> Iterator[str]:
    """No victim can be left out: what was placed of the job that it leaves for does not fit without its room.

    It fits neither the nodes nor, where the victim's part of a queue is what is lacking, the limits of the queue.
    Looked at are pods whose place depends on amounts and their own rules for nodes alone. What leaves together with
    others counts as one.
    """
    if cycle.has_more_on_paper:
        return
    queues = Queues(cycle)
    for key in dict.fromkeys(eviction.beneficiary for eviction, _ in cycle.takings()):
        placed, victims = cycle.placed(key), cycle.victims(key)
        tasks = [cycle.tasks[uid] for uid in placed]
        if not tasks or key not in cycle.jobs or any(map(is_bound_by_more, [*tasks, *victims])):
            continue
        spec = cycle.jobs[key].spec
        moves = not (spec.topology or spec.sub_groups or cycle.facts.plugins & ELSE_KEPT_OUT_BY)
        for together in _units(cycle, victims):
            stay = {task.uid for task in together}
            room = room_for(cycle, key, {task.uid: task for task in victims if task.uid not in stay})
            pods: list[Pod] = []
            for uid, node in placed.items():
                task = cycle.tasks[uid]
                nodes = [name for name in room if not forbids(task.shape.rules, cycle.nodes[name])]
                pods.append((task.shape.request, tuple(nodes) if moves else (node,)))
            in_vain = _within_limits(queues, key, stay) and fit_together(pods, room) is True
            names = ", ".join(task.key for task in together)
            yield f"{names} leaves in vain: what is placed of {key} fits without it" if in_vain else ""


def _within_limits(queues: Queues, key: str, stay: set[str]) -> bool:
    """Whether the queues of a job are within their limits if these victims stay, and those of later takers, too."""
    cycle, holds = queues.cycle, queues.held()
    if not LIMITING & cycle.facts.limits:
        return True
    for uid in (*cycle.bound, *cycle.kept):
        queues.count(holds, queues.queue_of(uid), uid)
    for taker in cycle.takers_before(key) | {key}:
        for task in cycle.victims(taker):
            if task.uid not in stay:
                queues.count(holds, queues.queue_of(task.uid), task.uid, -1)
    asked = cycle.sum_of(cycle.placed(key))
    return all(
        holds[name].get(column, 0) <= most
        for name in queues.path(cycle.jobs[key].spec.queue)
        for column, most in queues.most(name, holds).items()
        if asked.get(column, 0)
    )


def room_for(cycle: Cycle, key: str, victims: dict[str, Task]) -> dict[str, Vector]:
    """The room on nodes for a job if these pods leave for it, by node: what others got is not there.

    Victims of jobs that evicted before have left; those of later ones are still there. Room that is kept for gangs
    that cannot start is nobody's.
    """
    gone = cycle.takers_before(key)
    room = {node: dict(amounts) for node, amounts in cycle.idle.items()}
    for node, leaving in cycle.leaving.items():
        add(room[node], leaving.items())
    for uid, eviction in cycle.evicted.items():
        if eviction.node in room and (uid in victims or (uid in cycle.tasks and _goes_before(cycle, uid, gone))):
            add(room[eviction.node], cycle.request(uid))
    for uid, node in (cycle.bound | cycle.kept).items():
        job = cycle.jobs.get(cycle.tasks[uid].job)
        if job is None or job.key == key or node not in room:
            continue
        if uid in cycle.bound or not cycle.facts.starts_whole or not lacking(job, cycle.ready(job, kept=True)):
            subtract(room[node], cycle.request(uid))
    return room


def _goes_before(cycle: Cycle, uid: str, gone: set[str]) -> bool:
    eviction = cycle.evicted[uid]
    return eviction.action not in TAKING or eviction.beneficiary in gone


def _units(cycle: Cycle, victims: list[Task]) -> Iterator[list[Task]]:
    """Victims one by one; those of a gang that leaves as a whole together."""
    by_job: dict[str, list[Task]] = {}
    for task in victims:
        by_job.setdefault(task.job, []).append(task)
    for key, tasks in by_job.items():
        job = cycle.jobs.get(key)
        whole = job is not None and _leaves_as_one(cycle, job, {cycle.evicted[task.uid].action for task in tasks})
        if whole:
            yield tasks
        else:
            yield from ([task] for task in tasks)
