"""What queues hold, and what they may hold: read from the objects, with exact fractions where shares are divided."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from vsched.model.amounts.resources import PODS, Vector, add, maximum
from vsched.model.pods.status import HOLDS
from vsched.model.queues.tree import lineage, tree
from vsched.proof.cycle import Cycle


class Queues:
    """The queues of a cycle: with ``capacity`` in a tree by their parents, else side by side below nothing."""

    def __init__(self, cycle: Cycle) -> None:
        self.cycle = cycle
        self.all = cycle.snapshot.queues
        self.parents = tree(self.all) if cycle.facts.tree else dict.fromkeys(self.all, "")
        self.columns = range(len(cycle.names))
        self.total: Vector = {column: int(value) for column, value in enumerate(cycle.snapshot.total)}
        self.cut = {name for name, outcome in cycle.report.queues.items() if outcome.problem_reason}
        """Queues that are left out, or whose amounts contradict those above them."""
        self._guarantees: dict[str, Vector] = {}
        self._limits: dict[str, Vector] = {}
        self._parts: dict[str, dict[int, Fraction]] | None = None

    def path(self, name: str) -> list[str]:
        """A queue and the queues above it, nearest first."""
        return [name, *lineage(name, self.parents)] if name in self.all else []

    def beside(self, name: str) -> list[str]:
        """The queues with the same parent, itself included."""
        return [other for other in self.all if self.parents[other] == self.parents[name]]

    def sound(self, name: str) -> bool:
        """Whether there is such a queue, and nothing is wrong with it, those above it, and those beside them."""
        return name in self.all and not any(self.cut.intersection(self.beside(one)) for one in self.path(name))

    def below(self, name: str) -> list[str]:
        """The queues right below it."""
        return [other for other in self.all if self.parents[other] == name]

    def queue_of(self, uid: str) -> str:
        """The queue of a pod's job; empty where it has none."""
        task = self.cycle.tasks.get(uid)
        job = self.cycle.jobs.get(task.job) if task is not None else None
        return job.spec.queue if job is not None else ""

    def held(self) -> dict[str, Vector]:
        """What each queue and all below it held when the cycle began."""
        found: dict[str, Vector] = {name: {} for name in self.all}
        for job in self.cycle.jobs.values():
            for task in job.tasks.values():
                if HOLDS[task.status].allocated:
                    self.count(found, job.spec.queue, task.uid)
        return found

    def count(self, into: dict[str, Vector], queue: str, uid: str, sign: int = 1) -> None:
        """Add what a pod asks for to its queue and all above it, or subtract it."""
        for name in self.path(queue):
            add(into[name], ((column, sign * value) for column, value in self.cycle.request(uid)))

    def amounts_of(self, uids: Iterable[str]) -> dict[str, Vector]:
        """What these pods ask for by queue, all queues above included."""
        found: dict[str, Vector] = {name: {} for name in self.all}
        for uid in uids:
            self.count(found, self.queue_of(uid), uid)
        return found

    def got(self) -> dict[str, Vector]:
        """What each queue and all below it got in the cycle, less what was evicted there."""
        found = self.amounts_of((*self.cycle.bound, *self.cycle.kept))
        for uid in self.cycle.evicted:
            self.count(found, self.queue_of(uid), uid, -1)
        return found

    def after(self) -> dict[str, Vector]:
        """What each queue and all below it hold after the cycle, with what room is kept for."""
        found = self.held()
        for name, amounts in self.got().items():
            add(found[name], amounts.items())
        return found

    def guarantee(self, name: str) -> Vector:
        """What is guaranteed to a queue: by itself, or to the queues below it together if that is more."""
        if name not in self._guarantees:
            together: Vector = {}
            for child in self.below(name):
                add(together, self.guarantee(child).items())
            self._guarantees[name] = dict(maximum(self.all[name].guarantee, tuple(together.items())))
        return self._guarantees[name]

    def limit(self, name: str) -> Vector:
        """The most that a queue may hold: its capability, within what is above it minus what is guaranteed beside it.

        volcano.md 4.5 and 4.6, ``realCapability``; config/README.md: limits are cut to what the parent passes on.
        """
        if name not in self._limits:
            parent, mine = self.parents[name], self.guarantee(name)
            above = self.limit(parent) if parent else self.total
            beside = [self.guarantee(other) for other in self.beside(name) if other != name]
            stated, found = dict(self.all[name].capability), dict[int, int]()
            for column in self.columns:
                most = above.get(column, 0)
                others = sum(other.get(column, 0) for other in beside)
                found[column] = max(most - others, min(most, mine.get(column, 0)), 0)
                found[column] = min(found[column], stated.get(column, found[column]))
            self._limits[name] = found
        return self._limits[name]

    def deserved(self, name: str) -> Vector:
        """What a queue deserves with ``capacity``: as stated, within its limit, and no less than its guarantee."""
        limit, guarantee = self.limit(name), self.guarantee(name)
        return {
            column: max(min(value, limit[column]), guarantee.get(column, 0))
            for column, value in maximum(self.all[name].deserved, tuple(guarantee.items()))
        }

    @property
    def parts(self) -> dict[str, dict[int, Fraction]]:
        """What each queue deserves where ``proportion`` divides the cluster by weight alone; else empty."""
        if self._parts is None:
            plugins = self.cycle.facts.plugins
            divides = "proportion" in plugins and "usage-history" not in plugins
            self._parts = _divided(self) if divides else {}
        return self._parts

    def claimed(self, name: str, holds: dict[str, Vector], column: int) -> int:
        """What a queue holds, or is guaranteed if that is more; what its children claim, if that is more still."""
        children = sum(self.claimed(child, holds, column) for child in self.below(name))
        return max(holds[name].get(column, 0), self.guarantee(name).get(column, 0), children)

    def most(self, name: str, holds: dict[str, Vector]) -> Vector:
        """The most that a queue may hold while those beside it hold this: what is guaranteed to them stays free."""
        parent, found = self.parents[name], dict[int, int]()
        above, limit = self.limit(parent) if parent else self.total, self.limit(name)
        beside = [other for other in self.beside(name) if other != name]
        for column in self.columns:
            others = sum(self.claimed(one, holds, column) for one in beside)
            found[column] = min(limit[column], above.get(column, 0) - others)
            if "proportion" in self.cycle.facts.limits and name in self.parts and column != PODS:
                found[column] = min(found[column], int(self.parts[name][column]))
        return found


def _divided(queues: Queues) -> dict[str, dict[int, Fraction]]:
    """What each queue with jobs deserves with ``proportion``: water-filling by weight (volcano.md 4.5).

    Each round shares out what is left by the weights of the queues that are not satisfied; none gets more than it asks
    for, or than its limit, and none less than its guarantee.
    """
    asked = _asked(queues)
    deserved: dict[str, dict[int, Fraction]] = {name: dict.fromkeys(queues.columns, Fraction()) for name in asked}
    left = {column: Fraction(queues.total.get(column, 0)) for column in queues.columns}
    thirsty = list(asked)
    while thirsty and any(left.values()):
        weights, before, satisfied = sum(queues.all[name].weight for name in thirsty), dict(left), set[str]()
        if not weights:
            break
        for name in thirsty:
            had, wanted = deserved[name], asked[name]
            deserved[name] = has = {}
            for column in queues.columns:
                part = had[column] + before[column] * queues.all[name].weight / weights
                part = min(part, Fraction(queues.limit(name)[column]), Fraction(wanted.get(column, 0)))
                has[column] = max(part, Fraction(queues.guarantee(name).get(column, 0)))
                left[column] -= has[column] - had[column]
            if has == had or all(value <= has[column] for column, value in wanted.items()):
                satisfied.add(name)
        thirsty = [name for name in thirsty if name not in satisfied]
        left = {column: max(value, Fraction()) for column, value in left.items()}
        if left == before:
            break
    return deserved


def _asked(queues: Queues) -> dict[str, Vector]:
    """What the jobs of each queue hold and wait for, queues with jobs alone."""
    held, found = queues.held(), dict[str, Vector]()
    for job in queues.cycle.jobs.values():
        if job.spec.queue in queues.all:
            asked = found.setdefault(job.spec.queue, dict(held[job.spec.queue]))
            if not job.kept_out:
                add(asked, job.pending_request.items())
    return found
