"""Whose work would have to go for a gang to start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vsched.explain.candidates.levers import Lever
from vsched.explain.edits.base import Edit
from vsched.explain.edits.jobs import SetPriority
from vsched.explain.edits.others import CreatePriorityClass, EndJobs
from vsched.explain.edits.policy import UseAction
from vsched.explain.estimate.smallest import smallest_part
from vsched.explain.menu import words
from vsched.explain.menu.gang import WaitingGang, placed_by, test_of
from vsched.explain.menu.records import MenuAnswer, VictimJob, WorkPart
from vsched.explain.simulation import Spent
from vsched.explain.single_changes import ChangeSearch, Helping, least, singles
from vsched.explain.situation import Situation, apply_all, change_of
from vsched.framework.cycle import run_cycle
from vsched.framework.words.lists import counted
from vsched.model.jobs.job import Job

ENDING_MAX = 64
"""The most jobs that are tried as those that would have to end."""
NAMED_MAX = 4
"""Jobs that a sentence names; programs get all."""


def work_part(gang: WaitingGang) -> WorkPart:
    """Who would have to leave: by another priority or action of the policy, else by ending."""
    try:
        search = gang.search(1)
        return _by_eviction(gang, search) or _by_ending(gang, search)
    except Spent:
        return WorkPart(MenuAnswer.UNKNOWN, words.OUT_OF_TIME)


def _by_eviction(gang: WaitingGang, search: ChangeSearch) -> WorkPart | None:
    """What the policy would evict; None where no other priority or action of it helps. Raises Spent."""
    test = test_of(search)
    actions = [lever for lever in gang.levers if isinstance(lever.edits(1)[0], UseAction)]
    higher = [lever for lever in gang.levers if isinstance(lever.edits(1)[0], SetPriority | CreatePriorityClass)]
    singles(search, [*higher, *actions], test, [])
    for first in higher if not search.helping else ():
        for action in actions:
            _both(search, first, action)
            if search.helping:
                break
    for found in search.helping:
        part = _leaving(gang, search, found.edits)
        if part is not None:
            return part
    return None


def _both(search: ChangeSearch, higher: Lever, action: Lever) -> None:
    """Try a higher priority together with an action that the policy has not. Raises Spent."""
    acting, test = apply_all(search.situation, action.edits(1)), search.simulations.among_all
    if test(apply_all(acting, higher.edits(higher.most))).admitted:
        step = least(higher, acting, test)
        search.helping.append(Helping(action.rank, 2, 0.0, (*action.edits(1), *higher.edits(step))))


def _leaving(gang: WaitingGang, search: ChangeSearch, edits: tuple[Edit, ...]) -> WorkPart | None:
    """Who leaves, or waits in its place, once the edits are made; None where nobody does."""
    changed = apply_all(search.situation, edits)
    report = run_cycle(changed.snapshot, changed.policy, gang.ground.registry)
    jobs = gang.ground.snapshot.jobs
    evicted = Counter(one.job for one in report.evictions)
    evicted.subtract(Counter(one.job for one in gang.ground.report.evictions))
    lost = placed_by(gang.ground.report)
    lost.subtract(placed_by(report))
    found = [_victim(jobs[key], pods, runs=True) for key, pods in sorted(evicted.items()) if pods > 0 and key in jobs]
    gone = {one.job for one in found}
    found += [
        _victim(jobs[key], pods, runs=False)
        for key, pods in sorted(lost.items())
        if pods > 0 and key in jobs and key not in gone
    ]
    if not found:
        return None
    change = change_of(search.situation, edits)
    return WorkPart(MenuAnswer.ENOUGH, f"{_named(jobs, found)}, with {change.message}", tuple(found), change)


def _by_ending(gang: WaitingGang, search: ChangeSearch) -> WorkPart:
    """The fewest running jobs, those of low priority first, whose end would start it. Raises Spent."""
    rivals = _endable(gang)
    keys = [job.key for job in rivals]
    among_all = search.simulations.among_all

    def enough(ending: Sequence[str]) -> bool:
        return among_all(_without(search.situation, ending)).admitted

    if not keys or not enough(keys):
        return WorkPart(MenuAnswer.NO, words.NOBODY_HOLDS if not keys else words.NO_END_WOULD_START)
    some = smallest_part(keys, enough)
    jobs = gang.ground.snapshot.jobs
    found = tuple(_victim(jobs[key], _holding(jobs[key]), runs=True) for key in some)
    names = ", ".join(jobs[one.job].called for one in found[:NAMED_MAX]) + (", …" if len(found) > NAMED_MAX else "")
    return WorkPart(MenuAnswer.ENOUGH, words.would_have_to_end(counted(len(found), "job", "jobs"), names), found)


def _without(situation: Situation, ending: Sequence[str]) -> Situation:
    return apply_all(situation, (EndJobs(tuple(ending)),) if ending else ())


def _endable(gang: WaitingGang) -> list[Job]:
    """Running jobs that hold what the gang asks for; those of the lowest priority, and the youngest of them, first."""
    own, columns = gang.wants.job, gang.wants.columns
    found = [
        job
        for holders in gang.ground.snapshot.holders.values()
        for job in holders.values()
        if job.key != own.key and any(job.allocated.get(each) for each in columns)
    ]
    return sorted(found, key=lambda job: (job.priority, -job.spec.created, job.key))[:ENDING_MAX]


def _holding(job: Job) -> int:
    return len(job.tasks) - len(job.pending)


def _victim(job: Job, pods: int, *, runs: bool) -> VictimJob:
    return VictimJob(job.key, job.spec.queue, job.priority, pods, runs)


def _named(jobs: Mapping[str, Job], found: Sequence[VictimJob]) -> str:
    """Who loses places: some by name, the others counted."""
    told = [_told(jobs[one.job].called, one) for one in found[:NAMED_MAX]]
    others = found[NAMED_MAX:]
    if others:
        told.append(f"and {counted(sum(one.pods for one in others), 'pod', 'pods')} of {len(others)} more")
    return "; ".join(told)


def _told(called: str, one: VictimJob) -> str:
    if not one.runs:
        return words.would_wait_instead(called, one.priority)
    return words.would_go(counted(one.pods, "pod", "pods"), called, one.priority)
