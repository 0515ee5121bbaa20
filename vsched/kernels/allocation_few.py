"""Least and balanced allocated of cpu and memory on the nodes that represent all, for each of many requests.

These nodes are few, so that every step costs about the same. Cpu and memory are therefore taken together, and what does
not depend on the request is kept and follows placements. The results are those of ``least_allocated`` and
``balanced_allocation``: the operations are the same, and to begin with halves or with hundredfold amounts changes no
rounding.
"""

from __future__ import annotations

import numpy as np

from vsched.kernels.allocation import EVEN, MAX_SCORE, balance_of_two
from vsched.kernels.representatives import Representatives
from vsched.model.nodes.table import Floats, Ints

# Arrays without dimensions: a step with one of them takes a quarter less than with a plain number.
NONE, HALF, ONE, MOST = (np.array(number) for number in (0.0, 0.5, 1.0, MAX_SCORE))
ROOM = 2
"""Arrays are made so many times as long as they have to be."""


class AllocationOfFew:
    """What pods take of cpu and memory on the rows that represent all nodes."""

    def __init__(self, rows: Representatives, scoring: Ints, held: Ints, allocatable: Ints) -> None:
        """As for ``AllocationTable``, whose ``is_for`` says which nodes there may be."""
        self.rows = rows
        self._scoring, self._held, self._has = scoring.data, held.data, allocatable.data
        self._moved: set[int] = set()
        self._count = 0
        self._kept = self._make(0)
        self._kept_at = self._kept.data
        self._grow()

    def touch(self, row: int) -> None:
        """Note that the amounts of a node changed."""
        self._moved.add(row)

    def score(self, asked: tuple[int, int], balanced: tuple[int, int], weights: tuple[int, int]) -> Floats:
        """The sum of both scores, each times its weight; [row], in a new array.

        ``asked`` counts for least, ``balanced`` for balanced allocated.
        """
        self._catch_up()
        parts, halves, least, found = self._parts, self._halves, self._least, self._found
        requests = np.array((100 * asked[0], 100 * asked[1], *balanced, *weights), dtype=np.float64).reshape(3, 2, 1)
        np.subtract(self._left, requests[0], out=parts)
        np.divide(parts, self._size, out=parts)
        np.floor(parts, out=parts)
        np.maximum(parts, NONE, out=parts)
        np.add(self._cpu, self._memory, out=least)
        np.add(self._taken, requests[1], out=parts)
        np.divide(parts, self._twice, out=parts)
        np.minimum(parts, HALF, out=parts)
        np.subtract(self._cpu, self._memory, out=found)
        np.abs(found, out=found)
        np.subtract(ONE, found, out=found)
        np.multiply(found, MOST, out=found)
        np.floor(found, out=found)
        np.add(found, self._before, out=found)
        np.multiply(halves, HALF, out=halves)
        np.floor(halves, out=halves)
        if weights != (1, 1):
            np.multiply(halves, requests[2], out=halves)
        total: Floats = np.add(least, found)
        return total

    def _catch_up(self) -> None:
        if len(self.rows) > self._count:
            self._grow()
        if self._moved:
            at = self.rows.at
            for row in self._moved:
                position = at.get(row)
                if position is not None:
                    self._read(row, position)
            self._moved.clear()

    def _grow(self) -> None:
        """Read the rows that were added."""
        begin, count = self._count, len(self.rows)
        if count > self._kept.shape[2]:
            kept = self._make(ROOM * count)
            kept[:, :, :begin] = self._kept[:, :, :begin]
            self._kept = kept
            # Elements written through a view cost a third of numpy's own indexing.
            self._kept_at = kept.data
        self._left, self._size, self._taken, self._twice, others = self._kept[:, :, :count]
        self._before = others[0]
        self._parts, self._halves = np.empty((2, 2, count))
        self._cpu, self._memory = self._parts
        self._least, self._found = self._halves
        for position, row in enumerate(self.rows[begin:], begin):
            sizes = self._has[0, row], self._has[1, row]
            self._size[:, position] = sizes
            self._twice[:, position] = 2 * sizes[0], 2 * sizes[1]
            self._read(row, position)
        self._count = count

    def _read(self, row: int, position: int) -> None:
        """Read what is taken of a row, into the first, third and last of the arrays."""
        scoring, held, has, kept = self._scoring, self._held, self._has, self._kept_at
        sizes, taken = (has[0, row], has[1, row]), (held[0, row], held[1, row])
        kept[0, 0, position] = 100 * (sizes[0] - scoring[0, row])
        kept[0, 1, position] = 100 * (sizes[1] - scoring[1, row])
        kept[2, 0, position], kept[2, 1, position] = taken
        kept[4, 0, position] = EVEN - balance_of_two(taken, sizes)

    @staticmethod
    def _make(length: int) -> Floats:
        return np.empty((5, 2, length))
