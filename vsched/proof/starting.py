"""What starts: gangs whole or not at all, on paper as well, and everything that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from vsched.model.amounts.resources import Amounts
from vsched.model.jobs.job import Job, shortfall_of
from vsched.model.pods.shape import PodTerm, Shape
from vsched.model.pods.status import Phase
from vsched.model.pods.task import Task
from vsched.proof import words
from vsched.proof.cycle import Cycle, Sums, waits
from vsched.proof.minima import lacking
from vsched.proof.placement import Repelling, could_be_whole, forbids, is_bound_by_more
from vsched.proof.queues import LIMITING, queues_of

LOOKED_AT = frozenset({"binpack", "capacity", "cdp", "conformance", "drf", "eviction-cost", "gang"}) | {
    *("fragmentation", "minruntime", "network-topology-aware", "nodeorder", "overcommit", "pdb", "predicates"),
    *("preemption-delay", "priority", "proportion", "resourcequota", "sla", "task-topology", "usage-history"),
}
"""Plugins that keep no pod from idle nodes by rules that are not looked at here."""


def gangs_start_whole(cycle: Cycle) -> Iterator[str]:
    """Pods of a job are bound only if its minima are met with what ran and what was bound.

    config/policies/README.md, "gang": all of a job's minimum or nothing, by ``minMember``, role and sub-group.
    """
    for key in dict.fromkeys(bind.job for bind in cycle.report.binds):
        short = cycle.short(key, evicted=True)
        yield words.starts_with(key, short) if short else ""


def gangs_keep_whole(cycle: Cycle) -> Iterator[str]:
    """Room is kept for the pods of a job only if its minima are met with that room.

    A gang that cannot start takes nothing, not even on paper: others could use the room. Reports tell of no room that
    a gang has on paper besides on idle nodes: it counts where there is any.
    """
    for key in dict.fromkeys(cycle.tasks[uid].job for uid in cycle.reserved):
        short = cycle.short(key, kept=True)
        wrong = short and not could_be_whole(cycle, cycle.jobs[key])
        yield words.kept_in_part(key, short) if wrong else ""


def nothing_that_fits_waits(cycle: Cycle) -> Iterator[str]:
    """No job that fits idle nodes within the limits of its queue waits, be it for nodes or to be admitted.

    Looked at are jobs whose waiting pods are alike, so that any order of them does as well as another, and depend on
    amounts and their own rules for nodes alone. Pods for which room is kept wait for their own nodes; where queues have
    limits, all others wait for gangs that have a part of their minimum.
    """
    facts, masks = cycle.facts, cycle.snapshot.masks
    if not facts.plugins <= LOOKED_AT or "allocate" not in facts.actions or masks or cycle.has_more_on_paper:
        return
    queues = queues_of(cycle)
    if "proportion" in facts.limits and not queues.parts:
        return  # weights that follow from past use are not worked out here
    # What evictions make room for came too late for what waits, and so did guarantees that are met by it.
    carried = {uid for uid in cycle.reserved if cycle.tasks[uid].nominated}
    early = queues.standing(queues.amounts_of((*queues.holding, *cycle.bound, *carried)))
    held = queues.standing(queues.holds(gone=()))
    repelling = Repelling(cycle)

    @cache
    def room(node: str) -> Sums:
        return cycle.room_on(node, kept=True)

    @cache
    def able(shape: Shape, terms: tuple[PodTerm, ...]) -> list[str]:
        rules = shape.rules
        found = [node for node in cycle.nodes.values() if node.name not in rules.refused and not forbids(rules, node)]
        return [node.name for node in found if not any(repelling.owners_near(term, node) for term in terms)]

    @cache
    def times_on_nodes(shape: Shape, terms: tuple[PodTerm, ...]) -> int:
        return sum(_times(shape.request, room(node)) for node in able(shape, terms))

    in_vain = cache(lambda: _promised_in_vain(cycle))

    def kept_out(job: Job, shape: Shape, missing: int) -> bool:
        asked, quotas = dict(shape.request), cycle.snapshot.quotas.get(job.spec.namespace)
        more = quotas or any(value > missing * asked.get(column, 0) for column, value in shortfall_of(job))
        return bool(more) or not in_vain()

    @cache
    def left_of(name: str, *, at_first: bool) -> Sums:
        holdings = early if at_first else held
        return Sums({column: most - holdings.own[name][column] for column, most in queues.most(name, holdings).items()})

    limiting = LIMITING & facts.limits
    owed = {cycle.tasks[uid].job for uid in queues.owed} if limiting else set()
    for key, job in cycle.jobs.items():
        pods, spec = _waiting(cycle, job), job.spec
        if not pods or not queues.sound(spec.queue) or owed - {key}:
            continue
        shape, terms, missing = pods[0].shape, repelling.terms(pods[0].labels), _missing(cycle, job, pods)
        own = Counter(cycle.reserved[task.uid] for task in pods if task.uid in cycle.reserved)
        fit = 0 if own else times_on_nodes(shape, terms)
        for node in own.keys() & able(shape, terms) if own else ():
            fit += min(_times(shape.request, room(node), own[node]), own[node])
        for name in queues.path(spec.queue) if limiting else ():
            before = sum(task.uid in carried for task in pods)
            fit = min(fit, _times(shape.request, left_of(name, at_first=True), before))
            fit = min(fit, _times(shape.request, left_of(name, at_first=False), own.total()))
        what = words.waits_for_nothing(key, missing)
        yield what if 0 < missing <= fit and (_is_admitted(cycle, job) or not kept_out(job, shape, missing)) else ""


def _is_admitted(cycle: Cycle, job: Job) -> bool:
    """Whether a job was admitted when ``allocate`` looked at it; one whose pods run may wait for that as well."""
    outcome, actions = cycle.report.jobs.get(job.key), cycle.facts.actions
    late = "enqueue" in actions and actions.index("enqueue") > actions.index("allocate")
    entered = outcome is not None and outcome.phase == Phase.INQUEUE and not late
    return entered or job.spec.phase != Phase.PENDING


def _promised_in_vain(cycle: Cycle) -> bool:
    """Whether all that admitted jobs were promised is for pods that cannot be placed: it keeps nobody out.

    Not so if pods are yet to be made, or are not looked at here. Looked at are cycles in which nothing changes: what is
    promised in a cycle, or placed after jobs were admitted, counts from the next on.
    """
    outcomes = [(job, cycle.report.jobs.get(key)) for key, job in cycle.jobs.items()]
    changes = any(outcome is not None and outcome.phase != job.spec.phase for job, outcome in outcomes)
    admitted = [job for job, _ in outcomes if job.spec.phase != Phase.PENDING and shortfall_of(job)]
    stuck = all(pods and _missing(cycle, job, pods) for job in admitted for pods in [_waiting(cycle, job)])
    return stuck and not (changes or cycle.bound or cycle.reserved or cycle.evicted)


def _waiting(cycle: Cycle, job: Job) -> list[Task]:
    """The waiting pods of a job, if it is one of those that are looked at; else none."""
    spec, queue = job.spec, cycle.snapshot.queues.get(job.spec.queue)
    if queue is None or not queue.open or job.kept_out or job.awaits_class:
        return []
    if spec.topology or spec.sub_groups or spec.namespace in cycle.snapshot.ceilings or spec.native:
        return []
    pods = [task for task in job.pending.values() if task.uid not in cycle.bound and waits(task)]
    if len(pods) != len([uid for uid in job.pending if uid not in cycle.bound]):
        return []
    other = any(task.reserves or task.best_effort or is_bound_by_more(task) for task in pods)
    return pods if len({task.shape for task in pods}) == 1 and not other else []


def _missing(cycle: Cycle, job: Job, pods: list[Task]) -> int:
    """How many more pods the job needs to go on; 0 where that many are not there, or where it needs certain ones."""
    if not cycle.short(job.key):
        return 1
    ready, roles = cycle.ready(job), {task.role for task in job.tasks.values()}
    unclear = (job.spec.min_task_member and len(roles) > 1) or lacking(job, [*ready, *pods])
    return 0 if unclear else job.spec.min_member - len(ready)


def _times(request: Amounts, room: Sums, more: int = 0) -> int:
    """How often an amount is in another, and ``more`` times besides."""
    return max(0, min(room[column] // value for column, value in request if value) + more)
