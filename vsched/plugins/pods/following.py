"""A float64 copy of integer amounts that is kept up to date. It saves a conversion at every step of arithmetic."""

from __future__ import annotations

import numpy as np

from vsched.kernels.domains import Rows
from vsched.kernels.representatives import Representatives
from vsched.model.nodes.table import Floats, Ints


class Following:
    """Keeps ``float64[resource, node]`` equal to ``int64[resource, node]``; exact below 2**53."""

    __slots__ = ("_moved", "_source", "_values")

    def __init__(self, source: Ints) -> None:
        self._source = source
        self._values: Floats | None = None
        self._moved: set[int] = set()

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        self._moved.add(row)

    def current(self) -> Floats:
        """The up-to-date copy, made when it is first asked for; read-only."""
        if self._values is None:
            self._values = self._source.astype(np.float64)
            self._moved.clear()
        while self._moved:
            row = self._moved.pop()
            self._values[:, row] = self._source[:, row]
        return self._values

    def at(self, rows: slice | Rows) -> Floats:
        """The amounts of some nodes; no copy of all is made for them."""
        return self._source[:, rows].astype(np.float64) if self._values is None else self.current()[:, rows]


class Used:
    """Keeps ``float64[resource, node]`` equal to what is allocatable and not idle; exact below 2**53."""

    __slots__ = ("_at", "_has", "_idle", "_moved", "_values")

    def __init__(self, allocatable: Ints, idle: Ints) -> None:
        self._values: Floats = np.subtract(allocatable, idle).astype(np.float64)
        # Elements read and written through a view cost a third of numpy's own indexing.
        self._at, self._has, self._idle = self._values.data, allocatable.data, idle.data
        self._moved: set[int] = set()

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        self._moved.add(row)

    def current(self) -> Floats:
        """The up-to-date amounts; read-only."""
        at, has, idle = self._at, self._has, self._idle
        while self._moved:
            row = self._moved.pop()
            for column in range(len(self._values)):
                at[column, row] = has[column, row] - idle[column, row]
        return self._values


class UsedByFew:
    """The same on the rows that represent all nodes, beside what is allocatable there; exact below 2**53."""

    __slots__ = ("_allocatable", "_count", "_has", "_has_at", "_idle", "_idle_at", "_moved", "_used", "rows")

    def __init__(self, rows: Representatives, allocatable: Ints, idle: Ints) -> None:
        self.rows = rows
        self._has, self._idle = allocatable, idle
        self._has_at, self._idle_at = allocatable.data, idle.data
        self._used: Floats = np.empty((len(allocatable), 0))
        self._allocatable: Floats = self._used
        self._count = 0
        self._moved: set[int] = set()

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        self._moved.add(row)

    def current(self) -> tuple[Floats, Floats]:
        """The up-to-date amounts, used and allocatable, float64[resource, row]; read-only."""
        if len(self.rows) > self._count:
            at = self.rows.rows
            self._used = np.subtract(self._has[:, at], self._idle[:, at]).astype(np.float64)
            self._allocatable = self._has[:, at].astype(np.float64)
            self._count = len(at)
            self._moved.clear()
        # Elements read and written through a view cost a third of numpy's own indexing.
        positions, used_at, has_at, idle_at = self.rows.at, self._used.data, self._has_at, self._idle_at
        while self._moved:
            row = self._moved.pop()
            position = positions.get(row)
            if position is not None:
                for column in range(len(self._used)):
                    used_at[column, position] = has_at[column, row] - idle_at[column, row]
        return self._used, self._allocatable
