"""Queues: what they hold and may hold, with exact fractions where shares are divided, and the rules about it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from vsched.model.amounts.resources import PODS, add, maximum, subtract
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.queues.tree import lineage, tree
from vsched.proof import words
from vsched.proof.cycle import Cycle, Sums
from vsched.proof.minima import lacking

LIMITING = frozenset({"capacity", "proportion"})
"""Plugins that limit what queues hold."""


class QueueHoldings(NamedTuple):
    """What queues hold at some time, and what follows from it; sums over the queues right below one are by that one."""

    own: dict[str, Sums]
    below: dict[str, Sums]
    claims: dict[str, Sums]
    """By queue: what it holds, or is guaranteed if that is more; what those below it claim, if that is more still."""
    claims_below: dict[str, Sums]


class CycleQueues:
    """The queues of a cycle: with ``capacity`` in a tree by their parents, else side by side below nothing."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle = cycle
        self.all = cycle.snapshot.queues
        self.parents = tree(self.all) if cycle.facts.tree else dict.fromkeys(self.all, "")
        self.columns = range(len(cycle.snapshot.axis.names))
        self.total = Sums(dict(enumerate(map(int, cycle.snapshot.total))))
        cut = [name for name, outcome in cycle.report.queues.items() if outcome.problem_reason]
        self.troubled = {self.parents[upper] for name in cut for upper in self.path(name)}
        """What is above queues that are left out or contradict those above them, and above all that is above these."""
        self.foreign = Sums(dict(enumerate(map(int, cycle.snapshot.used))))
        """What pods hold of the nodes that count in no queue."""
        jobs = [job for job in cycle.jobs.values() if job.spec.queue in self.all]
        self.holding = [task.uid for job in jobs for task in job.tasks.values() if HOLDS[task.status].allocated]
        subtract(self.foreign, cycle.sum_of(self.holding).items())
        add(self.foreign, cycle.sum_of(uid for uid, task in cycle.tasks.items() if _is_let_in(cycle, task)).items())
        self.upwards = sorted(self.all, key=lambda name: -len(self.path(name)))
        """All queues, each before those above it."""
        self.guarantees: dict[str, Sums] = {}
        """What is guaranteed to a queue, or to those below it together if that is more and within its capability."""
        self._guaranteed_below: dict[str, Sums] = defaultdict(Sums)
        for name in self.upwards:
            most = dict(self.all[name].capability)
            below = self._guaranteed_below[name].items()
            may = tuple((column, min(value, most.get(column, value))) for column, value in below)
            self.guarantees[name] = Sums(dict(maximum(self.all[name].guarantee, may)))
            add(self._guaranteed_below[self.parents[name]], self.guarantees[name].items())
        self.limits: dict[str, Sums] = {}
        """The most that a queue may hold: its capability, within what is above it minus what is guaranteed beside it.

        volcano.md 4.5 and 4.6, ``realCapability``; config/README.md: limits are cut to what the parent passes on.
        """
        for name in reversed(self.upwards):
            above, stated, self.limits[name] = self.above(name), dict(self.all[name].capability), Sums()
            for column in self.columns:
                beside, mine = self.guaranteed_beside(name, column), self.guarantees[name][column]
                passed_on = max(above[column] - beside, min(above[column], mine), 0)
                self.limits[name][column] = min(passed_on, stated.get(column, passed_on))

    def path(self, name: str) -> list[str]:
        """A queue and the queues above it, nearest first."""
        return [name, *lineage(name, self.parents)] if name in self.all else []

    def sound(self, name: str) -> bool:
        """Whether there is such a queue, and nothing is wrong with it, what is above it, and beside these."""
        return name in self.all and not any(self.parents[one] in self.troubled for one in self.path(name))

    def amounts_of(self, uids: Iterable[str]) -> dict[str, Sums]:
        """What these pods ask for by queue, in each queue above as well."""
        found = {name: Sums() for name in self.all}
        for uid in uids:
            self.count(found, uid)
        return found

    def count(self, into: dict[str, Sums], uid: str, sign: int = 1) -> None:
        """Add what a pod asks for to its queue and all above it, or subtract it."""
        task = self.cycle.tasks[uid]
        job = self.cycle.jobs.get(task.job)
        for name in self.path(job.spec.queue) if job is not None else ():
            add(into[name], ((column, sign * value) for column, value in task.shape.request))

    def held(self) -> dict[str, Sums]:
        """What each queue and all below it held when the cycle began."""
        return self.amounts_of(self.holding)

    def holds(self, gone: Iterable[str]) -> dict[str, Sums]:
        """What each queue and all below it hold with what was bound and what room is kept for, once these have left."""
        found = self.amounts_of((*self.holding, *self.cycle.bound, *self.cycle.reserved))
        for uid in gone:
            self.count(found, uid, -1)
        return found

    def guaranteed_beside(self, name: str, column: int) -> int:
        """What is guaranteed to the other queues with the same parent."""
        return self._guaranteed_below[self.parents[name]][column] - self.guarantees[name][column]

    @cached_property
    def owed(self) -> list[str]:
        """Waiting pods of gangs that had a part of their minimum: what is lacking of it counts as held for others."""
        found = []
        for job in self.cycle.jobs.values():
            had = [task for task in job.tasks.values() if HOLDS[task.status].ready]
            if any(HOLDS[task.status].allocated for task in had) and lacking(job, had):
                found += [uid for uid in job.pending if uid not in self.cycle.bound | self.cycle.reserved]
        return found

    def above(self, name: str) -> Sums:
        """What the queues side by side with this one may hold together."""
        return self.limits[self.parents[name]] if self.parents[name] else self.total

    def deserved(self, name: str) -> Sums:
        """What a queue deserves: its part, or what it states, within its limit and no less than its guarantee."""
        if "proportion" in self.cycle.facts.plugins:
            return Sums({column: int(value) for column, value in self.parts.get(name, {}).items()})
        limit, guarantee = self.limits[name], self.guarantees[name]
        stated = maximum(self.all[name].deserved, tuple(guarantee.items()))
        return Sums({column: max(min(value, limit[column]), guarantee[column]) for column, value in stated})

    @cached_property
    def parts(self) -> dict[str, dict[int, Fraction]]:
        """What each queue deserves where ``proportion`` divides the cluster by weight alone; else empty."""
        plugins = self.cycle.facts.plugins
        return _divided(self) if "proportion" in plugins and "usage-history" not in plugins else {}

    def standing(self, own: dict[str, Sums]) -> QueueHoldings:
        """What follows from what queues hold."""
        below, claims, claims_below = defaultdict[str, Sums](Sums), dict[str, Sums](), defaultdict[str, Sums](Sums)
        for name in self.upwards:
            most, inside = dict(self.all[name].capability), claims_below[name]
            may = ((column, min(value, most.get(column, value))) for column, value in inside.items())
            stays = maximum(tuple(own[name].items()), tuple(self.guarantees[name].items()))
            claims[name] = Sums(dict(maximum(stays, tuple(may))))
            add(below[self.parents[name]], own[name].items())
            add(claims_below[self.parents[name]], claims[name].items())
        return QueueHoldings(own, below, claims, claims_below)

    def most(self, name: str, held: QueueHoldings) -> Sums:
        """The most that a queue may hold while all others hold this: what is guaranteed, and not held, stays free.

        That is so of queues beside it and of those below it. Pods that belong to no queue, and those that are leaving,
        take part of what there is.
        """
        found, parent = self.limits[name].copy(), self.parents[name]
        for column in self.columns:
            beside = held.claims_below[parent][column] - held.claims[name][column]
            claims = beside + max(held.claims_below[name][column] - held.own[name][column], 0)
            if claims > held.below[parent][column] - held.own[name][column]:
                there = self.above(name)[column] - (0 if parent else self.foreign[column])
                found[column] = min(found[column], there - claims)
            if "proportion" in self.cycle.facts.limits and name in self.parts and column != PODS:
                found[column] = min(found[column], int(self.parts[name][column]))
        return found


def _is_let_in(cycle: Cycle, task: Task) -> bool:
    """Whether a pod that names its node itself, and that the node has not taken yet, would fit there alone."""
    nodes = cycle.snapshot.nodes
    if task.status is not Status.UNTAKEN or task.node not in nodes.statics.row:
        return False
    has = nodes.allocatable[:, nodes.statics.row[task.node]].tolist()
    return all(amount <= has[column] for column, amount in task.shape.request)


def queues_of(cycle: Cycle) -> CycleQueues:
    """The queues of a cycle, worked out once for all rules."""
    if cycle.queues is None:
        cycle.queues = CycleQueues(cycle)
    assert isinstance(cycle.queues, CycleQueues)
    return cycle.queues


def _divided(queues: CycleQueues) -> dict[str, dict[int, Fraction]]:
    """What each queue with jobs deserves with ``proportion``: the same for each unit of its weight, within its bounds.

    No less than its guarantee, no more than what it holds and asks for, either as far as its limit allows
    (config/policies/README.md, "proportion"; volcano.md 4.5, where it is the limit of the rounds).
    """
    asked, jobs = queues.held(), [job for job in queues.cycle.jobs.values() if job.spec.queue in queues.all]
    for job in jobs:
        add(asked[job.spec.queue], () if job.kept_out else job.pending_request.items())
    names = list(dict.fromkeys(job.spec.queue for job in jobs))
    found: dict[str, dict[int, Fraction]] = {name: {} for name in names}
    for column in queues.columns:
        bounds: dict[str, tuple[int, int, int]] = {}
        for name in names:
            guarantee, weight = queues.guarantees[name][column], queues.all[name].weight
            # Even a guarantee of more than there is counts, as far as the capability allows.
            least = min(guarantee, dict(queues.all[name].capability).get(column, guarantee))
            limit = max(queues.limits[name][column], least)
            bounds[name] = (weight, least, max(least, min(asked[name][column], limit)) if weight else least)
        level = _level(queues.total[column], list(bounds.values()))
        for name, bound in bounds.items():
            found[name][column] = _part(level, *bound)
    return found


def _part(level: Fraction, weight: int, least: int, most: int) -> Fraction:
    return min(max(level * weight, Fraction(least)), Fraction(most))


def _level(whole: int, bounds: list[tuple[int, int, int]]) -> Fraction:
    """How much each unit of weight gets, so that all parts together are ``whole``, or as near as their bounds allow."""

    def together(level: Fraction) -> Fraction:
        return sum((_part(level, *bound) for bound in bounds), Fraction())

    bends = sorted({Fraction(bound, weight) for weight, *ends in bounds if weight for bound in (0, *ends)})
    after = bisect_right(bends, Fraction(whole), key=together)
    if 0 < after < len(bends):  # between two bends the sum grows evenly
        low, high = bends[after - 1], bends[after]
        return low + (high - low) * (whole - together(low)) / (together(high) - together(low))
    return bends[-1] if bends and after else Fraction()


def queues_stay_within_capability(cycle: Cycle) -> Iterator[str]:
    """A queue that got more, and each queue above it, holds no more than its capability.

    config/README.md: ``capability`` is the most that a queue may ever hold; 0 is none, and pods count.
    """
    if not LIMITING & cycle.facts.limits:
        return
    queues = queues_of(cycle)
    before, after = queues.held(), queues.holds(cycle.evicted)
    for name, amounts in after.items():
        for column, most in queues.all[name].capability if amounts != before[name] else ():
            held, limit = cycle.words({column: amounts[column]}), cycle.words({column: most})
            yield words.holds_more(name, held, limit) if amounts[column] > max(before[name][column], most) else ""


def guarantees_are_kept_free(cycle: Cycle) -> Iterator[str]:
    """What a queue gets beyond its own guarantee leaves free what is guaranteed to the others and not used by them.

    config/README.md: ``guarantee`` is kept free for the queue, whether it asks for it or not. So with what each queue
    holds, or is guaranteed if that is more, all queues side by side are within what is above them. Pods on nodes that
    are gone take no room from others, and those that were nominated before keep theirs.
    """
    if not LIMITING & cycle.facts.limits:
        return
    queues = queues_of(cycle)
    before, held = queues.held(), queues.standing(queues.holds(cycle.evicted))
    new = queues.amounts_of(uid for uid in (*cycle.bound, *cycle.reserved) if not cycle.tasks[uid].nominated)
    away = cycle.sum_of(uid for uid in queues.holding if cycle.tasks[uid].node not in cycle.nodes)
    for name, amounts in held.own.items():
        more = [each for each in amounts if amounts[each] > before[name][each] and new[name][each]]
        for column in more if queues.sound(name) else ():
            parent, beyond = queues.parents[name], amounts[column] > queues.guarantees[name][column]
            unused = held.claims_below[parent][column] - held.claims[name][column]
            unused -= held.below[parent][column] - amounts[column]  # more than there is may be held beside it already
            over = min(held.claims_below[parent][column] - queues.above(name)[column] - away[column], unused)
            yield words.takes_guaranteed(name, cycle.words({column: over})) if over > 0 and beyond else ""


def queues_get_what_they_deserve(cycle: Cycle) -> Iterator[str]:
    """With ``proportion``, a queue that got more holds no more than it deserves of what its pods ask for.

    A pod that was nominated before keeps its room, though what its queue deserves may drop for a moment. Amounts are
    whole numbers, so a share may be rounded by one.
    """
    queues = queues_of(cycle)
    deserved, holds = queues.parts if "proportion" in cycle.facts.limits else {}, queues.holds(cycle.evicted)
    backfilled = {uid for uid in cycle.bound if cycle.tasks[uid].shape.best_effort}
    new = [uid for uid in (*cycle.bound, *cycle.reserved) if uid not in backfilled and not cycle.tasks[uid].nominated]
    for name, amounts in queues.amounts_of(new).items():
        for column in [each for each in amounts if each != PODS and name in deserved]:
            has, part = holds[name][column], deserved[name][column]
            held, own = cycle.words({column: has}), cycle.words({column: int(part)})
            yield words.holds_more_than_deserved(name, held, own) if has >= part + 1 else ""


def reports_say_what_queues_hold(cycle: Cycle) -> Iterator[str]:
    """What a queue is told to hold runs, is bound, or is bound in this cycle: room that is only kept is not held."""
    queues, names = queues_of(cycle), cycle.snapshot.axis.names
    holds = queues.amounts_of((*queues.holding, *cycle.bound))
    for uid in cycle.evicted.keys() & set(queues.holding):
        queues.count(holds, uid, -1)
    for name, outcome in cycle.report.queues.items():
        amounts = {names[column]: value for column, value in holds[name].items() if value}
        told = {resource: value for resource, value in (outcome.subtree or outcome.allocated).items() if value}
        yield words.reported_otherwise(name, told, amounts) if told != amounts else ""
