"""What queues, and namespaces within them, hold in the course of a cycle. Changed by the ledger only.

Beside it, what was admitted and is not held yet (``framework.ledger.pledges``): admission counts it as held.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vsched.framework.ledger.pledges import Pledges
from vsched.model.amounts.resources import Amounts, Vector, add
from vsched.model.snapshot import Snapshot

_NONE: Vector = {}


class UsageByQueue(Protocol):
    """Amounts by queue and by namespace within a queue, base units by column."""

    def queue(self, name: str) -> Mapping[int, int]:
        """Of a queue."""
        ...

    def namespace(self, queue: str, namespace: str) -> Mapping[int, int]:
        """Of a namespace in a queue."""
        ...


class SessionUsage:
    """Allocated amounts by queue and by (queue, namespace): the snapshot's sums plus this cycle's placements.

    Sums are copied when they first change, so opening a cycle costs nothing however many queues there are.
    """

    __slots__ = ("_base_queues", "_base_shares", "_queues", "_shares", "moved", "pledges")

    def __init__(self, snapshot: Snapshot) -> None:
        self._base_queues = snapshot.books
        self._base_shares = snapshot.shares
        self._queues: dict[str, Vector] = {}
        self._shares: dict[tuple[str, str], Vector] = {}
        self.moved: set[str] = set()
        """Queues whose usage changed; who wants to know empties it first."""
        self.pledges = Pledges(snapshot)
        """What was admitted and is not held yet."""

    def queue(self, name: str) -> Mapping[int, int]:
        """What a queue holds, base units by column."""
        held = self._queues.get(name)
        if held is not None:
            return held
        books = self._base_queues.get(name)
        return _NONE if books is None else books.allocated

    def namespace(self, queue: str, namespace: str) -> Mapping[int, int]:
        """What a namespace holds in a queue."""
        key = (queue, namespace)
        held = self._shares.get(key)
        return held if held is not None else self._base_shares.get(key, _NONE)

    def namespaces(self) -> list[tuple[str, str]]:
        """All (queue, namespace) pairs that hold something or did, sorted."""
        return sorted(self._base_shares.keys() | self._shares.keys())

    def shift(self, queue: str, namespace: str, request: Amounts, sign: int) -> None:
        """Book one placement (``sign=1``) or its end (``sign=-1``)."""
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


class Admitted:
    """SessionUsage with what was admitted counted as held: the books that admission goes by."""

    __slots__ = ("_usage",)

    def __init__(self, usage: SessionUsage) -> None:
        self._usage = usage

    def queue(self, name: str) -> Mapping[int, int]:
        """What a queue holds and is pledged."""
        return _together(self._usage.queue(name), self._usage.pledges.queue(name))

    def namespace(self, queue: str, namespace: str) -> Mapping[int, int]:
        """What a namespace holds and is pledged in a queue."""
        held = self._usage.namespace(queue, namespace)
        return _together(held, self._usage.pledges.namespace(queue, namespace))


def _together(held: Mapping[int, int], pledged: Vector | None) -> Mapping[int, int]:
    if not pledged:
        return held
    total = dict(held)
    add(total, pledged.items())
    return total
