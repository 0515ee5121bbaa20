"""Evictions by units: those of jobs that leave as a whole count as one step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vsched.framework.ledger.ledger import LedgerEntry


def units(evictions: Sequence[LedgerEntry], together: Iterable[str]) -> Iterator[list[LedgerEntry]]:
    """The evictions in order, those of the jobs ``together`` as one unit each, at the place of its last eviction."""
    keys, by_job = frozenset(together), dict[str, list[LedgerEntry]]()
    for eviction in evictions:
        if eviction.job.key in keys:
            by_job.setdefault(eviction.job.key, []).append(eviction)
    for eviction in evictions:
        unit = by_job.get(eviction.job.key)
        if unit is None:
            yield [eviction]
        elif eviction is unit[-1]:
            yield unit
