"""Quotas of queues in a tree: what is left of stated limits where they contradict each other, and what they leave.

Arrays are ``float64[queue, resource]``; whole numbers below 2**53 are exact in them. Row 0 is the root of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Floats, Ints, Mask


class Tree(NamedTuple):
    """Which row is below which."""

    parents: Ints
    """int64[queue]: the row of each row's parent; the root's own is 0."""
    levels: tuple[Ints, ...]
    """Rows at each depth below the root, nearest to it first."""


class Quota(NamedTuple):
    """What queues state, or what of it is in force."""

    guarantee: Floats
    deserved: Floats
    capability: Floats
    """Infinity where there is no limit."""


class Stated(NamedTuple):
    """Which amounts a queue names at all, ``bool[queue, resource]``: a queue does not limit what it does not name."""

    guarantee: Mask
    deserved: Mask


def tree_of(parents: Sequence[int]) -> Tree:
    """The tree of these parents, by row; every row is preceded by its parent, and row 0 is the root."""
    depths = [0] * len(parents)
    for row, parent in enumerate(parents[1:], start=1):
        depths[row] = depths[parent] + 1
    levels: list[list[int]] = [[] for _ in range(max(depths))]
    for row, depth in enumerate(depths[1:], start=1):
        levels[depth - 1].append(row)
    return Tree(np.array(parents, dtype=np.int64), tuple(np.array(rows, dtype=np.int64) for rows in levels))


def dense(amounts: Iterable[tuple[int, int]], width: int) -> Floats:
    """Amounts as a row; nothing where no amount is named."""
    row = np.zeros(width)
    for column, value in amounts:
        row[column] = value
    return row


def limit_of(capability: Amounts, width: int) -> Floats:
    """A capability as a row: infinity where none is named; of what is given as none there is none."""
    row = np.full(width, np.inf)
    for column, value in capability:
        row[column] = value
    return row


def in_force(quota: Quota, stated: Stated, tree: Tree) -> Quota:
    """What of the stated amounts is in force once no queue has more than its parent passes on.

    Capability is at most that of the parent. Deserved is at least the guarantee, and what the children of a queue
    deserve together is at most what the queue does; guarantees likewise, and at most what their parent deserves.
    Where children claim more, each keeps its guarantee and the rest is cut in proportion. A queue that names no amount
    of a resource passes on what its own parent leaves to it. What the root deserves and guarantees is the sum of what
    its children do.
    """
    capability = quota.capability.copy()
    for rows in tree.levels:
        capability[rows] = np.minimum(capability[rows], capability[tree.parents[rows]])
    nothing = np.zeros_like(quota.guarantee)
    at_most = np.where(stated.deserved & ~stated.guarantee, quota.deserved, np.inf)
    kept = _granted(_claims(quota.guarantee, stated.guarantee, (nothing, at_most), tree), nothing, tree)
    guarantee = np.minimum(quota.guarantee, kept)
    claims = _claims(quota.deserved, stated.deserved, (kept, np.full_like(kept, np.inf)), tree)
    deserved = np.minimum(np.maximum(quota.deserved, guarantee), _granted(claims, kept, tree))
    first = tree.levels[0] if tree.levels else np.empty(0, dtype=np.int64)
    guarantee[0], deserved[0] = guarantee[first].sum(axis=0), deserved[first].sum(axis=0)
    return Quota(guarantee, deserved, capability)


def real_limits(top: Floats, quota: Quota, tree: Tree) -> Floats:
    """What each queue may hold at most: what its parent may, less what siblings are guaranteed (reference 4.6).

    What a queue is guaranteed is guaranteed by all above it as well, as far as they may hold it: else it would be lent
    to those beside them. ``top`` is ``float64[resource]``: what there is to be had at the root. The root's own limit is
    its capability.
    """
    guarantee = np.minimum(_summed(quota.guarantee, tree), np.maximum(quota.guarantee, quota.capability))
    limits = np.empty_like(quota.capability)
    limits[0] = np.minimum(top, quota.capability[0])
    for rows in tree.levels:
        parents = tree.parents[rows]
        promised = np.zeros_like(limits)
        np.add.at(promised, parents, guarantee[rows])
        free = np.maximum(limits[parents] - promised[parents], 0.0)
        limits[rows] = np.minimum(free + guarantee[rows], quota.capability[rows])
    limits[0] = quota.capability[0]
    return limits


def _claims(own: Floats, named: Mask, bounds: tuple[Floats, Floats], tree: Tree) -> Floats:
    """What each row asks of its parent, within bounds: its own amount where it names one, else what is asked of it."""
    least, most = bounds
    claims = np.zeros_like(own)
    asked = np.zeros_like(own)
    for rows in reversed(tree.levels):
        claimed = np.where(named[rows], own[rows], asked[rows])
        claims[rows] = np.maximum(np.minimum(claimed, most[rows]), least[rows])
        np.add.at(asked, tree.parents[rows], claims[rows])
    return claims


def _summed(guarantee: Floats, tree: Tree) -> Floats:
    """Each row's own amount, or what its children come to where that is more."""
    found = guarantee.copy()
    below = np.zeros_like(found)
    for rows in reversed(tree.levels):
        found[rows] = np.maximum(found[rows], below[rows])
        np.add.at(below, tree.parents[rows], found[rows])
    return found


def _granted(claims: Floats, floors: Floats, tree: Tree) -> Floats:
    """What each row gets of its claim so that no row passes on more than it gets; the root passes on any amount."""
    granted = claims.copy()
    granted[0] = np.inf
    for rows in tree.levels:
        parents = tree.parents[rows]
        asked = np.zeros_like(claims)
        np.add.at(asked, parents, claims[rows])
        for parent, column in np.argwhere(asked > granted):
            children = rows[parents == parent]
            granted[children, column] = _cut(
                claims[children, column].tolist(), floors[children, column].tolist(), granted[parent, column]
            )
    return granted


def _cut(claims: Sequence[float], floors: Sequence[float], room: float) -> list[int]:
    """Claims cut down to ``room`` together: each keeps its floor, the rest in proportion, rounded down."""
    least = [int(floor) for floor in floors]
    excess = [int(claim) - floor for claim, floor in zip(claims, least, strict=True)]
    left, whole = max(0, int(room) - sum(least)), max(1, sum(excess))
    return [floor + part * left // whole for floor, part in zip(least, excess, strict=True)]
