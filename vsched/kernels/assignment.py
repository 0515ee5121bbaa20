"""Whether tasks of several kinds fit on nodes together, and one way in which they do.

One kind, that with the most tasks, is the filler. For each vector of counts of the other kinds it is worked out, node
by node as in the knapsack problem, how many fillers fit beside so many others. It is exact for any number of resources.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.quantity import UNLIMITED
from vsched.model.nodes.table import Floats, Ints, Mask

CELLS_MAX = 1 << 14
"""Vectors of counts, at most, that are told apart; the work for one node grows with them."""
CELLS_OF_A_VECTOR = 512
"""To begin with one vector of what a node takes costs as much as to look at so many cells."""
NEVER = 1 << 60
"""More fillers than there ever are."""


def product(left: Ints, right: Ints) -> Ints:
    """The matrix product of counts and amounts; UNLIMITED where it is more, since absurd requests go beyond int64."""
    found: Ints = left @ right
    return np.where(left.astype(np.float64) @ right.astype(np.float64) < UNLIMITED, found, UNLIMITED)


class TaskTable:
    """Tasks by kind, as vectors of counts."""

    def __init__(self, requests: Ints, counts: Sequence[int]) -> None:
        """``requests``: int64[kinds, resources], what a task of each kind asks for; ``counts``: how many there are."""
        self.filler = max(range(len(counts)), key=lambda kind: counts[kind])
        """The kind with the most tasks."""
        self.others = [kind for kind in range(len(counts)) if kind != self.filler]
        self.shape = tuple(counts[kind] + 1 for kind in self.others)
        """Of an array with a cell for each vector of counts of the other kinds."""
        self.levels: Ints = np.indices(self.shape).reshape(len(self.others), math.prod(self.shape))
        """int64[other kinds, vectors]: the vectors."""
        self.use: Ints = product(requests[self.others].T, self.levels)
        """int64[resources, vectors]: what so many tasks ask for."""
        self.request: Ints = requests[self.filler]
        """int64[resources]: what a filler asks for."""
        self.fillers, self.tasks = counts[self.filler], sum(counts)


class RoomOnNodes(NamedTuple):
    """What nodes have for these tasks."""

    free: Ints
    """int64[nodes, resources]; where pods hold more than there is, 0: others ask for other resources."""
    most: Ints
    """int64[nodes, kinds]: how many tasks of a kind may be on a node, whatever else is there; 0 where none may."""


class Assignment(NamedTuple):
    """What came of a search."""

    places: tuple[tuple[int, int, int], ...] | None
    """How many tasks go where: row, kind and count; None where they do not fit, or it is unknown."""
    cells: int
    """The work done: how many vectors of counts were looked at."""
    complete: bool = True
    """False where the search ended before it was known whether the tasks fit."""


class _Stage(NamedTuple):
    """What a node added."""

    row: int
    vectors: Ints
    """int64[.., other kinds]: what it may take, no vector of no use."""
    fillers: Ints
    """int64[..]: how many fillers beside each."""
    before: Ints
    """int64[vectors]: how many fillers fitted on the nodes before it, beside each vector; negative for none."""


def digest_of(*amounts: Ints | Floats | Mask) -> bytes:
    """Equal for equal questions: a gang that waits asks the same in each session, mostly of nodes with equal room."""
    digest = blake2b(digest_size=16)
    for one in amounts:
        digest.update(repr(one.shape).encode())  # else two questions could be the same bytes, parted otherwise
        digest.update(one.tobytes())
    return digest.digest()


def too_many(counts: Sequence[int]) -> bool:
    """Whether there are more vectors of counts than are told apart."""
    cells = 1
    for count in sorted(counts)[:-1]:
        cells *= count + 1
        if cells > CELLS_MAX:
            return True
    return False


def assign(tasks: TaskTable, room: RoomOnNodes, needed: Ints, cells_max: int) -> Assignment:
    """Assign tasks to nodes, looking at about ``cells_max`` vectors of counts at most.

    ``needed`` (int64[vectors]) says how many fillers there have to be beside each vector of others; ``NEVER`` where
    these others are too few.
    """
    best = np.full(tasks.levels.shape[1], -NEVER)
    best[0] = 0
    needed = needed.reshape(tasks.shape)
    best = best.reshape(tasks.shape)
    stages: list[_Stage] = []
    cells = 0
    for row in _roomiest_first(tasks, room):
        if (best >= needed).any():
            break
        vectors, fillers = _takes(tasks, room.free[row], room.most[row])
        cells += (best.size + CELLS_OF_A_VECTOR) * (len(vectors) + 1)
        if cells > cells_max:
            return Assignment(None, cells_max, complete=False)  # this node was not looked at
        sums = [best[_less(tasks.shape, vector)] + count for vector, count in zip(vectors, fillers, strict=True)]
        more = np.minimum(np.maximum.reduce(sums), tasks.fillers)
        more = np.where(more < 0, -NEVER, more)
        if (more > best).any():
            stages.append(_Stage(row, vectors, fillers, best))
            best = more
    if not (best >= needed).any():
        return Assignment(None, cells)
    return Assignment(tuple(_traced(tasks, best, needed, stages)), cells)


def _roomiest_first(tasks: TaskTable, room: RoomOnNodes) -> Iterator[int]:
    """The rows, those first that can take most tasks; of equal nodes, only so many as there are tasks."""
    alike: dict[bytes, list[int]] = {}
    for row, amounts in enumerate(np.hstack([room.free, room.most])):
        alike.setdefault(amounts.tobytes(), []).append(row)
    sizes = room.most.sum(axis=1)
    for rows in sorted(alike.values(), key=lambda rows: (-sizes[rows[0]], rows[0])):
        if sizes[rows[0]]:
            yield from rows[: tasks.tasks]


def _takes(tasks: TaskTable, free: Ints, most: Ints) -> tuple[Ints, Ints]:
    """What a node may take: vectors of other kinds (int64[.., other kinds]), and how many fillers beside each.

    Left out are vectors beside which no more fillers fit than beside a larger one.
    """
    left = free[:, None] - tasks.use
    fits = (left >= 0).all(axis=0) & (tasks.levels <= most[tasks.others][:, None]).all(axis=0)
    fillers = np.full(tasks.levels.shape[1], min(int(most[tasks.filler]), tasks.fillers))
    for amount, rest in zip(tasks.request.tolist(), left, strict=True):
        if amount:
            fillers = np.minimum(fillers, rest // amount)
    table = np.where(fits, fillers, -1).reshape(tasks.shape)
    useful: Mask = table >= 0
    for kind in range(table.ndim):
        inner, outer = [slice(None)] * table.ndim, [slice(None)] * table.ndim
        inner[kind], outer[kind] = slice(None, -1), slice(1, None)
        useful[tuple(inner)] &= table[tuple(outer)] < table[tuple(inner)]
    return np.argwhere(useful), table[useful]


def _less(shape: tuple[int, ...], vector: Ints) -> tuple[Ints, ...]:
    """The index of each vector less this one, and 0 where that would be negative."""
    return np.ix_(*(np.maximum(np.arange(size) - less, 0) for size, less in zip(shape, vector, strict=True)))


def _traced(tasks: TaskTable, best: Ints, needed: Ints, stages: Sequence[_Stage]) -> Iterator[tuple[int, int, int]]:
    """The way to one of the vectors with enough fillers, one with the fewest tasks, back from the last node."""
    totals = np.where(best >= needed, tasks.levels.sum(axis=0).reshape(tasks.shape) + np.maximum(needed, 0), NEVER)
    at = int(totals.argmin())
    left, fillers = tasks.levels[:, at], max(0, int(needed.flat[at]))
    for row, vectors, counts, before in reversed(stages):
        rests = np.maximum(left - vectors, 0)
        took = int((before[tuple(rests.T)] + counts >= fillers).argmax())
        for kind, count in zip(tasks.others, np.minimum(vectors[took], left).tolist(), strict=True):
            if count:
                yield row, kind, count
        left = rests[took]
        count = min(int(counts[took]), fillers)
        if count:
            yield row, tasks.filler, count
        fillers -= count
