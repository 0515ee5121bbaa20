"""Groups the evictions that one action of one session decided for one beneficiary, and counts those carried out.

The API server may refuse each of them; a refused one does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cachetools import LRUCache

from vsched.model.plan import Evict

MOST = 10_000
"""How many evictions without an answer are remembered; beyond that the oldest is forgotten."""


@dataclass(slots=True)
class Transaction:
    """The evictions of one action of one session for one beneficiary."""

    action: str
    session: int
    evicted: int = 0
    """How many have been carried out."""


class Transactions:
    """Transactions by eviction that has no answer yet."""

    def __init__(self) -> None:
        self._open: LRUCache[str, Transaction] = LRUCache(MOST)

    def __len__(self) -> int:
        return len(self._open)

    def decided(self, session: int, evictions: Iterable[Evict]) -> None:
        """A session decided these."""
        found: dict[tuple[str, str], Transaction] = {}
        for eviction in evictions:
            about = (eviction.action, eviction.beneficiary)
            if about not in found:
                found[about] = Transaction(eviction.action, session)
            self._open[eviction.uid] = found[about]

    def answered(self, uid: str, *, evicted: bool) -> Transaction | None:
        """An eviction was answered; returns its transaction, None where it is not known."""
        transaction = self._open.pop(uid, None)
        if transaction is not None:
            transaction.evicted += evicted
        return transaction
