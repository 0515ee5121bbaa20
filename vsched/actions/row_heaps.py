"""Rows of jobs that wait for turns in the order of their next jobs, by namespace and by user where these are ordered.

Keys are computed when an entry is added. Those of the group and the job that have the turn are not in the heaps
meanwhile, so that no key becomes stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

from vsched.framework.classes import Rank, Row


class Line:
    """Rows that wait for turns, in the order of their next jobs."""

    def __init__(self) -> None:
        self._heap: list[tuple[Rank, Row]] = []

    def add(self, row: Row) -> None:
        """Add a row before the first turn, or before all are put in order again."""
        self._heap.append((row.rank, row))

    def order(self) -> None:
        """Put all in order."""
        heapify(self._heap)

    def put(self, row: Row) -> None:
        """Add a row during a turn."""
        heappush(self._heap, (row.rank, row))

    @property
    def first(self) -> Any:
        """The sort key of the next job."""
        return self._heap[0][0]

    def pop(self) -> tuple[tuple[Any, ...], Row]:
        """Remove the row with the next job; returns the keys of its groups as well."""
        return (), heappop(self._heap)[1]

    def end_turn(self, *, idle: bool) -> None:
        """A turn is over."""

    def rows(self) -> Iterator[Row]:
        """The rows, in no particular order."""
        for _, row in self._heap:
            yield row

    def __bool__(self) -> bool:
        return bool(self._heap)


class GroupedLine:
    """Rows that wait for turns in groups, by namespace or by user."""

    def __init__(
        self, name_of: Callable[[Row], str], key_of: Callable[[str], Any], line_of: Callable[[str], AnyLine]
    ) -> None:
        self._name_of, self._key_of, self._line_of = name_of, key_of, line_of
        self._lines: dict[str, AnyLine] = {}
        self._heap: list[tuple[Any, Any, str]] = []

    def add(self, row: Row) -> None:
        """Add a row before the first turn, or before all are put in order again."""
        name = self._name_of(row)
        line = self._lines.get(name)
        if line is None:
            line = self._lines[name] = self._line_of(name)
        line.add(row)

    def order(self) -> None:
        """Put all in order."""
        for line in self._lines.values():
            line.order()
        self._heap = [(self._key(name), line.first, name) for name, line in self._lines.items() if line]
        heapify(self._heap)

    def _key(self, name: str) -> Any:
        return self._key_of(name) if len(self._lines) > 1 else ()

    def put(self, row: Row) -> None:
        """Add a row during its turn."""
        self._lines[self._turn].put(row)

    @property
    def first(self) -> Any:
        """The sort keys of the next group and job."""
        return self._heap[0][:2]

    def pop(self) -> tuple[tuple[Any, ...], Row]:
        """Remove the row with the next job; returns the keys of its groups as well."""
        self._now, _, self._turn = heappop(self._heap)
        keys, row = self._lines[self._turn].pop()
        return (self._now, *keys), row

    def end_turn(self, *, idle: bool) -> None:
        """A turn is over; ``idle``: keys are as they were."""
        line = self._lines[self._turn]
        line.end_turn(idle=idle)
        if line:
            heappush(self._heap, (self._now if idle else self._key(self._turn), line.first, self._turn))

    def rows(self) -> Iterator[Row]:
        """The rows, in no particular order."""
        for line in self._lines.values():
            yield from line.rows()

    def __bool__(self) -> bool:
        return bool(self._heap)


AnyLine = Line | GroupedLine
