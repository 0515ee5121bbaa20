"""Jobs that take from each other in turn, and how long they have to leave each other alone.

Whatever the cause, as controllers whose jobs come back otherwise than they left: once a job takes from one that took
from it before, neither of both evicts pods of the other for a while. The while doubles with each turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache

from vsched.kube.backoff import doubled

FIRST_SECONDS, CEILING_SECONDS = 30.0, 86_400.0
"""How long two jobs leave each other alone after the first turn; it doubles with each, up to the ceiling."""
MEMORY_SECONDS = 600.0
"""What was taken is forgotten so long, and twice as long as they left each other alone, after the last time."""
PAIRS_MAX = 10_000


@dataclass(slots=True)
class _Pair:
    """Two jobs of which one took from the other."""

    taker: str
    """The job that took last."""
    at: float
    turns: int = 0
    """How often the one took from the other that had taken from it."""

    @property
    def wait_seconds(self) -> float:
        return doubled(FIRST_SECONDS, CEILING_SECONDS, self.turns) if self.turns else 0.0


class EvictionLoops:
    """Who took from whom lately, by pairs of jobs. Times are seconds since the epoch."""

    def __init__(self) -> None:
        self._pairs: LRUCache[frozenset[str], _Pair] = LRUCache(PAIRS_MAX)
        self._barred: dict[frozenset[str], float] = {}
        """Until when jobs leave each other alone."""

    def took(self, taker: str, victim: str, now: float) -> float:
        """A pod of a job was evicted for another one. How long they are to leave each other alone if this closes a
        loop, else 0."""
        both = frozenset((taker, victim))
        if len(both) < 2:
            return 0.0
        pair = self._pairs.get(both)
        if pair is None or now - pair.at > MEMORY_SECONDS + 2.0 * pair.wait_seconds:
            pair = self._pairs[both] = _Pair(taker, now)
        turned = pair.taker != taker
        pair.taker, pair.at = taker, now
        if not turned:
            return 0.0
        pair.turns += 1
        self._barred[both] = now + pair.wait_seconds
        return pair.wait_seconds

    def barred(self, now: float) -> dict[str, tuple[str, ...]]:
        """By job: those that it takes nothing from for now, by key."""
        self._barred = {both: until for both, until in self._barred.items() if now < until}
        found: dict[str, list[str]] = {}
        for both in self._barred:
            one, other = both
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
        return {job: tuple(sorted(others)) for job, others in found.items()}
