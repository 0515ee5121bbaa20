"""Taking back: which pods of overused namespaces go, so that a pod of one that is short has a place (seed 001).

What was begun comes first; then the neediest namespace has its turn, then whoever is the neediest with that place
counted as its own. A pod that some node takes anyhow has room kept for it, so that nobody is evicted for room that is
there; else the fewest pods leave one node. Where a bucket of the namespace keeps all that it may, pods of that bucket
have to go as well, wherever they are. What is begun was seen through to its end on the books of the round, so no
eviction is in vain.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from vsched.arbitrator.effects import Overuse, Promise
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.kept import Kept
from vsched.arbitrator.taking.placing import ACTION, Placing, Trial
from vsched.arbitrator.taking.search import Search
from vsched.arbitrator.wants import Asking, Want, most_urgent, wants_of, within
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Arbitration, Division, NamespaceAccount
from vsched.model.plan import Evict
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

TURNS_MAX = 64
"""Wants that are looked at in one round, and as many as pods may be evicted in it."""
WANTS_MAX = 16
"""The same of one namespace."""

Turn = tuple[bool, int, float, str]
"""Who has the next turn, smaller has: the system, who was not disappointed, the neediest; the namespace."""


class Taken(NamedTuple):
    """A pod that is to go, and the one that is to have its place."""

    victim: Task
    beneficiary: Task

    @property
    def eviction(self) -> Evict:
        """As it is carried out."""
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
    asking: Asking,
) -> Sequence[Taken]:
    """The pods to evict in this round, in order; nobody's whose grace is not over."""
    arbitration = snapshot.arbitration
    givers = [name for name, one in overused.items() if is_due(one, snapshot.now, rules)]
    if arbitration is None or not givers or not short or rules.evictions_per_round < 1:
        return ()
    return _Round(snapshot, arbitration, division, givers, short, promised, rules, placing, asking).taken()


def is_due(overuse: Overuse, now: float, rules: ArbitrationRules) -> bool:
    """Whether a namespace has been overused for so long that its own controllers have had their time to choose."""
    return now - overuse.since >= rules.grace_seconds


class _Round:
    """One round of taking back."""

    def __init__(
        self,
        snapshot: Snapshot,
        arbitration: Arbitration,
        division: Division,
        givers: Iterable[str],
        short: Sequence[str],
        promised: Mapping[str, Promise],
        rules: ArbitrationRules,
        placing: Placing,
        asking: Asking,
    ) -> None:
        self._most = rules.evictions_per_round
        self._kept = Kept(arbitration, division)
        self._trial = Trial(snapshot, placing, _leaving(arbitration.parties))
        self._givers = tuple(givers)
        parties = [arbitration.parties[name] for name in self._givers]
        self._search = Search(self._trial, parties, self._kept, asking, snapshot.axis)
        self._snapshot = snapshot
        self._parties = arbitration.parties
        self._asking = asking
        self._short = short
        self._promised = promised
        self._looked_at: set[str] = set()
        """First pods of wants that had their turn, by uid."""
        self._left: dict[str, list[Want]] = {}
        """What is still to be looked at of namespaces that had a turn, the most urgent last."""
        self._hopeless: set[Hashable] = set()

    def taken(self) -> list[Taken]:
        """The pods to go, as many as one round may have."""
        found: list[Taken] = []
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
        return found[: self._most]

    def _begun(self) -> list[tuple[str, Want]]:
        """What others were made to leave for already, in the order in which that was promised."""
        begun: list[tuple[float, str, str, Want]] = []
        for namespace in {promise.namespace for promise in self._promised.values()} & set(self._short):
            for want in self._wants(namespace):
                until = [self._promised[task.uid].until for task in want.tasks if task.uid in self._promised]
                if until:
                    begun.append((min(until), want.tasks[0].uid, namespace, want))
        return [(namespace, want) for _, _, namespace, want in sorted(begun, key=lambda one: one[:2])]

    def _give(self, namespace: str, want: Want) -> list[Taken] | None:
        """Have a want satisfied, and who has to go for it; None where it cannot be, or is not deserved any more."""
        self._looked_at.add(want.tasks[0].uid)
        mark = self._search.mark()
        if not within(self._kept.of(namespace), want.amounts, self._kept.award(namespace).deserved):
            return None
        if not self._satisfy(namespace, want):
            return None
        self._kept.shift(namespace, want.amounts, 1)
        return [Taken(*pair) for pair in self._search.evicted_since(mark)]

    def _turn(self, namespace: str, disappointed: int) -> Turn:
        return namespace != SYSTEM_NAMESPACE, disappointed, self._kept.share(namespace), namespace

    def _next(self, namespace: str) -> Want | None:
        """What a namespace wants most of what it did not have a turn for."""
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
        """What would stay within what a namespace deserves beside what it kept when the round began."""
        party = self._parties[namespace]
        return wants_of(party, party.kept, self._kept.award(namespace), self._snapshot, self._asking)

    def _likeness(self, want: Want) -> Hashable:
        return tuple(self._trial.likeness(task) for task in want.tasks)

    def _satisfy(self, namespace: str, want: Want) -> bool:
        """Find a place for every pod of a want, and room in the buckets; where one is lacking, nothing is booked."""
        neighbours = self._neighbours(namespace, want)
        start, mark = self._trial.mark(), self._search.mark()
        placed = all(self._place(task, neighbours or ()) for task in want.tasks)
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

    def _neighbours(self, namespace: str, want: Want) -> Collection[str] | None:
        """The namespaces in buckets that would be too full with a want, of which something has to go for it, wherever
        it is; None where no bucket would be."""
        buckets = self._kept.lacking(namespace, want.amounts).keys()
        if not buckets:
            return None
        return {giver for giver in self._givers if not buckets.isdisjoint(self._kept.buckets_of(giver))}

    def _relieve(self, namespace: str, want: Want, neighbours: Collection[str]) -> bool:
        return self._search.relieve(want.tasks[0], lambda: self._kept.lacking(namespace, want.amounts), neighbours)


def _leaving(parties: Mapping[str, NamespaceAccount]) -> list[Task]:
    """Pods on their way out, of whatever namespace."""
    return [
        task
        for party in parties.values()
        if any(party.leaving.values())
        for task in party.tasks.values()
        if task.status is Status.RELEASING
    ]
