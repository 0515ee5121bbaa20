"""The search for the fewest and cheapest moves by which a job finds room: a best-first search over sets of options.

How many more pods have to leave at least, however they are chosen, is counted (``MoveOptions.pods_for``), so that the
first set whose trial succeeds has the fewest moves. Sets are tried in the same order for equal inputs.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from typing import NamedTuple

from vsched.actions.consolidation.movers import MoveCost
from vsched.actions.consolidation.options import MoveOptions, Option
from vsched.actions.consolidation.trial import Moves, MoveTrial
from vsched.actions.task_kinds import TaskKinds
from vsched.framework.jobs import JobView
from vsched.framework.session import Session

LOOKS_OF_A_STEP = 8
"""So many sets are looked at, without a trial, for each step of the search."""


class _Bound(NamedTuple):
    """What a set costs at least, with all that are made from it; the smallest goes first."""

    pods: int
    idle: int
    """MoveOptions that bring no room, as long as there is too little."""
    cost: tuple[float, ...]
    depth: int
    """Negative: of equal ones, larger sets go first, as they are nearer to the end."""


class MoveSearch:
    """The search for one job."""

    def __init__(
        self, session: Session, job: JobView, kinds: TaskKinds, options: MoveOptions, trial: MoveTrial
    ) -> None:
        self._options, self._trial = options, trial
        self._missing = max(1, session.plugins.tasks_missing(job) - job.waiting)
        self._roles = job.roles_missing(waiting=True)
        self._parts = kinds.parts
        self._counts = [0] * len(kinds.firsts)
        for kind in kinds.of.values():
            self._counts[kind] += 1
        self._looks = trial.steps * LOOKS_OF_A_STEP

    def run(self) -> Moves | None:
        """The fewest moves, the cheapest of equal numbers; None where none are found within the steps.

        Of equal numbers, those first whose successors the policy would all place, one after the other.
        """
        queue: list[tuple[_Bound, tuple[int, ...]]] = []
        self._push(queue, (0,))
        found: Moves | None = None
        while queue and self._trial.steps > 0 and self._looks > 0:
            self._looks -= 1
            bound, chosen = heappop(queue)
            if found is not None and bound.pods > found.cost.pods:
                break
            *others, last = chosen
            self._push(queue, (*others, last + 1))
            options = [self._of(at) for at in chosen]
            if not _are_apart(options):
                continue
            if self._short(options) <= 0:
                other = self._trial.find([mover for option in options for mover in option.movers])
                if other is not None and other.is_likely:
                    return self._without_idle(other)
                found = found or other
            self._push(queue, (*chosen, last + 1))
        return None if found is None else self._without_idle(found)

    def _without_idle(self, found: Moves) -> Moves:
        """The same without moves that are not needed, the dearest looked at first."""
        for mover in sorted(found.movers, key=lambda one: (one.cost, one.uid), reverse=True):
            fewer = [one for one in found.movers if one is not mover]
            found = (self._trial.find(fewer) or found) if fewer else found
        return found

    def _push(self, queue: list[tuple[_Bound, tuple[int, ...]]], chosen: tuple[int, ...]) -> None:
        if self._options[chosen[-1]] is not None:
            heappush(queue, (self._bound(chosen), chosen))

    def _bound(self, chosen: tuple[int, ...]) -> _Bound:
        """The least that this set costs, and any that follows by taking later options for the last, or in addition."""
        *before, last = [self._of(at) for at in chosen]
        cost = MoveCost()
        for option in before:
            cost = cost.plus(option.cost)
        short = self._short(before)
        pods = cost.pods + max(last.pods, self._options.pods_for(short, last.pods) if short > 0 else 0)
        cost = cost.plus(last.cost)
        more, following = pods - cost.pods, self._options[chosen[-1] + 1] or last
        idle = sum(option.is_idle for option in (*before, last)) if self._short([*before, last]) > 0 else 0
        later = [value + more * (another / following.pods) for value, another in zip(cost, following.cost, strict=True)]
        return _Bound(pods, idle, tuple(map(_rounded, later[1:])), -len(chosen))

    def _short(self, options: list[Option]) -> int:
        """How many tasks the nodes lack room for once these have left, at least: each kind counted alone."""
        room = list(self._options.room)
        for option in options:
            room = [one + more for one, more in zip(room, option.gain, strict=True)]
        fits = [min(one, count) for one, count in zip(room, self._counts, strict=True)]
        short = self._missing - sum(fits)
        by_role = Counter[str]()
        for kind, fit in enumerate(fits):
            by_role[self._parts[kind]] += fit
        return max([short, *(needed - by_role[role] for role, needed in self._roles.items())])

    def _of(self, at: int) -> Option:
        option = self._options[at]
        assert option is not None, "only options that there are get into sets"
        return option


def _rounded(value: float) -> float:
    """Sums that differ by the order of adding alone are equal."""
    return float(f"{value:.9g}")


def _are_apart(options: list[Option]) -> bool:
    """Whether the options are of different nodes, and have no pods in common."""
    if len({option.row for option in options}) < len(options):
        return False
    uids = [mover.uid for option in options for mover in option.movers]
    return len(set(uids)) == len(uids)
