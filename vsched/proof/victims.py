"""Victims: who may be evicted for whom, and that nobody is evicted in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vsched.model.jobs.job import Job
from vsched.model.plan import Evict
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.evictions import Preemptibility
from vsched.proof import words
from vsched.proof.cycle import WHOLE, Cycle
from vsched.proof.minima import lacking, leaves_whole
from vsched.proof.placement import could_be_whole

SYSTEM_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})


def victims_may_leave(cycle: Cycle) -> Iterator[str]:
    """A victim holds its node, and nothing that it says itself, or that its PodGroup or queue says, protects it.

    Pods and PodGroups by ``volcano.sh/preemptable`` and ``vsched.io/preemptibility``; the cluster's own pods
    (``conformance``), a cool-down (``cdp``), queues that are not ``reclaimable``. The same of pods that are moved.
    """
    for eviction, task in cycle.takings(moves=True):
        action, job = eviction.action, cycle.jobs.get(task.job)
        own = task.priority_class in SYSTEM_CLASSES or task.namespace == "kube-system"
        stays = job is not None and job.spec.preemptibility is Preemptibility.NONE
        reasons = {
            words.NOT_RUNNING: task.status not in (Status.RUNNING, Status.BOUND),
            words.NOT_PREEMPTABLE: not task.preemptable or task.spared,
            words.JOB_NOT_PREEMPTIBLE: job and stays and not _gives_back(cycle, job, action),
            words.JOB_NOT_PREEMPTABLE: action in WHOLE and job and job.spec.preemptable is False,
            words.OF_THE_CLUSTER: own and cycle.facts.protects("conformance", action),
            words.JUST_PLACED: cycle.facts.protects("cdp", action) and task.protected_until > cycle.snapshot.now,
        }
        why = next((reason for reason, holds in reasons.items() if holds), "")
        yield words.may_not_leave(task.key, action, why) if why else ""


def _gives_back(cycle: Cycle, job: Job, action: str) -> bool:
    """Whether a job that is not preemptible gives to an action what its queue holds beyond what it deserves."""
    facts = cycle.facts
    if "reclaim" not in action or not any(facts.protects(name, action) for name in ("capacity", "proportion")):
        return False
    return not {"*", job.spec.queue} & facts.keeping.get(action, frozenset())


def victims_are_in_reach(cycle: Cycle) -> Iterator[str]:
    """``preempt`` takes within a queue, ``reclaim`` from other queues that are reclaimable; gang forms likewise.

    ``gangpreempt`` takes from jobs of lower priority alone. A job whose pods never preempt takes from nobody.
    """
    placed = {key: [cycle.tasks[uid] for uid in cycle.placed[key]] for key in cycle.victims}
    unwilling = {queue.name for queue in cycle.snapshot.queues.values() if not queue.reclaimable}
    calm = {key for key, tasks in placed.items() if tasks and not any(task.preempts for task in tasks)}
    for eviction, task in cycle.takings():
        taker, job, action, why = cycle.jobs.get(eviction.beneficiary), cycle.jobs.get(task.job), eviction.action, ""
        if taker is None or job is None:
            why = words.FOR_NOBODY if taker is None else words.OF_NO_JOB
        elif ("reclaim" in action) is (job.spec.queue == taker.spec.queue):
            why = words.queues_not_as_asked(job.spec.queue, taker.spec.queue)
        elif "reclaim" in action and job.spec.queue in unwilling:
            why = words.not_reclaimable(job.spec.queue)
        elif action == "gangpreempt" and job.priority >= taker.priority:
            why = words.JOB_NO_LESS
        elif taker.key in calm:
            why = words.never_preempts(taker.key)
        yield words.out_of_reach(task.key, action, why) if why else ""


def budgets_hold(cycle: Cycle) -> Iterator[str]:
    """Disruption budgets allow all evictions of the cycle together; a pod in two budgets is not evicted at all.

    Pods that do not run yet are free, and those that are not ready where the budget says so.
    """
    evicted: dict[str, list[tuple[Task, dict[str, str]]]] = {}
    for uid, one in cycle.evicted.items():
        if one.asks_budgets and uid in cycle.tasks and (task := cycle.tasks[uid]).status is Status.RUNNING:
            evicted.setdefault(task.namespace, []).append((task, dict(task.labels.pairs)))
    concerned = Counter[str]()
    for budget in [one for namespace in evicted for one in cycle.snapshot.budgets.get(namespace, ())]:
        found = [task for task, labels in evicted[budget.namespace] if budget.selector.matches(labels)]
        concerned.update(task.uid for task in found)
        counted = [task for task in found if not (task.unready and budget.spares_unready)]
        used = sum(task.name not in budget.disrupted for task in counted)
        what = words.budget_exceeded(used, f"{budget.namespace}/{budget.name}", budget.allowed)
        yield what if used > budget.allowed else ""
    for uid in concerned:
        yield words.in_two_budgets(cycle.tasks[uid].key) if concerned[uid] > 1 else ""


def gangs_keep_their_minima(cycle: Cycle) -> Iterator[str]:
    """A job that loses pods keeps the minima of itself, its roles and its sub-groups, or has none of its pods left.

    Only the gang forms break gangs up, which then leave as a whole, or in part if they lack their minima already.
    Native groups may say that they leave as a whole in any case (``disruptionMode``).
    """
    losers: dict[str, list[Evict]] = {}
    for eviction, task in cycle.takings():
        losers.setdefault(task.job, []).append(eviction)
    for key, evictions in losers.items():
        if (job := cycle.jobs.get(key)) is None:
            continue
        actions, semi, why = {one.action for one in evictions}, job.spec.preemptibility is Preemptibility.SEMI, ""
        goes_by = {one for one in actions if semi or (one not in WHOLE and cycle.facts.protects("gang", one))}
        guarded = [at for at, one in enumerate(evictions) if one.action in goes_by]
        # What actions take that do not go by minima is no fault of those that do: after the last one, or before it.
        taken = evictions[: guarded[-1] + 1] if guarded else evictions
        gone, others = {one.uid for one in taken}, {one.uid for one in taken if guarded and one.action not in goes_by}
        whole, had = leaves_whole(job, cycle.evicted), cycle.ready(job, evicted=True)
        before, after = (lacking(job, [task for task in had if task.uid not in left]) for left in (others, gone))
        if job.spec.leaves_whole:
            why = "" if whole else words.LEAVES_IN_PART
        elif (guarded or actions <= WHOLE) and not (whole and actions <= WHOLE):
            broken = before and (actions <= WHOLE or before == after)
            why = words.left_with(after) if after and not broken else ""
        yield words.loses_pods(key, actions, why) if why else ""


def takers_are_complete(cycle: Cycle) -> Iterator[str]:
    """Pods are evicted only for a job that gets room in the cycle, and has its minima with that room.

    "The gang gets all of its minimum, or nobody is evicted."
    """
    for key in cycle.victims:
        job, why = cycle.jobs.get(key), ""
        if job is None or not cycle.placed[key]:
            why = words.GETS_NO_ROOM
        elif short := cycle.short(key, kept=True):
            why = "" if could_be_whole(cycle, job) else words.then_has(short)
        yield words.taker_incomplete(key, why) if why else ""
