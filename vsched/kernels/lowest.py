"""Amounts that every node has, followed from placement to placement: they save comparisons on all nodes."""

from __future__ import annotations

from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Ints

MOVES_BETWEEN_LOOKS = 32
"""After so many moves it pays to look at all nodes once more."""


class LowestIdle:
    """For each resource an amount that no node has less of; it may be less than the least one."""

    __slots__ = ("_at", "_known", "_looked", "_moved", "_moves", "_values")

    def __init__(self, idle: Ints) -> None:
        """``idle`` is int64[resource, node]. It is kept, and read again where rows change."""
        self._values = idle
        # Elements read through a view cost a third of numpy's own indexing.
        self._at = idle.data
        self._known: dict[int, int] = {}
        self._looked: dict[int, int] = {}
        """By resource: the number of moves when all nodes were looked at."""
        self._moved: set[int] = set()
        self._moves = 0

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        self._moved.add(row)

    def covers(self, column: int, amount: int) -> bool:
        """Whether every node is known to have this amount idle."""
        if self._moved:
            self._catch_up()
        least = self._known.get(column)
        if least is None or (least < amount and self._moves >= self._looked[column] + MOVES_BETWEEN_LOOKS):
            least = self._known[column] = int(self._values[column].min(initial=UNLIMITED))
            self._looked[column] = self._moves
        return least >= amount

    def _catch_up(self) -> None:
        at, known = self._at, self._known
        for column in known:
            for row in self._moved:
                amount = at[column, row]
                if amount < known[column]:
                    known[column] = amount
        self._moves += len(self._moved)
        self._moved.clear()
