"""Quotas of queues in a hierarchy: makes the stated guarantees, deserved amounts and capabilities consistent.

Arrays are ``float64[queue, resource]``, which hold integers below 2**53 exactly. Row 0 is the root of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Floats, Ints, Mask


class Tree(NamedTuple):
    """The hierarchy of queues by row."""

    parents: Ints
    """int64[queue]: the row of each row's parent; the root's own is 0."""
    levels: tuple[Ints, ...]
    """The rows at each depth below the root, the level next to the root first."""


class QueueQuota(NamedTuple):
    """The amounts that queues state, or those in force."""

    guarantee: Floats
    deserved: Floats
    capability: Floats
    """Infinity where there is no limit."""


class Stated(NamedTuple):
    """Which amounts a queue states, ``bool[queue, resource]``. An amount that is not stated sets no limit."""

    guarantee: Mask
    deserved: Mask


def tree_of(parents: Sequence[int]) -> Tree:
    """The tree with these parents by row. Every parent must come before its children, and row 0 is the root."""
    depths = [0] * len(parents)
    for row, parent in enumerate(parents[1:], start=1):
        depths[row] = depths[parent] + 1
    levels: list[list[int]] = [[] for _ in range(max(depths))]
    for row, depth in enumerate(depths[1:], start=1):
        levels[depth - 1].append(row)
    return Tree(np.array(parents, dtype=np.int64), tuple(np.array(rows, dtype=np.int64) for rows in levels))


def dense(amounts: Iterable[tuple[int, int]], width: int) -> Floats:
    """Amounts as an array row, ``float64[width]``; 0 where no amount is given."""
    row = np.zeros(width)
    for column, value in amounts:
        row[column] = value
    return row


def limit_of(capability: Amounts, width: int) -> Floats:
    """A capability as an array row, ``float64[width]``: infinity where no amount is given; 0 stays 0."""
    row = np.full(width, np.inf)
    for column, value in capability:
        row[column] = value
    return row


def in_force(quota: QueueQuota, stated: Stated, tree: Tree) -> QueueQuota:
    """The amounts in force: the stated amounts, reduced so that no queue has more than its parent passes on.

    - A capability is at most that of the parent.
    - A deserved amount is at least the guarantee. The children of a queue together deserve at most what the queue does.
    - The children of a queue are together guaranteed at most what the queue is, and at most what it deserves.
    - Where children claim more, each keeps its guarantee and the rest is reduced in proportion.
    - A queue that states no amount of a resource passes on what its own parent leaves to it.
    - The deserved amount and the guarantee of the root are the sums over its children.
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
    return QueueQuota(guarantee, deserved, capability)


def real_limits(top: Floats, quota: QueueQuota, tree: Tree) -> Floats:
    """The most each queue may hold: what its parent may hold, less what siblings are guaranteed.

    A guarantee of a queue also counts as a guarantee of all queues above it, as far as they may hold it; otherwise
    their siblings could use it. ``top`` is ``float64[resource]``: the amounts available at the root. The root's own
    limit is its capability.
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
    """What each row claims from its parent: its own amount where it states one, else its children's claims; bounded."""
    least, most = bounds
    claims = np.zeros_like(own)
    asked = np.zeros_like(own)
    for rows in reversed(tree.levels):
        claimed = np.where(named[rows], own[rows], asked[rows])
        claims[rows] = np.maximum(np.minimum(claimed, most[rows]), least[rows])
        np.add.at(asked, tree.parents[rows], claims[rows])
    return claims


def _summed(guarantee: Floats, tree: Tree) -> Floats:
    """The larger of each row's own amount and the sum over its children."""
    found = guarantee.copy()
    below = np.zeros_like(found)
    for rows in reversed(tree.levels):
        found[rows] = np.maximum(found[rows], below[rows])
        np.add.at(below, tree.parents[rows], found[rows])
    return found


def _granted(claims: Floats, floors: Floats, tree: Tree) -> Floats:
    """The claims, reduced so that the children of a row together get no more than the row; the root has no limit."""
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
    """Claims reduced so that their sum is ``room``: each keeps its floor, and the rest is divided in proportion.

    Amounts are rounded down.
    """
    least = [int(floor) for floor in floors]
    excess = [int(claim) - floor for claim, floor in zip(claims, least, strict=True)]
    left, whole = max(0, int(room) - sum(least)), max(1, sum(excess))
    return [floor + part * left // whole for floor, part in zip(least, excess, strict=True)]
