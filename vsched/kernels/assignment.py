"""Whether tasks of several kinds fit on nodes together, and one way in which they do.

For each node, the counts of tasks that fit on it form a set that holds, with each vector, all smaller ones. What nodes
can take together is the sum of these sets (Minkowski), worked out node by node as in the knapsack problem, over the
counts that are asked for. It is exact for any number of resources.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Ints, Mask

CELLS_MAX = 1 << 14
"""Vectors of counts, at most, that are told apart; the work for one node grows with them."""


class Demand(NamedTuple):
    """Tasks by kind."""

    requests: Ints
    """int64[kinds, resources]: what one task of each kind asks for."""
    counts: tuple[int, ...]
    """How many tasks of each kind there are."""


class Room(NamedTuple):
    """What nodes have for these tasks."""

    free: Ints
    """int64[nodes, resources]"""
    most: Ints
    """int64[nodes, kinds]: how many tasks of a kind may be on a node, whatever else is there; 0 where none may."""


class Assignment(NamedTuple):
    """What came of a search."""

    counts: Ints | None
    """int64[nodes, kinds]: how many tasks of each kind go to each node; None where they do not fit, or it is unknown.
    """
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
    shape = wanted.shape
    levels = np.indices(shape).reshape(len(shape), -1)
    use = demand.requests.T @ levels
    reached = np.zeros(shape, dtype=np.bool_)
    reached[(0,) * len(shape)] = True
    stages: list[tuple[int, Ints, Mask]] = []
    cells = 0
    for row, fits in _by_size(room, levels, use):
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
    return Assignment(_traced(room, levels, reached & wanted, stages), cells)


def _by_size(room: Room, levels: Ints, use: Ints) -> Iterator[tuple[int, Mask]]:
    """The nodes with the vectors of counts that fit on them (bool[vectors]), those with most vectors first.

    Of equal nodes, only so many as there are tasks.
    """
    alike, firsts, inverse = np.unique(
        np.hstack([room.free, room.most]), axis=0, return_index=True, return_inverse=True
    )
    fits = np.ones((len(alike), levels.shape[1]), dtype=np.bool_)
    resources = room.free.shape[1]
    for column in range(resources):
        fits &= use[column] <= alike[:, column, None]
    for kind in range(len(levels)):
        fits &= levels[kind] <= alike[:, resources + kind, None]
    sizes = fits.sum(axis=1)
    tasks = int(levels.sum(axis=0).max())
    rows = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[rows], np.arange(len(alike) + 1))
    for one in sorted(range(len(alike)), key=lambda at: (-sizes[at], firsts[at])):
        if sizes[one] > 1:
            yield from zip(rows[starts[one] : starts[one + 1]][:tasks].tolist(), repeat(fits[one]), strict=False)


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


def _traced(room: Room, levels: Ints, found: Mask, stages: list[tuple[int, Ints, Mask]]) -> Ints:
    """int64[nodes, kinds]: the way to one of the vectors ``found``, back from the last node."""
    cells = np.flatnonzero(found)
    left = levels[:, cells[levels[:, cells].sum(axis=0).argmin()]]
    counts = np.zeros(room.most.shape, dtype=np.int64)
    for row, tops, before in reversed(stages):
        rests = np.maximum(left - tops, 0)
        top = tops[int(before[tuple(rests.T)].argmax())]
        counts[row] = np.minimum(top, left)
        left = left - counts[row]
    return counts
