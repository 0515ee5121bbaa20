"""Searches for the smallest changes that let a waiting job start.

``candidates`` gives the levers: kinds of edits, each with steps from small to large. The search tries each lever at its
largest step first. If that helps, it finds the smallest step that helps, by galloping and bisection. These simulations
are cheap: the waiting job is the only active one. A job that would fit alone waits because of other jobs, so the search
then simulates it together with its rivals, or with all jobs. The search reports a change only after a simulation with
all active jobs confirms it. If no single change helps, it tries several levers of one kind together (all lenders, or
the limits of all ancestors), and then pairs: a change that removes the constraint that binds now, and one for the
constraint that binds after that. ``levers.Rank`` gives the order of the changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, takewhile
from typing import NamedTuple

import msgspec

from vsched.explain.candidates.levers import Lever, Rank, wants_of
from vsched.explain.candidates.search import grouping, levers
from vsched.explain.combined_changes import pairs, together
from vsched.explain.edits.base import Edit
from vsched.explain.order import WaitingOrder, waiting_order
from vsched.explain.records import Change
from vsched.explain.simulation import Asked, Goal, SimulationResult, Simulations, Spent, never
from vsched.explain.single_changes import ChangeSearch, Test, singles
from vsched.explain.situation import Situation, apply_all, change_of
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.model.topology.tiers import WHOLE_CLUSTER

SIMULATIONS_MAX = 600
"""The default budget. A search takes 50 to 200 simulations of 0.5 ms to a few ms each, depending on the cluster."""
CHANGES_MAX = 4
"""A search reports at most this many changes."""


class SearchOutcome(NamedTuple):
    """The result of a search."""

    changes: tuple[Change, ...]
    """The smallest first; empty if the search found none, or the job needs none."""
    complete: bool
    """Whether the search tried all candidates; if not, there may be more or smaller changes."""


NOTHING_FOUND = SearchOutcome((), complete=True)


def changes(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    report: CycleReport,
    job: str,
    *,
    pod: str = "",
    order: WaitingOrder | None = None,
    most: int = CHANGES_MAX,
    simulations: int = SIMULATIONS_MAX,
    spent: Asked = never,
    over: Asked = never,
) -> SearchOutcome:
    """Find changes that let a job have its minimum, or one more pod if it has that; with ``pod`` (a uid), that pod.

    ``report`` is what a cycle decided on the snapshot. ``order`` is the order of its waiting jobs, if known already.
    ``spent`` is asked before each simulation whether to stop, ``over`` during one. ``most`` limits the changes.
    """
    known = job in snapshot.jobs or job in snapshot.strays
    if not known or _has_places(report, job, pod):
        return NOTHING_FOUND
    order = order or waiting_order(snapshot, policy, registry)
    rivals = rivals_of(snapshot, report, order, job)
    simulated = Simulations(registry, Goal(job, pod), rivals, simulations, spent, over)
    situation = Situation(snapshot, policy)
    try:
        search = ChangeSearch(situation, simulated, most, [])
        complete = _run(search)
        return SearchOutcome(_result(search), complete)
    finally:
        situation.leave()


def rivals_of(snapshot: Snapshot, report: CycleReport, order: WaitingOrder, job: str) -> tuple[str, ...]:
    """The keys of a job and its rivals: jobs to which the cycle gave places, and jobs before it in its queue."""
    given = {bind.job for bind in report.binds} | {kept.job for kept in report.nominations}
    found = {key for key in (job, *given) if key in snapshot.jobs}
    if job in snapshot.jobs:
        lane = (view.key for view in order.lane(snapshot.jobs[job].spec.queue))
        found.update(takewhile(lambda key: key != job, lane))
    return tuple(sorted(found))


def _has_places(report: CycleReport, job: str, pod: str = "") -> bool:
    """Whether the cycle gave the pod a place; without ``pod``, whether the job has its minimum and no pending pods."""
    if pod:
        bound = any(bind.uid == pod for bind in report.binds)
        return bound or any(kept.uid == pod and kept.node for kept in report.nominations)
    outcome = report.jobs.get(job)
    return outcome is not None and outcome.pending == 0 and outcome.ready >= max(1, outcome.min_member)


def _result(search: ChangeSearch) -> tuple[Change, ...]:
    """The changes found so far, the smallest first; also if the budget ended the search early."""
    ordered = sorted(search.helping, key=lambda one: one[:3])
    found: list[tuple[Edit, ...]] = []
    for one in ordered[: search.most]:
        edits = _needed(search, one.edits)
        if edits not in found:
            found.append(edits)
    return tuple(_told(search, edits) for edits in found)


def _needed(search: ChangeSearch, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """The edits without the parts that the job starts without; as they are where the budget is used up."""
    try:
        for fewer in with_one_part_less(edits):
            if search.simulations.among_all(apply_all(search.situation, fewer)).admitted:
                return _needed(search, fewer)
    except Spent:
        pass
    return edits


def with_one_part_less(edits: tuple[Edit, ...]) -> Iterator[tuple[Edit, ...]]:
    """The edits without one of them, or with one that states one resource less."""
    for at, edit in enumerate(edits):
        before, after = edits[:at], edits[at + 1 :]
        if (before or after) and not any(edit.is_named_by(other) for other in (*before, *after)):
            yield (*before, *after)
        for smaller in edit.smaller():
            yield (*before, smaller, *after)


def _told(search: ChangeSearch, edits: tuple[Edit, ...]) -> Change:
    """The change in words, with the domain where a job that asks for closeness would then be."""
    change, job = change_of(search.situation, edits), search.situation.snapshot.jobs.get(search.simulations.goal.job)
    if job is None or (job.spec.topology is None and not job.spec.sub_groups):
        return change
    try:
        found = search.simulations.domain(apply_all(search.situation, edits))
    except Spent:
        return change
    if found is None:
        return change
    words, domain = found
    if job.spec.topology is None and domain.name == WHOLE_CLUSTER:
        return change  # only its sub-groups ask for closeness
    return msgspec.structs.replace(
        change, message=f"{change.message}, in {words}", domain=domain.name, tier=domain.level
    )


def _run(search: ChangeSearch) -> bool:
    """Run the search; False if the budget ended it early."""
    try:
        _look(search)
    except Spent:
        return False
    return True


def _look(search: ChangeSearch) -> None:
    """Try single levers rank by rank, then levers of one kind together, then pairs; stop at enough changes."""
    test = _roughly(search)
    before = test(search.situation)
    if before.admitted:
        return
    tried = _levers(search)
    stuck: list[tuple[Lever, SimulationResult]] = []
    for rest in (False, True):  # first all ranks below POLICY, singly and together; then the policy and machines
        of_part = (lever for lever in tried if (lever.rank >= Rank.POLICY) is rest)
        for _, alike in groupby(of_part, key=lambda lever: lever.rank):
            singles(search, list(alike), test, stuck)
            if len(search.helping) >= search.most:
                return
        if not search.helping:
            fresh = {lever.kind for lever, _ in stuck if (lever.rank >= Rank.POLICY) is rest}
            together(search, [lever for lever, _ in stuck if lever.kind in fresh], test)
    if not search.helping:
        pairs(search, stuck, test, before)


def _levers(search: ChangeSearch) -> list[Lever]:
    situation, goal = search.situation, search.simulations.goal
    if goal.job in situation.snapshot.jobs:
        return levers(wants_of(situation, search.simulations.registry, goal.job, goal.pod))
    return [*grouping(situation.snapshot, goal.job)]


def _roughly(search: ChangeSearch) -> Test:
    """The cheapest kind of simulation in which the job does not start without changes."""
    for test in (search.simulations.alone, search.simulations.among_rivals):
        if not test(search.situation).admitted:
            return test
    return search.simulations.among_all
