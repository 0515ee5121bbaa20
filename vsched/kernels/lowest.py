"""Amounts that every node has, followed from placement to placement: they save comparisons on all nodes."""

from __future__ import annotations

from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints

MOVES_BETWEEN_LOOKS = 32
"""After so many moves it pays to look at all nodes once more."""


class LowestIdle:
    """For each resource an amount that no node has less of; it may be less than the least one.

    A resource learns of moves when it is asked about: where there are thousands, few of them are asked about again.
    """

    __slots__ = ("_at", "_known", "_looked", "_moves", "_seen", "_values")

    def __init__(self, idle: Ints, moves: list[int]) -> None:
        """``idle`` is int64[resource, node]. It is kept, and read again where rows change: these are appended to
        ``moves``."""
        self._values = idle
        # Elements read through a view cost a third of numpy's own indexing.
        self._at = idle.data
        self._known: dict[int, int] = {}
        self._looked: dict[int, int] = {}
        """By resource: the number of moves when all nodes were looked at."""
        self._seen: dict[int, int] = {}
        """By resource: the number of moves that it knows."""
        self._moves = moves

    def covers(self, column: int, amount: int) -> bool:
        """Whether every node is known to have this amount idle."""
        least = self._known.get(column)
        moves = len(self._moves)
        if least is None:
            return self._look(column) >= amount
        unseen = moves - self._seen[column]
        if unseen > MOVES_BETWEEN_LOOKS:
            least = self._look(column)
        elif unseen:
            least = self._catch_up(column, least)
        if least < amount and moves >= self._looked[column] + MOVES_BETWEEN_LOOKS:
            least = self._look(column)
        return least >= amount

    def _look(self, column: int) -> int:
        least = self._known[column] = int(self._values[column].min(initial=UNLIMITED))
        self._looked[column] = self._seen[column] = len(self._moves)
        return least

    def _catch_up(self, column: int, least: int) -> int:
        at = self._at
        for row in self._moves[self._seen[column] :]:
            amount = at[column, row]
            if amount < least:
                least = amount
        self._known[column], self._seen[column] = least, len(self._moves)
        return least
