"""Evictions that one session decided for one beneficiary: counted as they are carried out, not as they are decided.

The API server may refuse each of them, and what it refuses is no eviction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cachetools import LRUCache

from vsched.model.plan import Evict

MOST = 10_000
"""Evictions on their way whose transaction is known; beyond it the oldest is no longer."""


@dataclass(slots=True)
class Transaction:
    """What one action of one session takes for one beneficiary."""

    action: str
    session: int
    evicted: int = 0
    """So many of its evictions have been carried out."""


class Transactions:
    """The transactions with evictions on their way."""

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
        """An eviction was carried out, or was not; None where no session is known to have decided it."""
        transaction = self._open.pop(uid, None)
        if transaction is not None:
            transaction.evicted += evicted
        return transaction
