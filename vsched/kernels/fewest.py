"""The fewest pods that leave nodes so that tasks of several kinds fit there together, by amounts.

Worked out node by node, as in the knapsack problem, for each vector of counts of the kinds. The number may be too low,
but is never too high: on one node, each resource is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Ints, Mask

CELLS_OF_A_VECTOR = 512
"""To begin with one vector of what a node takes costs as much as to look at so many cells."""
NEVER = 1 << 40
"""More pods than there ever are."""


class Offer(NamedTuple):
    """A node that tasks may go to."""

    free: Ints
    """int64[resources]: what it has; negative where pods hold more than there is."""
    pods: Ints
    """int64[pods, resources]: what each pod holds that may leave."""
    may: Mask
    """bool[kinds]: the tasks that may go there."""


class Departures(NamedTuple):
    """The pods that leave one node, and what comes there."""

    node: int
    """The position of its offer."""
    pods: int
    use: Ints
    """int64[resources]: what the tasks that come ask for together."""


class Fewest(NamedTuple):
    """What came of a search."""

    departures: tuple[Departures, ...] | None
    """From the nodes that tasks go to; None where the tasks do not fit, or it is unknown."""
    cells: int
    """The work done: how many vectors of counts were looked at."""

    @property
    def pods(self) -> int:
        """How many pods leave."""
        return sum(one.pods for one in self.departures or ())


class _Stage(NamedTuple):
    """What a node added."""

    node: int
    vectors: Ints
    costs: Ints
    before: Ints
    """int64[vectors]: how many pods had to leave the nodes before it, at least, for so many tasks."""


class FewestPods:
    """The question for one set of tasks, which is asked of changing nodes."""

    def __init__(
        self,
        requests: Ints,
        counts: Sequence[int],
        total: int,
        least: Sequence[tuple[Sequence[int], int]] = (),
        most: int = NEVER - 1,
    ) -> None:
        """``requests``: int64[kinds, resources]; ``counts``: how many tasks of each kind there are.

        ``total`` tasks are enough, if there are so many among these kinds (``least``) each time. No more than ``most``
        pods leave one node; where that is a bound, answers need not be the best.
        """
        self._most = most
        self._shape = tuple(count + 1 for count in counts)
        self._levels: Ints = np.indices(self._shape).reshape(len(counts), -1)
        self._requests = requests
        self._use: Ints = requests.T @ self._levels
        self._enough: Mask = self._levels.sum(axis=0) >= total
        for kinds, number in least:
            self._enough &= self._levels[list(kinds)].sum(axis=0) >= number
        self._tasks = sum(counts)
        self._known: dict[bytes, tuple[Ints, Ints]] = {}
        """By what a node offers: what it may take, and how many pods leave it for that."""

    def find(self, offers: Sequence[Offer], cells_max: int) -> Fewest:
        """The fewest pods; of equal answers one with the first nodes. About ``cells_max`` vectors are looked at."""
        best: Ints = np.full(self._shape, NEVER)
        best.flat[0] = 0
        enough, stages, cells = self._enough.reshape(self._shape), list[_Stage](), 0
        for node, (vectors, costs) in self._distinct(offers):
            cells += (best.size + CELLS_OF_A_VECTOR) * (len(vectors) + 1)
            if cells > cells_max:
                return Fewest(None, cells)
            ways = (best[_less(self._shape, vector)] + cost for vector, cost in zip(vectors, costs, strict=True))
            fewer = np.minimum.reduce([best, *ways])
            if (fewer < best).any():
                stages.append(_Stage(node, vectors, costs, best))
                best = fewer
            if not best[enough].min(initial=NEVER):
                break
        totals = np.where(enough, best, NEVER)
        if totals.min() >= NEVER:
            return Fewest(None, cells)
        # Of these, one with the fewest tasks.
        sizes = np.where(totals == totals.min(), self._levels.sum(axis=0).reshape(self._shape), NEVER)
        return Fewest(tuple(self._traced(int(sizes.argmin()), best, stages)), cells)

    def _distinct(self, offers: Sequence[Offer]) -> Iterator[tuple[int, tuple[Ints, Ints]]]:
        """What nodes may take, by position; of equal ones, only so many as there are tasks."""
        seen: dict[bytes, int] = {}
        for node, offer in enumerate(offers):
            stamp = offer.free.tobytes() + offer.may.tobytes() + offer.pods.tobytes()
            seen[stamp] = seen.get(stamp, 0) + 1
            if seen[stamp] > self._tasks:
                continue
            if stamp not in self._known:
                self._known[stamp] = self._takes(offer)
            if len(self._known[stamp][0]):
                yield node, self._known[stamp]

    def _takes(self, offer: Offer) -> tuple[Ints, Ints]:
        """What a node may take (int64[.., kinds]), and how many pods leave it for that.

        Left out is what costs no less than something larger.
        """
        costs: Ints = np.zeros(self._levels.shape[1], dtype=np.int64)
        for use, free, held in zip(self._use, offer.free, offer.pods.T, strict=True):
            sums = np.concatenate(([0], np.cumsum(np.sort(held)[::-1])))
            number = np.searchsorted(sums, np.where(use > 0, use - free, 0))
            np.maximum(costs, np.where(number == len(sums), NEVER, number), out=costs)
        costs[(costs > self._most) | self._levels[~offer.may].any(axis=0)] = NEVER
        table = costs.reshape(self._shape)
        useful: Mask = table < NEVER
        for kind in range(table.ndim):
            inner, outer = [slice(None)] * table.ndim, [slice(None)] * table.ndim
            inner[kind], outer[kind] = slice(None, -1), slice(1, None)
            useful[tuple(inner)] &= table[tuple(outer)] > table[tuple(inner)]
        useful.flat[0] = False
        return np.argwhere(useful), table[useful]

    def _traced(self, at: int, best: Ints, stages: Sequence[_Stage]) -> Iterator[Departures]:
        """The way to a vector, back from the last node."""
        left = self._levels[:, at]
        total = int(best[tuple(left)])
        for node, vectors, costs, before in reversed(stages):
            if before[tuple(left)] == total:
                continue
            rests = np.maximum(left - vectors, 0)
            took = int((before[tuple(rests.T)] + costs == total).argmax())
            yield Departures(node, int(costs[took]), self._requests.T @ np.minimum(vectors[took], left))
            left, total = rests[took], total - int(costs[took])


def _less(shape: tuple[int, ...], vector: Ints) -> tuple[Ints, ...]:
    """The index of each vector less this one, and 0 where that would be negative."""
    return np.ix_(*(np.maximum(np.arange(size) - less, 0) for size, less in zip(shape, vector, strict=True)))


def pick(departures: Departures, offer: Offer) -> list[int] | None:
    """Positions of so many pods of a node whose departure is enough, the first ones that do; None where none are."""
    asked = departures.use > 0
    lacking = np.where(asked, departures.use - offer.free, 0)
    found: list[int] = []
    for at, held in enumerate(offer.pods):
        if (lacking <= 0).all():
            break
        more = departures.pods - len(found) - 1
        rest, others = np.where(asked, lacking - held, 0), offer.pods[at + 1 :]
        if (rest <= np.sort(others, axis=0)[::-1][: max(0, more)].sum(axis=0)).all():
            found.append(at)
            lacking = rest
    return found if (lacking <= 0).all() else None


class LargestFirst:
    """Pods that may leave nodes, those first that hold most of one resource."""

    def __init__(self, rows: Ints, amounts: Ints) -> None:
        """int64[pods]: the nodes of the pods, and what they hold."""
        order = np.lexsort((-amounts, rows))
        self._rows = rows[order]
        before = np.cumsum(amounts[order]) - amounts[order]
        self._before: Ints = before - before[np.searchsorted(self._rows, self._rows)]
        """int64[pods]: what those of the same node hold that come before."""

    def needed(self, lacking: Ints) -> Ints:
        """int64[nodes]: how many pods leave at least until each node has as much more as it lacks."""
        return np.bincount(self._rows[self._before < lacking[self._rows]], minlength=len(lacking))
