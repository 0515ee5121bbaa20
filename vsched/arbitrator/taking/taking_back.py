"""Taking back: which pods of overused namespaces are evicted for pods of namespaces that are short.

Pods with an open promise come first. Then the neediest namespace has its turn; its new place counts as its own before
the next turn is given. If some node has room for the pod already, that room is kept for it and no pod is evicted.
Otherwise the fewest pods leave one node. If a bucket of the namespace is at its limit, pods of that bucket have to
leave as well, on whatever node they run. Everything is tried in the trial of the round before the first pod is evicted,
so no eviction is wasted.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from vsched.arbitrator.effects import Overuse, Promise
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.gangs import STEPS_MAX, GangRoom
from vsched.arbitrator.taking.kept import KeptAmounts
from vsched.arbitrator.taking.placing import ACTION, PlacementTrial, Placing
from vsched.arbitrator.taking.search import EvictionSearch
from vsched.arbitrator.wants import PodDemands, Want, most_urgent, wants_of, within
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Arbitration, Division, NamespaceAccount
from vsched.model.plan import Evict
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

TURNS_MAX = 64
"""How many wants one round examines, besides as many as it may evict pods."""
WANTS_MAX = 16
"""The same for one namespace."""

Turn = tuple[bool, int, float, str]
"""The order of turns, the smallest first: whether it is not ``kube-system``, how many of its wants could not be
satisfied, its weighted dominant share, its name."""


class PlannedEviction(NamedTuple):
    """A victim, and the pod that it is evicted for."""

    victim: Task
    beneficiary: Task

    @property
    def eviction(self) -> Evict:
        """The eviction as part of a plan."""
        victim = self.victim
        return Evict(victim.uid, victim.namespace, victim.name, victim.node, victim.job, ACTION, self.beneficiary.key)


def take(
    snapshot: Snapshot,
    division: Division,
    overused: Mapping[str, Overuse],
    short: Sequence[str],
    promised: Mapping[str, Promise],
    rules: ArbitrationRules,
    placing: Placing,
    asking: PodDemands,
) -> Sequence[PlannedEviction]:
    """The pods to evict in this round, in order. Namespaces lose no pods before their grace period is over."""
    arbitration = snapshot.arbitration
    due = [name for name, one in overused.items() if is_due(one, snapshot.now, rules)]
    if arbitration is None or not due or not short or rules.evictions_per_round < 1:
        return ()
    return _Round(snapshot, arbitration, division, due, short, promised, rules, placing, asking).taken()


def is_due(overuse: Overuse, now: float, rules: ArbitrationRules) -> bool:
    """Whether the grace period is over in which the namespace's own controllers may choose their victims."""
    return now - overuse.since >= rules.grace_seconds


class _Round:
    """One round of taking back."""

    def __init__(
        self,
        snapshot: Snapshot,
        arbitration: Arbitration,
        division: Division,
        due: Iterable[str],
        short: Sequence[str],
        promised: Mapping[str, Promise],
        rules: ArbitrationRules,
        placing: Placing,
        asking: PodDemands,
    ) -> None:
        self._most = rules.evictions_per_round
        self._kept = KeptAmounts(arbitration, division)
        self._trial = PlacementTrial(snapshot, placing, _leaving(arbitration.parties))
        self._overused = tuple(due)
        accounts = [arbitration.parties[name] for name in self._overused]
        self._search = EvictionSearch(self._trial, accounts, self._kept, asking, snapshot.axis, snapshot.jobs)
        self._snapshot = snapshot
        self._accounts = arbitration.parties
        self._asking = asking
        self._short = short
        self._promised = promised
        self._looked_at: set[str] = set()
        """Uids of the first pods of wants that had their turn."""
        self._left: dict[str, list[Want]] = {}
        """The wants still to examine, of namespaces that had a turn; the most urgent last."""
        self._hopeless: set[Hashable] = set()
        """Keys (``_likeness``) of wants for which no place was found."""
        self._steps = STEPS_MAX
        """How many placements may still be tried to have fewer pods leave for gangs."""

    def taken(self) -> list[PlannedEviction]:
        """The pods to evict, at most as many as one round may evict; pods that leave together count as one."""
        found: list[PlannedEviction] = []
        for namespace, begun in self._begun()[:TURNS_MAX]:
            if len(found) < self._most:
                found += self._give(namespace, begun) or ()
        turns = [self._turn(namespace, 0) for namespace in self._short]
        heapify(turns)
        for _ in range(TURNS_MAX + self._most):
            if not turns or len(found) >= self._most:
                break
            _, disappointed, _, namespace = heappop(turns)
            want = self._next(namespace)
            if want is None:
                continue
            given = self._give(namespace, want)
            if given is None:
                disappointed += 1
            else:
                found += given
            heappush(turns, self._turn(namespace, disappointed))
        return self._within_bounds(found)

    def _within_bounds(self, found: Sequence[PlannedEviction]) -> list[PlannedEviction]:
        """The first of these evictions, with all that leave together with one of them."""
        first, jobs = found[: self._most], self._snapshot.jobs
        units = {key for one in first if (key := one.victim.job) in jobs and jobs[key].spec.leaves_whole}
        return [*first, *(one for one in found[self._most :] if one.victim.job in units)]

    def _begun(self) -> list[tuple[str, Want]]:
        """The wants with an open promise, in the order of the promises."""
        begun: list[tuple[float, str, str, Want]] = []
        for namespace in {promise.namespace for promise in self._promised.values()} & set(self._short):
            for want in self._wants(namespace):
                until = [self._promised[task.uid].until for task in want.tasks if task.uid in self._promised]
                if until:
                    begun.append((min(until), want.tasks[0].uid, namespace, want))
        return [(namespace, want) for _, _, namespace, want in sorted(begun, key=lambda one: one[:2])]

    def _give(self, namespace: str, want: Want) -> list[PlannedEviction] | None:
        """Satisfy a want in the trial and return its victims; None if that is impossible or no longer deserved."""
        self._looked_at.add(want.tasks[0].uid)
        mark = self._search.mark()
        if not within(self._kept.of(namespace), want.amounts, self._kept.award(namespace).deserved):
            return None
        if not self._satisfy(namespace, want):
            return None
        self._kept.shift(namespace, want.amounts, 1)
        return [PlannedEviction(*pair) for pair in self._search.evicted_since(mark)]

    def _turn(self, namespace: str, disappointed: int) -> Turn:
        return namespace != SYSTEM_NAMESPACE, disappointed, self._kept.share(namespace), namespace

    def _next(self, namespace: str) -> Want | None:
        """The most urgent want of a namespace that has not had its turn."""
        wants = self._left.get(namespace)
        if wants is None:
            wants = self._left[namespace] = most_urgent(self._wants(namespace), WANTS_MAX + self._most)[::-1]
        kept, deserved = self._kept.of(namespace), self._kept.award(namespace).deserved
        while wants:
            want = wants.pop()
            if want.tasks[0].uid in self._looked_at or not within(kept, want.amounts, deserved):
                continue
            if self._likeness(want) not in self._hopeless:
                return want
        return None

    def _wants(self, namespace: str) -> Iterator[Want]:
        """The wants that stay within what a namespace deserves, by what it kept at the beginning of the round."""
        account = self._accounts[namespace]
        return wants_of(account, account.kept, self._kept.award(namespace), self._snapshot, self._asking)

    def _likeness(self, want: Want) -> Hashable:
        return tuple(self._trial.likeness(task) for task in want.tasks)

    def _satisfy(self, namespace: str, want: Want) -> bool:
        """Find a place for every pod of a want, and room in its buckets. If either is lacking, undo everything."""
        neighbours = self._neighbours(namespace, want)
        start, mark = self._trial.mark(), self._search.mark()
        placed = all(self._place(task, neighbours or ()) for task in want.tasks)
        leave = len(self._search.positions_since(mark)) if placed else inf
        # Victims that make room in a bucket may be worth more than fewer ones that do not.
        if len(want.tasks) > 1 and leave and (neighbours is None or not placed):
            self._search.undo_to(mark)
            self._trial.undo_to(start)
            placed = self._place_otherwise(want, leave) or (
                placed and all(self._place(task, neighbours or ()) for task in want.tasks)
            )
        if placed and (neighbours is None or self._relieve(namespace, want, neighbours)):
            return True
        self._search.undo_to(mark)
        self._trial.undo_to(start)
        if not placed:
            self._hopeless.add(self._likeness(want))
        return False

    def _place(self, task: Task, neighbours: Collection[str]) -> bool:
        promise = self._promised.get(task.uid)
        preferred = self._trial.rows.get(promise.node) if promise is not None else None
        if self._trial.place(task, preferred):
            return True
        found = self._search.find(task, preferred, neighbours)
        if found is None:
            return False
        self._trial.reserve(task, found.row)
        return True

    def _place_otherwise(self, want: Want, leave: float) -> bool:
        """Place a want in any way for which fewer pods leave; False, with nothing changed, where there is none."""
        steps = self._steps if leave < inf else min(self._steps, STEPS_MAX // 2)
        gang = GangRoom(self._trial, self._search, want.tasks, leave, steps)
        found = gang.find()
        self._steps -= steps - max(0, gang.steps)
        for one in found or ():
            for position in one.victims:
                self._search.evict(position, one.task)
            self._trial.reserve(one.task, one.row)
        return found is not None

    def _neighbours(self, namespace: str, want: Want) -> Collection[str] | None:
        """The overused namespaces in buckets that would exceed their limits with a want; None if no bucket would.

        Pods of these namespaces have to leave for the want, on whatever node they run.
        """
        buckets = self._kept.lacking(namespace, want.amounts).keys()
        if not buckets:
            return None
        return {name for name in self._overused if not buckets.isdisjoint(self._kept.buckets_of(name))}

    def _relieve(self, namespace: str, want: Want, neighbours: Collection[str]) -> bool:
        return self._search.relieve(want.tasks[0], lambda: self._kept.lacking(namespace, want.amounts), neighbours)


def _leaving(accounts: Mapping[str, NamespaceAccount]) -> list[Task]:
    """The terminating pods of all namespaces."""
    return [
        task
        for account in accounts.values()
        if any(account.leaving.values())
        for task in account.tasks.values()
        if task.status is Status.RELEASING
    ]
