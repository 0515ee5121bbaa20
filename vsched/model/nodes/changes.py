"""Which rows of a published node table were written anew: a copy of it is brought up to date by these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ROWS_MAX = 4096
"""Rows that are remembered at least; who has not followed for longer copies the whole table."""


class RowChanges:
    """The rows that were written anew in one table, in order."""

    __slots__ = ("_forgotten", "_rows")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._forgotten = 0
        """How many rows were noted before those in ``_rows``."""

    @property
    def position(self) -> int:
        """How many rows have been noted so far."""
        return self._forgotten + len(self._rows)

    def note(self, rows: Iterable[int]) -> None:
        """These rows were written anew."""
        self._rows.extend(rows)
        if len(self._rows) >= 2 * ROWS_MAX:
            self._forgotten += len(self._rows) - ROWS_MAX
            del self._rows[:-ROWS_MAX]

    def since(self, position: int) -> Sequence[int] | None:
        """The rows that were noted after a position; None where that is too long ago."""
        if position < self._forgotten:
            return None
        return self._rows[position - self._forgotten :]
