"""The smallest changes that let a waiting job start, each found by simulation and proved in a whole cycle.

Every candidate (``candidates``) is tried at its most first; where that helps, the least of it that does is looked for
by galloping and bisection. That is done in cycles with nobody else to be worked on, which are cheap, and what comes of
it is proved in a whole one with everybody as they are: only what stands there is told. A job that would fit alone is
kept back by others, and is looked at among those from the start. Where no single change does, several of one kind are
tried together (all who lend nothing, each queue above at its limit), and then pairs: one that takes away what binds
first, and one for what binds then. The order of changes is that of ``levers.Rank``.
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

SIMULATIONS_MAX = 600
"""A search takes 50 to 200 simulations of half a millisecond to some milliseconds each, depending on the cluster."""
CHANGES_MAX = 4
"""So many are told of."""
PAIRS_MAX, FIRSTS_MAX = 2, 8
"""So many pairs are told of, and so many changes are tried as the first of one."""

TOGETHER_MAX = 8
"""So many changes of one kind are tried together."""

Test = Callable[[Situation], Result]


class Found(NamedTuple):
    """What a search came to."""

    changes: tuple[Change, ...]
    """The smallest first; empty where nothing that was tried helps, or none is needed."""
    complete: bool
    """Whether everything was tried that is known: else there may be more, or smaller ones."""


NOTHING_FOUND = Found((), complete=True)


class Helping(NamedTuple):
    """Edits that let the job start, and what they are compared by: how disturbing, how many, how much."""

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
) -> Found:
    """What would let a job of this key have its minimum (or one pod more, if it has that); or this pod of it, by uid.

    ``report`` is what a cycle decided on the snapshot, ``order`` the one of its waiting jobs where it is known already.
    ``spent`` is asked before each simulation whether to stop, ``over`` in the midst of one.
    """
    known = job in snapshot.jobs or job in snapshot.strays
    if not known or _has_places(report, job, pod):
        return NOTHING_FOUND
    order = order or waiting_order(snapshot, policy, registry)
    rivals = rivals_of(snapshot, report, order, job)
    search = Search(
        Situation(snapshot, policy), Simulations(registry, Goal(job, pod), rivals, simulations, spent, over), most
    )
    complete = search.run()
    return Found(search.told(), complete)


def rivals_of(snapshot: Snapshot, report: CycleReport, order: WaitingOrder, job: str) -> tuple[str, ...]:
    """Those who get what a job might have: jobs that the cycle gave places to, and those before it in its queue."""
    given = {bind.job for bind in report.binds} | {kept.job for kept in report.nominations}
    found = {key for key in (job, *given) if key in snapshot.jobs}
    if job in snapshot.jobs:
        lane = (view.key for view in order.lane(snapshot.jobs[job].spec.queue))
        found.update(takewhile(lambda key: key != job, lane))
    return tuple(sorted(found))


def _has_places(report: CycleReport, job: str, pod: str = "") -> bool:
    """Whether the cycle gave the pod a place, or the job all that it wants."""
    if pod:
        bound = any(bind.uid == pod for bind in report.binds)
        return bound or any(kept.uid == pod and kept.node for kept in report.nominations)
    outcome = report.jobs.get(job)
    return outcome is not None and outcome.pending == 0 and outcome.ready >= max(1, outcome.min_member)


class Search:
    """One search; what it has found is there whenever it stops."""

    def __init__(self, situation: Situation, simulations: Simulations, most: int) -> None:
        self._situation = situation
        self._simulations = simulations
        self._most = most
        self._helping: list[Helping] = []

    def told(self) -> tuple[Change, ...]:
        """The changes found, the smallest first."""
        ordered = sorted(self._helping, key=lambda one: one[:3])
        return tuple(change_of(self._situation, one.edits) for one in ordered[: self._most])

    def run(self) -> bool:
        """Look for changes; False where the search was cut short."""
        try:
            self._look()
        except Spent:
            return False
        return True

    def _look(self) -> None:
        test = self._roughly()
        before = test(self._situation)
        if before.admitted:
            return
        tried = self._levers()
        stuck: list[tuple[Lever, Result]] = []
        for rest in (False, True):  # several of one kind before what is so for everybody, and before anything is bought
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
        """The cheapest sort of simulation in which the job is kept from starting as it stands."""
        for test in (self._simulations.alone, self._simulations.among_rivals):
            if not test(self._situation).admitted:
                return test
        return self._simulations.among_all

    # -- one change -------------------------------------------------------------------------------------------------

    def _singles(self, tried: Sequence[Lever], test: Test, stuck: list[tuple[Lever, Result]]) -> None:
        """Note the levers of one rank that help by themselves, and put the others by with what they come to."""
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
        """The first step that helps, given that the last one does, and that those up to ``first`` do not."""
        return first_of(lever, lever.most, first, lambda step: test(apply_all(situation, lever.edits(step))).admitted)

    def _proved(self, lever: Lever, step: int, test: Test) -> int:
        """The first step from here on that helps with everybody as they are, 0 where none does."""
        among_all = self._simulations.among_all
        if test == among_all or among_all(apply_all(self._situation, lever.edits(step))).admitted:
            return step
        if step == lever.most or not among_all(apply_all(self._situation, lever.edits(lever.most))).admitted:
            return 0
        return self._least(lever, self._situation, among_all, step)

    # -- several of one kind ----------------------------------------------------------------------------------------

    def _together(self, tried: Sequence[Lever], test: Test) -> None:
        """Levers of one kind, all of them turned: each then goes back as far as the others let it."""
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
        """The least step of each, the last ones first, given that all at their most help."""
        steps = list(most)
        for at in reversed(range(len(alike))):

            def helps(step: int, at: int = at) -> bool:
                return test(self._turned(alike, [*steps[:at], step, *steps[at + 1 :]])).admitted

            steps[at] = 0 if helps(0) else first_of(alike[at], steps[at], 0, helps)
        return steps

    def _turned(self, alike: Sequence[Lever], steps: Sequence[int]) -> Situation:
        """The situation with each of these levers at its step, 0 for not turned."""
        turned = zip(alike, steps, strict=True)
        return apply_all(self._situation, (edit for lever, step in turned if step for edit in lever.edits(step)))

    # -- two changes ------------------------------------------------------------------------------------------------

    def _pairs(self, stuck: list[tuple[Lever, Result]], test: Test, before: Result) -> None:
        """Pairs whose first change takes away what binds now."""
        firsts = [lever for lever, result in stuck if result.stopped_by != before.stopped_by]
        for first in firsts[:FIRSTS_MAX]:
            if len(self._helping) >= PAIRS_MAX:
                return
            self._second(first, test)

    def _second(self, first: Lever, test: Test) -> None:
        """The least disturbing change that helps after the first one; both as small as they can be."""
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
            # The first one at its most may have asked for more of the second than it does now.
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
        """Whether an edit is about nodes that are only there since the first one: nobody knows their names yet."""
        names = edit.nodes if isinstance(edit, Uncordon | RemoveTaint | LabelNodes) else ()
        names = (edit.node,) if isinstance(edit, SetNodeAmount) else names
        names = (edit.like,) if isinstance(edit, AddNodes) else names
        return any(name not in self._situation.snapshot.nodes.statics.row for name in names)


def helping_of(turned: Sequence[tuple[Lever, int]]) -> Helping:
    """Levers at steps that help together."""
    edits = tuple(edit for lever, step in turned for edit in lever.edits(step))
    rank, share = max(lever.rank for lever, _ in turned), sum(lever.share(step) for lever, step in turned)
    return Helping(rank, len(turned), share, edits)


def first_of(lever: Lever, most: int, first: int, helps: Callable[[int], bool]) -> int:
    """The first step that helps, given that ``most`` does, and that those up to ``first`` do not: by galloping."""
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
    """Whether two edits say the same thing of one object, however much: the later one would be all that is left."""
    if type(one) is not type(other):
        return False
    if isinstance(one, SetJobQueue | SetPriority):
        return True
    pairs = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    return all(left == right for left, right in pairs if isinstance(left, str))
