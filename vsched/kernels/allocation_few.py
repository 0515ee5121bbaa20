"""Least and balanced allocated of cpu and memory on the nodes that represent all, for each of many requests.

These nodes are few, so that every step costs about the same. So cpu and memory of both scores are taken together,
and what does not depend on the request is kept and follows placements. The results are those of ``least_allocated`` and
``balanced_allocation``: the operations are the same, and to begin with halves or with hundredfold amounts changes no
rounding. Bounds are left out where no node is near them: the least that any node has left is known. Without it, 5,000
pods that all differ take 1.15 times as long on 5,000 nodes.
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
UNKNOWN = 1 << 62
"""More than any node has left."""


class AllocationOfFew:
    """What pods take of cpu and memory on the rows that represent all nodes."""

    def __init__(self, rows: Representatives, moves: list[int], scoring: Ints, held: Ints, allocatable: Ints) -> None:
        """As for ``AllocationTable``, whose ``is_for`` says which nodes there may be."""
        self.rows = rows
        self._moves, self._seen = moves, len(moves)
        self._scoring, self._held, self._has = scoring.data, held.data, allocatable.data
        self._count = 0
        self._least_left = [UNKNOWN, UNKNOWN]
        """No node has less of cpu and memory that does not count for least allocated,"""
        self._least_free = [UNKNOWN, UNKNOWN]
        """and none has less that is not held."""
        self._request: Floats = np.empty((4, 1))
        self._request_at = self._request.data
        self._kept = self._make(0)
        # Elements written through a view cost a third of numpy's own indexing.
        self._kept_at = self._kept.data
        self._grow()

    def score(self, asked: tuple[int, int], balanced: tuple[int, int], weights: tuple[int, int]) -> Floats:
        """The sum of both scores, each times its weight; [row], in a new array.

        ``asked`` counts for least, ``balanced`` for balanced allocated.
        """
        self._catch_up()
        request, left, free = self._request_at, self._least_left, self._least_free
        request[0, 0], request[1, 0] = -100 * asked[0], -100 * asked[1]
        request[2, 0], request[3, 0] = balanced
        parts, lean = self._parts, self._lean
        np.add(self._taken, self._request, out=parts)
        np.divide(parts, self._sizes, out=parts)
        if asked[0] > left[0] or asked[1] > left[1]:
            np.maximum(self._left, NONE, out=self._left)
        if balanced[0] > free[0] or balanced[1] > free[1]:
            np.minimum(self._halves, HALF, out=self._halves)
        np.subtract(lean, self._memory_half, out=lean)
        np.abs(lean, out=lean)
        np.subtract(ONE, lean, out=lean)
        np.multiply(lean, MOST, out=lean)
        np.floor(self._rounded, out=self._rounded)
        least, scores = self._memory_left, self._scores
        np.add(self._cpu_left, least, out=least)
        np.add(lean, self._before, out=lean)
        np.multiply(scores, HALF, out=scores)
        np.floor(scores, out=scores)
        if weights != (1, 1):
            np.multiply(scores, np.array(weights, dtype=np.float64)[:, None], out=scores)
        total: Floats = np.add(least, lean)
        return total

    def _catch_up(self) -> None:
        if self.rows.size > self._count:
            self._grow()
        moves = self._moves
        if len(moves) > self._seen:
            at = self.rows.at
            for row in moves[self._seen :]:
                position = at.get(row)
                if position is not None:
                    self._read(row, position)
            self._seen = len(moves)

    def _grow(self) -> None:
        """Read the rows that were added."""
        begin, count = self._count, self.rows.size
        if count > self._kept.shape[1]:
            kept = self._make(ROOM * count)
            kept[:, :begin] = self._kept[:, :begin]
            self._kept, self._kept_at = kept, kept.data
        self._taken, self._sizes, self._before = self._kept[:4, :count], self._kept[4:8, :count], self._kept[8, :count]
        self._parts = np.empty((4, count))
        self._cpu_left, self._memory_left, self._lean, self._memory_half = self._parts
        self._left, self._halves = self._parts[:2], self._parts[2:]
        self._rounded, self._scores = self._parts[:3], self._parts[1:3]
        kept_at, has = self._kept_at, self._has
        for position, row in enumerate(self.rows[begin:], begin):
            for number in (0, 1):
                size = has[number, row]
                kept_at[4 + number, position], kept_at[6 + number, position] = size, 2 * size
            self._read(row, position)
        self._count = count

    def _read(self, row: int, position: int) -> None:
        """Read what is taken of a row."""
        kept, scoring, held, has = self._kept_at, self._scoring, self._held, self._has
        cpu, memory, cpu_held, memory_held = has[0, row], has[1, row], held[0, row], held[1, row]
        cpu_left, memory_left = cpu - scoring[0, row], memory - scoring[1, row]
        kept[0, position], kept[1, position] = 100 * cpu_left, 100 * memory_left
        kept[2, position], kept[3, position] = cpu_held, memory_held
        kept[8, position] = EVEN - balance_of_two((cpu_held, memory_held), (cpu, memory))
        left, free = self._least_left, self._least_free
        if cpu_left < left[0]:
            left[0] = cpu_left
        if memory_left < left[1]:
            left[1] = memory_left
        if cpu - cpu_held < free[0]:
            free[0] = cpu - cpu_held
        if memory - memory_held < free[1]:
            free[1] = memory - memory_held

    @staticmethod
    def _make(length: int) -> Floats:
        """float64[9, row]: what is left of cpu and memory, a hundredfold, and what is held of them; the sizes that each
        of these is divided by; ``EVEN`` less the balance without the pod."""
        return np.empty((9, length))
