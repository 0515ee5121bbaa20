"""Whether tasks of several kinds fit on nodes together, and one way in which they do.

For each node, the counts of tasks that fit on it form a set that holds, with each vector, all smaller ones. What nodes
can take together is the sum of these sets (Minkowski), worked out node by node as in the knapsack problem, over the
counts that are asked for. It is exact for any number of resources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Ints, Mask

CELLS_MAX = 1 << 14
"""Vectors of counts, at most, that are told apart; the work for one node grows with them."""


class Demand:
    """Tasks by kind."""

    def __init__(self, requests: Ints, counts: tuple[int, ...]) -> None:
        """``requests``: int64[kinds, resources], what a task of each kind asks for; ``counts``: how many there are."""
        self.shape = tuple(count + 1 for count in counts)
        """Of an array with a cell for each vector of counts."""
        self.levels: Ints = np.indices(self.shape).reshape(len(counts), -1)
        """int64[kinds, vectors]: the vectors of counts."""
        self.use: Ints = requests.T @ self.levels
        """int64[resources, vectors]: what so many tasks ask for."""
        self.tasks = sum(counts)


class Room(NamedTuple):
    """What nodes have for these tasks."""

    free: Ints
    """int64[nodes, resources]"""
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


def too_many(counts: tuple[int, ...]) -> bool:
    """Whether there are more vectors of counts than are told apart."""
    cells = 1
    for count in counts:
        cells *= count + 1
        if cells > CELLS_MAX:
            return True
    return False


def assign(demand: Demand, room: Room, wanted: Mask, cells_max: int) -> Assignment:
    """Assign so many tasks to nodes that ``wanted`` holds, looking at about ``cells_max`` vectors of counts at most.

    ``wanted`` (bool[count + 1 of each kind]) has, with each vector, all larger ones. Of vectors that fit, one with the
    fewest tasks is taken.
    """
    shape = demand.shape
    reached = np.zeros(shape, dtype=np.bool_)
    reached[(0,) * len(shape)] = True
    stages: list[tuple[int, Ints, Mask]] = []
    cells = 0
    for row, fits in _by_size(demand, room):
        if wanted[reached].any():
            break
        tops = _maximal(fits.reshape(shape))
        cells += reached.size * (len(tops) + 1)
        if cells > cells_max:
            return Assignment(None, cells, complete=False)
        before = reached
        reached = np.logical_or.reduce([before[_less(shape, top)] for top in tops])
        if (reached == before).all():
            continue
        stages.append((row, tops, before))
    if not (reached & wanted).any():
        return Assignment(None, cells)
    return Assignment(tuple(_traced(demand.levels, reached & wanted, stages)), cells)


def _by_size(demand: Demand, room: Room) -> Iterator[tuple[int, Mask]]:
    """The nodes with the vectors of counts that fit on them (bool[vectors]), those with most vectors first.

    Of equal nodes, only so many as there are tasks.
    """
    alike: dict[bytes, list[int]] = {}
    for row, amounts in enumerate(np.hstack([room.free, room.most])):
        alike.setdefault(amounts.tobytes(), []).append(row)
    firsts = [rows[0] for rows in alike.values()]
    enough = demand.use <= room.free[firsts][:, :, None]
    fits: Mask = np.logical_and(enough.all(axis=1), (demand.levels <= room.most[firsts][:, :, None]).all(axis=1))
    sizes = fits.sum(axis=1).tolist()
    groups = sorted(zip(sizes, alike.values(), fits, strict=True), key=lambda group: (-group[0], group[1][0]))
    for size, rows, vectors in groups:
        if size > 1:
            yield from ((row, vectors) for row in rows[: demand.tasks])


def _maximal(fits: Mask) -> Ints:
    """int64[.., kinds]: the vectors that fit and to which no task of any kind can be added."""
    found = fits.copy()
    for kind in range(fits.ndim):
        inner = [slice(None)] * fits.ndim
        inner[kind] = slice(None, -1)
        outer = [slice(None)] * fits.ndim
        outer[kind] = slice(1, None)
        found[tuple(inner)] &= ~fits[tuple(outer)]
    return np.argwhere(found)


def _less(shape: tuple[int, ...], top: Ints) -> tuple[Ints, ...]:
    """The index of each vector less ``top``, and 0 where that would be negative."""
    return np.ix_(*(np.maximum(np.arange(size) - less, 0) for size, less in zip(shape, top, strict=True)))


def _traced(levels: Ints, found: Mask, stages: Sequence[tuple[int, Ints, Mask]]) -> Iterator[tuple[int, int, int]]:
    """The way to one of the vectors ``found``, back from the last node."""
    cells = np.flatnonzero(found)
    left = levels[:, cells[levels[:, cells].sum(axis=0).argmin()]]
    for row, tops, before in reversed(stages):
        rests = np.maximum(left - tops, 0)
        top = tops[int(before[tuple(rests.T)].argmax())]
        counts = np.minimum(top, left)
        left = left - counts
        yield from ((row, kind, count) for kind, count in enumerate(counts.tolist()) if count)
