"""Sums over time: idle nodes that had work, and what queues hold of what they deserve."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vsched.model.amounts.resources import Vector
from vsched.model.plan import Bind, CycleReport
from vsched.model.snapshot import Snapshot
from vsched.shadow.findings import Interval, QueueShare

QUEUES_MAX = 100
"""So many queues are followed, those that hold or ask for something by name."""


class IntervalSums:
    """The interval that is under way: every session adds the time since the one before."""

    def __init__(self, most_seconds: float) -> None:
        """Between two sessions that are further apart than ``most_seconds``, nothing was seen."""
        self._most_seconds = most_seconds
        self._since = self._at = 0.0
        self._idle: dict[str, float] = {}
        self._queues: dict[str, QueueShare] = {}
        self._rates: dict[str, float] = {}
        self.shares: dict[str, tuple[float, bool]] = {}
        """By queue at the last session: the share of what it deserves that it holds, and whether it is short."""

    def pass_to(self, now: float) -> Interval | None:
        """Time has passed until now, with the state of the last session; the interval before, where that broke off."""
        ended = None
        seconds = now - self._at
        if not self._at or seconds < 0 or seconds > self._most_seconds:
            ended = self.cut(self._at) if self._at > self._since else None
            self._since = now
        else:
            for name, rate in self._rates.items():
                self._idle[name] = self._idle.get(name, 0.0) + rate * seconds
            for name, (share, is_short) in self.shares.items():
                passed = QueueShare(seconds, share * seconds, seconds * is_short)
                before = self._queues.get(name)
                if before is not None or len(self._queues) < QUEUES_MAX:
                    self._queues[name] = passed if before is None else before.plus(passed)
        self._at = now
        return ended

    def see(self, snapshot: Snapshot, report: CycleReport, starting: Collection[str]) -> None:
        """The state of a session. The jobs that are ``starting`` here wait there."""
        self._rates = idle_rates(snapshot, report.binds, starting)
        self.shares = shares_of(snapshot, report)

    def so_far(self) -> Interval:
        """The interval that is under way."""
        return Interval(self._at, self._since, dict(self._idle), dict(self._queues))

    def lasts(self) -> float:
        return self._at - self._since

    def cut(self, now: float) -> Interval:
        """End the interval, and begin another."""
        ended = self.so_far()
        self._since, self._idle, self._queues = now, {}, {}
        return ended


def idle_rates(snapshot: Snapshot, binds: Collection[Bind], starting: Collection[str]) -> dict[str, float]:
    """How many nodes are idle by resource that pods of these jobs would take, as parts of each node's amounts."""
    rates: dict[str, float] = {}
    nodes, names = snapshot.nodes, snapshot.axis.names
    for bind in binds:
        if bind.job not in starting:
            continue
        row = nodes.statics.row[bind.node]
        for column, amount in snapshot.jobs[bind.job].tasks[bind.uid].shape.request:
            of_node = int(nodes.allocatable[column, row])
            if of_node:
                rates[names[column]] = rates.get(names[column], 0.0) + amount / of_node
    return rates


def shares_of(snapshot: Snapshot, report: CycleReport) -> dict[str, tuple[float, bool]]:
    """By queue with jobs and with something that it deserves: its share of that, and whether it is short of it.

    Short is who holds less than it deserves of everything that it asks for. Pods ask for several resources at once: one
    of which a queue holds enough keeps the others from it.
    """
    found: dict[str, tuple[float, bool]] = {}
    for name in sorted(snapshot.books):
        outcome = report.queues.get(name)
        if outcome is None or not any(outcome.deserved.values()):
            continue
        book = snapshot.books[name]
        held, asked = _named(snapshot, book.allocated), _named(snapshot, book.pending)
        shares = [held.get(one, 0) / amount for one, amount in outcome.deserved.items() if amount]
        wanted = {one: amount for one, amount in outcome.deserved.items() if asked.get(one, 0)}
        is_short = bool(wanted) and all(held.get(one, 0) < amount for one, amount in wanted.items())
        found[name] = max(shares), is_short
        if len(found) == QUEUES_MAX:
            break
    return found


def _named(snapshot: Snapshot, amounts: Vector) -> Mapping[str, int]:
    return {snapshot.axis.names[column]: amount for column, amount in amounts.items()}
