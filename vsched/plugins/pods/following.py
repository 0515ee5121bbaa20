"""A float64 copy of integer amounts that is kept up to date. It saves a conversion at every step of arithmetic.

Rows that change are appended to a list of moves; each reader knows how many of them it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.kernels.binpack import PackedResource
from vsched.kernels.domains import Rows
from vsched.kernels.representatives import Representatives
from vsched.model.nodes.table import Floats, Ints


class Following:
    """Keeps ``float64[resource, node]`` equal to ``int64[resource, node]``; exact below 2**53."""

    __slots__ = ("_moves", "_seen", "_source", "_values")

    def __init__(self, source: Ints, moves: list[int]) -> None:
        self._source = source
        self._values: Floats | None = None
        self._moves, self._seen = moves, 0

    def current(self) -> Floats:
        """The up-to-date copy, made when it is first asked for; read-only."""
        if self._values is None:
            self._values = self._source.astype(np.float64)
        elif len(self._moves) > self._seen:
            for row in {*self._moves[self._seen :]}:
                self._values[:, row] = self._source[:, row]
        self._seen = len(self._moves)
        return self._values

    def at(self, rows: slice | Rows) -> Floats:
        """The amounts of some nodes; no copy of all is made for them."""
        return self._source[:, rows].astype(np.float64) if self._values is None else self.current()[:, rows]


class Used:
    """Keeps ``float64[resource, node]`` equal to what is allocatable and not idle; exact below 2**53."""

    __slots__ = ("_at", "_has", "_idle", "_moves", "_seen", "_values")

    def __init__(self, allocatable: Ints, idle: Ints, moves: list[int]) -> None:
        self._values: Floats = np.subtract(allocatable, idle).astype(np.float64)
        # Elements read and written through a view cost a third of numpy's own indexing.
        self._at, self._has, self._idle = self._values.data, allocatable.data, idle.data
        self._moves, self._seen = moves, len(moves)

    def current(self) -> Floats:
        """The up-to-date amounts; read-only."""
        if len(self._moves) > self._seen:
            at, has, idle = self._at, self._has, self._idle
            for row in {*self._moves[self._seen :]}:
                for column in range(len(self._values)):
                    at[column, row] = has[column, row] - idle[column, row]
            self._seen = len(self._moves)
        return self._values


class UsedByFew:
    """The same on the rows that represent all nodes, beside what is allocatable there; exact below 2**53.

    Without it, 5,000 pods that all differ take 1.07 times as long, and the next pod among them 1.14 times.
    """

    __slots__ = (
        "_allocatable",
        "_count",
        "_has",
        "_has_at",
        "_idle",
        "_idle_at",
        "_moves",
        "_seen",
        "_used",
        "_used_at",
        "least",
        "rows",
    )

    def __init__(self, rows: Representatives, allocatable: Ints, idle: Ints, moves: list[int]) -> None:
        self.rows = rows
        self._has, self._idle = allocatable, idle
        # Elements read and written through a view cost a third of numpy's own indexing.
        self._has_at, self._idle_at = allocatable.data, idle.data
        self._moves, self._seen = moves, 0
        self.least: list[int] = []
        """By resource: an amount that none of the rows has less of idle."""
        self._read()

    def current(self) -> tuple[Floats, Floats]:
        """The up-to-date amounts, used and allocatable, float64[resource, row]; read-only."""
        if self.rows.size > self._count:
            self._read()
        elif len(self._moves) > self._seen:
            positions, used_at, has_at, idle_at = self.rows.at, self._used_at, self._has_at, self._idle_at
            least = self.least
            for row in self._moves[self._seen :]:
                position = positions.get(row)
                if position is not None:
                    for column, bound in enumerate(least):
                        idle = idle_at[column, row]
                        used_at[column, position] = has_at[column, row] - idle
                        if idle < bound:
                            least[column] = idle
            self._seen = len(self._moves)
        return self._used, self._allocatable

    def may_lack(self, wishes: Sequence[PackedResource]) -> Sequence[bool]:
        """For each wish: whether some of the rows may have too little left of it; empty where none has."""
        least = self.least
        for wish in wishes:
            if wish.amount > least[wish.column]:
                return [wish.amount > least[wish.column] for wish in wishes]
        return ()

    def _read(self) -> None:
        """Read all rows."""
        at, self._count = self.rows.rows, self.rows.size
        self._used: Floats = np.subtract(self._has[:, at], self._idle[:, at]).astype(np.float64)
        self._used_at = self._used.data
        self.least = self._idle[:, at].min(axis=1).tolist()
        self._allocatable: Floats = self._has[:, at].astype(np.float64)
        self._seen = len(self._moves)
