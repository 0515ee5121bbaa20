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

from collections.abc import Callable, Sequence
from itertools import groupby, takewhile
from operator import itemgetter
from typing import NamedTuple

import msgspec

from vsched.explain.candidates.levers import Lever, Rank, wants_of
from vsched.explain.candidates.search import grouping, levers
from vsched.explain.order import WaitingOrder, waiting_order
from vsched.explain.records import Change
from vsched.explain.simulation import Asked, Goal, Result, Simulations, Spent, never
from vsched.explain.situation import Situation, apply_all
from vsched.explain.words.telling import change_of
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.mirror.whatif.edits import (
    AddDevices,
    AddNodes,
    Edit,
    LabelNodes,
    RemoveTaint,
    SetJobQueue,
    SetNodeAmount,
    SetPriority,
    Uncordon,
)
from vsched.model.frozen import freeze
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.model.topology.tiers import WHOLE_CLUSTER

SIMULATIONS_MAX = 600
"""The default budget. A search takes 50 to 200 simulations of 0.5 ms to a few ms each, depending on the cluster."""
CHANGES_MAX = 4
"""A search reports at most this many changes."""
PAIRS_MAX, FIRSTS_MAX = 2, 8
"""The most pairs that a search reports, and the most levers that it tries as the first of a pair."""

TOGETHER_MAX = 8
"""The most levers of one kind that a search tries together."""

Test = Callable[[Situation], Result]


class SearchOutcome(NamedTuple):
    """The result of a search."""

    changes: tuple[Change, ...]
    """The smallest first; empty if the search found none, or the job needs none."""
    complete: bool
    """Whether the search tried all candidates; if not, there may be more or smaller changes."""


NOTHING_FOUND = SearchOutcome((), complete=True)


class Helping(NamedTuple):
    """Edits that let the job start, with their sort keys: how disturbing (``Rank``), how many levers, how much."""

    rank: int
    size: int
    share: float
    edits: tuple[Edit, ...]


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
    search = ChangeSearch(
        Situation(snapshot, policy), Simulations(registry, Goal(job, pod), rivals, simulations, spent, over), most
    )
    complete = search.run()
    return SearchOutcome(search.result(), complete)


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


class ChangeSearch:
    """One search; ``result`` gives the changes found so far, also if the budget ended it early."""

    def __init__(self, situation: Situation, simulations: Simulations, most: int) -> None:
        self._situation = situation
        self._simulations = simulations
        self._most = most
        self._helping: list[Helping] = []

    def result(self) -> tuple[Change, ...]:
        """The changes found, the smallest first."""
        ordered = sorted(self._helping, key=lambda one: one[:3])
        return tuple(self._told(one.edits) for one in ordered[: self._most])

    def _told(self, edits: tuple[Edit, ...]) -> Change:
        """The change in words, with the domain where a job that asks for closeness would then be."""
        change, job = change_of(self._situation, edits), self._situation.snapshot.jobs.get(self._simulations.goal.job)
        if job is None or (job.spec.topology is None and not job.spec.sub_groups):
            return change
        try:
            found = self._simulations.domain(apply_all(self._situation, edits))
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

    def run(self) -> bool:
        """Run the search; False if the budget ended it early."""
        try:
            self._look()
        except Spent:
            return False
        return True

    def _look(self) -> None:
        """Try single levers rank by rank, then levers of one kind together, then pairs; stop at enough changes."""
        test = self._roughly()
        before = test(self._situation)
        if before.admitted:
            return
        tried = self._levers()
        stuck: list[tuple[Lever, Result]] = []
        for rest in (False, True):  # first all ranks below POLICY, singly and together; then the policy and machines
            of_part = (lever for lever in tried if (lever.rank >= Rank.POLICY) is rest)
            for _, alike in groupby(of_part, key=lambda lever: lever.rank):
                self._singles(list(alike), test, stuck)
                if len(self._helping) >= self._most:
                    return
            if not self._helping:
                fresh = {lever.kind for lever, _ in stuck if (lever.rank >= Rank.POLICY) is rest}
                self._together([lever for lever, _ in stuck if lever.kind in fresh], test)
        if not self._helping:
            self._pairs(stuck, test, before)

    def _levers(self) -> list[Lever]:
        situation, goal = self._situation, self._simulations.goal
        if goal.job in situation.snapshot.jobs:
            return levers(wants_of(situation, self._simulations.registry, goal.job, goal.pod))
        return [grouping(situation.snapshot, goal.job)]

    def _roughly(self) -> Test:
        """The cheapest kind of simulation in which the job does not start without changes."""
        for test in (self._simulations.alone, self._simulations.among_rivals):
            if not test(self._situation).admitted:
                return test
        return self._simulations.among_all

    # -- one change -------------------------------------------------------------------------------------------------

    def _singles(self, tried: Sequence[Lever], test: Test, stuck: list[tuple[Lever, Result]]) -> None:
        """Try the levers of one rank one by one: keep those that help, add the others to ``stuck`` with results."""
        helping: list[tuple[float, Lever, int]] = []
        for lever in tried:
            at_most = test(apply_all(self._situation, lever.edits(lever.most)))
            if at_most.admitted:
                step = self._least(lever, self._situation, test)
                helping.append((lever.share(step), lever, step))
            else:
                stuck.append((lever, at_most))
        for _, lever, step in sorted(helping, key=itemgetter(0)):
            if len(self._helping) >= self._most:
                return
            proved = self._proved(lever, step, test)
            if proved:
                self._helping.append(helping_of([(lever, proved)]))

    def _least(self, lever: Lever, situation: Situation, test: Test, first: int = 0) -> int:
        """The smallest step that helps, if the last step helps and steps up to ``first`` do not."""
        return first_of(lever, lever.most, first, lambda step: test(apply_all(situation, lever.edits(step))).admitted)

    def _proved(self, lever: Lever, step: int, test: Test) -> int:
        """The smallest step from ``step`` on that helps among all active jobs; 0 if none does."""
        among_all = self._simulations.among_all
        if test == among_all or among_all(apply_all(self._situation, lever.edits(step))).admitted:
            return step
        if step == lever.most or not among_all(apply_all(self._situation, lever.edits(lever.most))).admitted:
            return 0
        return self._least(lever, self._situation, among_all, step)

    # -- several of one kind ----------------------------------------------------------------------------------------

    def _together(self, tried: Sequence[Lever], test: Test) -> None:
        """Apply all levers of one kind together, then reduce each as far as the job still starts."""
        kinds: dict[str, list[Lever]] = {}
        for lever in tried:
            if lever.kind:
                kinds.setdefault(lever.kind, []).append(lever)
        for alike in kinds.values():
            if len(self._helping) >= self._most:
                return
            if len(alike) > 1:
                self._all_of(alike[:TOGETHER_MAX], test)

    def _all_of(self, alike: Sequence[Lever], test: Test) -> None:
        """Try these levers together; if that helps among all active jobs, keep them at their smallest steps."""
        most = [lever.most for lever in alike]
        if not test(self._turned(alike, most)).admitted:
            return
        among_all = self._simulations.among_all
        steps = self._let_back(alike, most, test)
        if test != among_all and not among_all(self._turned(alike, steps)).admitted:
            if not among_all(self._turned(alike, most)).admitted:
                return
            steps = self._let_back(alike, most, among_all)
        self._helping.append(helping_of([(lever, step) for lever, step in zip(alike, steps, strict=True) if step]))

    def _let_back(self, alike: Sequence[Lever], most: Sequence[int], test: Test) -> list[int]:
        """The smallest step of each lever, reduced one by one from the last; all at their largest step help."""
        steps = list(most)
        for at in reversed(range(len(alike))):

            def helps(step: int, at: int = at) -> bool:
                return test(self._turned(alike, [*steps[:at], step, *steps[at + 1 :]])).admitted

            steps[at] = 0 if helps(0) else first_of(alike[at], steps[at], 0, helps)
        return steps

    def _turned(self, alike: Sequence[Lever], steps: Sequence[int]) -> Situation:
        """The situation with each lever applied at its step; step 0 leaves a lever out."""
        turned = zip(alike, steps, strict=True)
        return apply_all(self._situation, (edit for lever, step in turned if step for edit in lever.edits(step)))

    # -- two changes ------------------------------------------------------------------------------------------------

    def _pairs(self, stuck: list[tuple[Lever, Result]], test: Test, before: Result) -> None:
        """Try pairs whose first lever changes the binding constraint."""
        firsts = [lever for lever, result in stuck if result.stopped_by != before.stopped_by]
        for first in firsts[:FIRSTS_MAX]:
            if len(self._helping) >= PAIRS_MAX:
                return
            self._second(first, test)

    def _second(self, first: Lever, test: Test) -> None:
        """Find the least disturbing lever that helps after the first one, then the smallest steps of both."""
        halfway = apply_all(self._situation, first.edits(first.most))
        goal, registry = self._simulations.goal, self._simulations.registry
        seen = Situation(freeze(halfway.snapshot), halfway.policy)
        for second in levers(wants_of(seen, registry, goal.job, goal.pod)):
            if not test(apply_all(halfway, second.edits(second.most))).admitted:
                continue
            second_step = self._least(second, halfway, test)
            last = second.edits(second_step)
            if any(map(self._is_made_up, last)):
                continue

            def both(situation: Situation, last: tuple[Edit, ...] = last) -> Result:
                return test(apply_all(situation, last))

            step = self._least(first, self._situation, both)
            # With the first lever at a smaller step, the second may need less, too.
            second_step = self._least(
                second._replace(most=second_step), apply_all(self._situation, first.edits(step)), test
            )
            last = second.edits(second_step)
            edits = (*first.edits(step), *last)
            known = any(all(edit in one.edits for edit in edits) for one in self._helping)
            if known or is_alike(edits[0], last[0]):
                continue
            if self._simulations.among_all(apply_all(self._situation, edits)).admitted:
                self._helping.append(helping_of([(first, step), (second, second_step)]))
                return

    def _is_made_up(self, edit: Edit) -> bool:
        """Whether an edit is about nodes that an earlier edit adds: their real names are not known yet."""
        names = edit.nodes if isinstance(edit, Uncordon | RemoveTaint | LabelNodes) else ()
        names = (edit.node,) if isinstance(edit, SetNodeAmount | AddDevices) else names
        names = (edit.like,) if isinstance(edit, AddNodes) else names
        return any(name not in self._situation.snapshot.nodes.statics.row for name in names)


def helping_of(turned: Sequence[tuple[Lever, int]]) -> Helping:
    """The record of levers that help together at these steps."""
    edits = tuple(edit for lever, step in turned for edit in lever.edits(step))
    rank, share = max(lever.rank for lever, _ in turned), sum(lever.share(step) for lever, step in turned)
    return Helping(rank, len(turned), share, edits)


def first_of(lever: Lever, most: int, first: int, helps: Callable[[int], bool]) -> int:
    """The smallest step that helps, by galloping and bisection; ``most`` helps, steps up to ``first`` do not."""
    fails, good = first, min(most, max(lever.first, 2 * first))
    while good < most and not helps(good):
        fails, good = good, min(most, 2 * good)
    while good - fails > 1:
        middle = (fails + good) // 2
        if helps(middle):
            good = middle
        else:
            fails = middle
    return good


def is_alike(one: Edit, other: Edit) -> bool:
    """Whether two edits set the same field of the same object: the later one would override the earlier one."""
    if type(one) is not type(other):
        return False
    if isinstance(one, SetJobQueue | SetPriority):
        return True
    pairs = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    return all(left == right for left, right in pairs if isinstance(left, str))
