"""Which rows of a published node table were written anew: a copy of it is brought up to date by these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ROWS_MAX = 4096
"""Rows that are remembered at least; who has not followed for longer copies the whole table."""


class RowChanges:
    """The rows that were written anew in one table, in order, and those that pods are leaving."""

    __slots__ = ("_forgotten", "_leaving", "_reserved", "_rows")

    def __init__(self, leaving: Iterable[int] = (), *, reserved: bool = False) -> None:
        """``leaving`` are the rows with amounts that are being released; ``reserved``: amounts of some row are."""
        self._rows: list[int] = []
        self._forgotten = 0
        """How many rows were noted before those in ``_rows``."""
        self._leaving = set(leaving)
        self._reserved = reserved

    @property
    def in_motion(self) -> bool:
        """Whether any amount of the table is being released or reserved."""
        return self._reserved or bool(self._leaving)

    @property
    def position(self) -> int:
        """How many rows have been noted so far."""
        return self._forgotten + len(self._rows)

    def note(self, row: int, *, leaving: bool) -> None:
        """A row was written anew; ``leaving``: amounts on it are being released."""
        self._rows.append(row)
        (self._leaving.add if leaving else self._leaving.discard)(row)
        if len(self._rows) >= 2 * ROWS_MAX:
            del self._rows[:ROWS_MAX]
            self._forgotten += ROWS_MAX

    def since(self, position: int) -> Sequence[int] | None:
        """The rows that were noted after a position; None where that is too long ago."""
        if position < self._forgotten:
            return None
        return self._rows[position - self._forgotten :]
