"""The amounts that queues, and namespaces within queues, hold during a session. Only the ledger changes them.

Pledges (``framework.ledger.pledges``) are amounts that were admitted but are not held yet. Admission counts them as
held.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Protocol

from vsched.framework.ledger.pledges import Pledges
from vsched.model.amounts.resources import Amounts, Vector, add
from vsched.model.snapshot import Snapshot

_NONE: Vector = {}


class UsageByQueue(Protocol):
    """Amounts by queue and by namespace within a queue, base units by column."""

    def queue(self, name: str) -> Mapping[int, int]:
        """The amounts of a queue."""
        ...

    def namespace(self, queue: str, namespace: str) -> Mapping[int, int]:
        """The amounts of a namespace in a queue."""
        ...


class SessionUsage:
    """Allocated amounts by queue and by (queue, namespace): the snapshot's sums plus this cycle's placements.

    Sums are copied when they first change, so opening a session costs the same however many queues there are.
    """

    __slots__ = ("_base_queues", "_base_shares", "_queues", "_shares", "moved", "pledges")

    def __init__(self, snapshot: Snapshot) -> None:
        self._base_queues = snapshot.books
        self._base_shares = snapshot.shares
        self._queues: dict[str, Vector] = {}
        self._shares: dict[tuple[str, str], Vector] = {}
        self.moved: set[str] = set()
        """Queues whose usage changed. A reader clears it before the changes it wants to see."""
        self.pledges = Pledges(snapshot)
        """The amounts that were admitted and are not held yet."""

    def queue(self, name: str) -> Mapping[int, int]:
        """The amounts that a queue holds, base units by column."""
        held = self._queues.get(name)
        if held is not None:
            return held
        sums = self._base_queues.get(name)
        return _NONE if sums is None else sums.allocated

    def namespace(self, queue: str, namespace: str) -> Mapping[int, int]:
        """The amounts that a namespace holds in a queue, base units by column."""
        key = (queue, namespace)
        held = self._shares.get(key)
        return held if held is not None else self._base_shares.get(key, _NONE)

    def namespaces(self) -> list[tuple[str, str]]:
        """All (queue, namespace) pairs that hold or held something, sorted."""
        return sorted(self._base_shares.keys() | self._shares.keys())

    def moved_queues(self) -> Set[str]:
        """The queues with placements that were made or undone; all others hold what the snapshot says."""
        return self._queues.keys()

    def moved_namespaces(self) -> list[tuple[str, str]]:
        """The (queue, namespace) pairs with placements that were made or undone."""
        return list(self._shares)

    def shift(self, queue: str, namespace: str, request: Amounts, sign: int) -> None:
        """Add the request of one placement (``sign=1``), or subtract it (``sign=-1``)."""
        self.moved.add(queue)
        held = self._queues.get(queue)
        if held is None:
            held = self._queues[queue] = dict(self.queue(queue))
        key = (queue, namespace)
        share = self._shares.get(key)
        if share is None:
            share = self._shares[key] = dict(self.namespace(queue, namespace))
        for column, value in request:
            held[column] = held.get(column, 0) + sign * value
            share[column] = share.get(column, 0) + sign * value


class UsageWithPledges:
    """SessionUsage with pledges counted as held. Admission uses these amounts."""

    __slots__ = ("_usage",)

    def __init__(self, usage: SessionUsage) -> None:
        self._usage = usage

    def queue(self, name: str) -> Mapping[int, int]:
        """The amounts that a queue holds or that are pledged in it."""
        return _together(self._usage.queue(name), self._usage.pledges.queue(name))

    def namespace(self, queue: str, namespace: str) -> Mapping[int, int]:
        """The amounts that a namespace holds in a queue or that are pledged to it there."""
        held = self._usage.namespace(queue, namespace)
        return _together(held, self._usage.pledges.namespace(queue, namespace))


def _together(held: Mapping[int, int], pledged: Vector | None) -> Mapping[int, int]:
    if not pledged:
        return held
    total = dict(held)
    add(total, pledged.items())
    return total
