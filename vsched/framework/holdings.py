"""What queues, and namespaces within them, hold in the course of a cycle. Changed by the ledger only."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.model.resources import Amounts, Vector
from vsched.model.snapshot import Snapshot

_NONE: Vector = {}


class Holdings:
    """Allocated amounts by queue and by (queue, namespace): the snapshot's sums plus this cycle's placements.

    Sums are copied when they first change, so opening a cycle costs nothing however many queues there are.
    """

    __slots__ = ("_base_queues", "_base_shares", "_queues", "_shares")

    def __init__(self, snapshot: Snapshot) -> None:
        self._base_queues = snapshot.books
        self._base_shares = snapshot.shares
        self._queues: dict[str, Vector] = {}
        self._shares: dict[tuple[str, str], Vector] = {}

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
