"""Amounts that every node has, followed from placement to placement: they save comparisons on all nodes."""

from __future__ import annotations

from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints

MOVES_BETWEEN_LOOKS = 32
"""After so many moves it pays to look at all nodes once more."""
MOVES_KEPT = 1 << 14
"""So many moves are remembered; then everything is looked at again."""


class LowestIdle:
    """For each resource an amount that no node has less of; it may be less than the least one.

    A resource learns of moves when it is asked about: where there are thousands, few of them are asked about again.
    """

    __slots__ = ("_at", "_known", "_looked", "_moved", "_seen", "_values")

    def __init__(self, idle: Ints) -> None:
        """``idle`` is int64[resource, node]. It is kept, and read again where rows change."""
        self._values = idle
        # Elements read through a view cost a third of numpy's own indexing.
        self._at = idle.data
        self._known: dict[int, int] = {}
        self._looked: dict[int, int] = {}
        """By resource: the number of moves when all nodes were looked at."""
        self._seen: dict[int, int] = {}
        """By resource: the number of moves that it knows."""
        self._moved: list[int] = []
        """The rows that changed."""

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        if len(self._moved) >= MOVES_KEPT:
            self._known.clear()
            self._moved.clear()
        self._moved.append(row)

    def covers(self, column: int, amount: int) -> bool:
        """Whether every node is known to have this amount idle."""
        least = self._known.get(column)
        moves = len(self._moved)
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
        self._looked[column] = self._seen[column] = len(self._moved)
        return least

    def _catch_up(self, column: int, least: int) -> int:
        at = self._at
        for row in self._moved[self._seen[column] :]:
            amount = at[column, row]
            if amount < least:
                least = amount
        self._known[column], self._seen[column] = least, len(self._moved)
        return least
