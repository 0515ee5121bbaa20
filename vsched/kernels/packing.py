"""Places tasks of many kinds on nodes by good guesses, where their counts are too many to be told apart.

Kinds are placed one after the other, on the nodes that they leave the least room on, or whose free amounts are most
like what they ask for. Where tasks of a kind find no room, the kind comes earlier in the next try, as in squeaky wheel
optimization (Joslin and Clements, 1999). It finds ways; it never finds out that there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vsched.kernels.assignment import Assignment, RoomOnNodes
from vsched.model.nodes.table import Floats, Ints

CELLS_OF_AN_AMOUNT = 4
"""To look at an amount of a node costs as much as at so many vectors of counts (``kernels.assignment``)."""
AMOUNTS_OF_A_PICK = 64
"""To choose a node costs as much as to look at so many amounts, and at all that nodes have."""


def pack(
    requests: Ints, counts: Sequence[int], room: RoomOnNodes, is_enough: Callable[[Sequence[int]], bool], cells_max: int
) -> Assignment:
    """Place tasks, looking at about ``cells_max`` amounts at most; where no way is found, it is not complete.

    ``requests``: int64[kinds, resources]; ``counts``: tasks of each kind; ``is_enough`` says of the number of tasks
    placed of each kind whether it is enough.
    """
    scale = 1.0 / np.maximum(room.free.max(axis=0, initial=0), 1)
    asked = requests * scale
    nodes = (room.most > 0).sum(axis=0)
    sizes: list[Floats] = [asked.max(axis=1), asked.sum(axis=1), asked.max(axis=1) / np.maximum(nodes, 1)]
    orders = [np.argsort(-size, kind="stable").tolist() for size in sizes]
    amounts = (room.free.size + AMOUNTS_OF_A_PICK) * CELLS_OF_AN_AMOUNT
    cells, seen = 0, set[tuple[tuple[int, ...], int]]()
    at = 0
    while at < len(orders):
        order, way = orders[at], at % 2
        at += 1
        for tightest in (way == 0, way != 0):
            key = tuple(order), int(tightest)
            if key in seen:
                continue
            seen.add(key)
            most = (cells_max - cells) // amounts + 1
            places, left, picks = _placed(asked, requests, counts, room, scale, order, most, tightest=tightest)
            cells += picks * amounts
            if is_enough([count - rest for count, rest in zip(counts, left, strict=True)]):
                return Assignment(tuple(places), cells)
            if cells > cells_max:
                return Assignment(None, cells, complete=False)
            failed = [kind for kind in order if left[kind]]
            orders.append(_earlier(order, failed))
    return Assignment(None, cells, complete=False)


def better_placed(
    places: Sequence[tuple[int, int, int]], requests: Ints, room: RoomOnNodes, ranks: Ints
) -> list[tuple[int, int, int]]:
    """The same tasks, each moved in turn to the node that ranks highest of those with room beside all the others.

    ``ranks``: int64[nodes, kinds], smaller is better. ``places`` are those of ``pack``.
    """
    free, most, found = room.free.copy(), room.most.copy(), list[tuple[int, int, int]]()
    for row, kind, count in places:
        free[row] -= requests[kind] * count
        most[row, kind] -= count
    for row, kind, count in places:
        request, left = requests[kind], count
        used = request > 0
        order = np.flatnonzero((ranks[:, kind] < ranks[row, kind]) & (free >= request).all(axis=1))
        for to in order[np.argsort(ranks[order, kind], kind="stable")].tolist():
            moved = min(left, int(most[to, kind]), *(free[to][used] // request[used]).tolist())
            if moved <= 0:
                continue
            free[to] -= request * moved
            free[row] += request * moved
            most[to, kind] -= moved
            most[row, kind] += moved
            found.append((to, kind, moved))
            left -= moved
            if not left:
                break
        if left:
            found.append((row, kind, left))
    return found


def _earlier(order: Sequence[int], failed: Sequence[int]) -> list[int]:
    """The order with the failed kinds a third of the way further to its head."""
    step = max(1, len(order) // 3)
    rank = {kind: at - (step + 0.5) * (kind in failed) for at, kind in enumerate(order)}
    return sorted(order, key=lambda kind: rank[kind])


def _placed(
    asked: Floats,
    requests: Ints,
    counts: Sequence[int],
    room: RoomOnNodes,
    scale: Floats,
    order: Sequence[int],
    picks_max: int,
    *,
    tightest: bool,
) -> tuple[list[tuple[int, int, int]], list[int], int]:
    """One try: where tasks went, how many of each kind are left, and how many nodes were chosen."""
    free, left, picks = room.free.copy(), list(counts), 0
    places: list[tuple[int, int, int]] = []
    for kind in order:
        request, most = requests[kind], room.most[:, kind].copy()
        used = request > 0
        while left[kind] and picks < picks_max:
            picks += 1
            fits = (most > 0) & (free >= request).all(axis=1)
            rows = np.flatnonzero(fits)
            if not len(rows):
                break
            if tightest:
                score = -((free[rows] - request) * scale).sum(axis=1)
            else:
                amounts = free[rows] * scale
                score = amounts @ asked[kind] / np.maximum(np.linalg.norm(amounts, axis=1), 1e-12)
            row = int(rows[int(score.argmax())])
            # The tightest node is the tightest still, until it is full.
            count = min(left[kind], int(most[row]), *(free[row][used] // request[used])) if tightest else 1
            free[row] -= request * count
            most[row] -= count
            left[kind] -= count
            places.append((row, kind, count))
    return places, left, picks
