"""Dominant resource fairness in whole amounts: progressive filling by weight, from floors upwards (seed 001).

Ghodsi et al., Dominant Resource Fairness. Everybody's part grows along what it demands, so that ``dominant share /
weight`` of all rises together (the level). Once a resource is used up, whoever wants more of it stops, and the others
go on. What is left in the end, because those who would take it stopped for want of something else, is dealt out in
further rounds in the same way over the resources that are still free.

Amounts are exact: levels are floats, but whatever is dealt is a whole number of units, and sums are compared as
integers. A unit is one base unit, except of resources of which there is so much that a float cannot tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.model.nodes import Floats, Ids, Ints, Mask

LARGEST = 1 << 61
"""No amount is larger, so that the sum of any two can be written."""

_UNIT_BITS = 42
"""A resource is dealt in units of at most ``total / 2**41``: below 4Ti, memory is dealt by the byte."""
_CLOSE = 0.0113
"""Units by which a float may fall short of the whole number that is meant; above what a thousand sums can err by, and
no fraction that small weights make."""
_MET = 1 - 1e-12
"""Who has this part of its demand has all of it."""
_STEPS_BACK = (0.0, *(2.0**-exponent for exponent in range(40, 0, -1)), 1.0)
"""By how much a level is lowered where rounding dealt out more than there is; at the last, only floors are left."""


class Wants(NamedTuple):
    """What is demanded by whom; amounts are ``int64[party, resource]``, from 0 to ``LARGEST``."""

    weights: Floats
    """float64[party], above zero."""
    demand: Ints
    floor: Ints
    """What a party has in any case; it may exceed its demand."""


def column_sums(amounts: Ints) -> Ints:
    """Sums over all parties, ``int64[resource]``; what cannot be written is twice ``LARGEST``."""
    written = amounts.sum(axis=0, dtype=np.float64) < 2 * LARGEST
    return np.where(written, amounts.sum(axis=0), 2 * LARGEST)


def cut_to_fit(floors: Ints, capacity: Ints) -> Ints:
    """Floors of which the capacity (``int64[resource]``) holds the sum: cut in proportion where it did not, rounded
    down."""
    exceeding = np.flatnonzero(column_sums(floors) > capacity)
    if not len(exceeding):
        return floors
    fitting = floors.copy()
    for column in exceeding:
        values, most = floors[:, column].tolist(), int(capacity[column])
        together = sum(values)
        fitting[:, column] = [value * most // together for value in values]
    return fitting


def progressive_fill(capacity: Ints, total: Ints, wants: Wants) -> Ints:
    """Divide ``capacity`` (``int64[resource]``, as the ``total`` that shares are measured by) among all parties.

    Demands are at most the total, floors together at most the capacity. Nobody gets less than its floor, nor more than
    floor and demand, whichever is larger; equal parties get the same. Of a resource that does not suffice, less than
    a unit a party remains.
    """
    aim = np.maximum(wants.demand, wants.floor)
    scarce = column_sums(aim) > capacity
    dealt = np.where(scarce, wants.floor, aim)
    free = np.ones(len(total), dtype=np.bool_)
    while True:
        rows = np.flatnonzero(((dealt < aim) & scarce).any(axis=1))
        if not len(rows):
            return dealt
        columns = np.flatnonzero(scarce)
        shares = (wants.demand[np.ix_(rows, free)] / np.maximum(total[free], 1)).max(axis=1)
        lower = dealt[np.ix_(rows, columns)]
        left = capacity[columns] - column_sums(dealt[:, columns]) + column_sums(lower)
        full = shares / wants.weights[rows]
        one = _Round(left, wants.demand[np.ix_(rows, columns)], lower, full, _units(total[columns]))
        raised, used_up = one.fill()
        dealt[np.ix_(rows, columns)] = raised
        if not used_up.any():
            return dealt
        scarce[columns[used_up]] = free[columns[used_up]] = False


def _units(total: Ints) -> Ints:
    return np.array([1 << max(0, amount.bit_length() - _UNIT_BITS) for amount in total.tolist()], dtype=np.int64)


class _Round:
    """One level that rises for parties that still want something of resources that do not suffice.

    At a level, a party has the part ``level / full`` of its demand, at most all of it; never less than ``lower``.
    """

    def __init__(self, capacity: Ints, demand: Ints, lower: Ints, full: Floats, unit: Ints) -> None:
        self.capacity = capacity
        self.demand = demand
        self.lower = lower
        self.full = full
        self.unit = unit
        self.slope: Floats = demand / full[:, None]
        self.start: Floats = np.full(demand.shape, np.inf)
        """The level at which a party's part outgrows what it has already."""
        np.divide(lower, self.slope, out=self.start, where=demand > 0)
        self.stop = full.copy()
        """The level at which each party stops: with all it demands, or for want of something."""

    def fill(self) -> tuple[Ints, Mask]:
        """What each party gets, and which resources are used up."""
        used_up: Mask = np.zeros(len(self.capacity), dtype=np.bool_)
        while not used_up.all():
            columns = np.flatnonzero(~used_up)
            levels = self._last_levels(columns)
            first = int(levels.argmin())
            if levels[first] == np.inf:
                break
            used_up[columns[first]] = True
            # Who has more than its part of this level, thanks to its floor, goes on until its part is as large.
            self.stop = np.minimum(self.stop, np.maximum(levels[first], self.start[:, columns[first]]))
        return self._whole_amounts(), used_up

    def _last_levels(self, columns: Ids | Ints) -> Floats:
        """The level up to which each of these resources suffices; infinity where it always does."""
        lower, capacity = self.lower[:, columns].astype(np.float64), self.capacity[columns].astype(np.float64)
        start, stop = self.start[:, columns], np.broadcast_to(self.stop[:, None], lower.shape)
        grows = start < stop
        begin, end = np.where(grows, start, 0.0), np.where(grows, stop, 0.0)
        slope = np.where(grows, self.slope[:, columns], 0.0)
        bends = np.concatenate([begin, end])
        order, across = bends.argsort(axis=0), np.arange(len(columns))
        bends = bends[order, across]
        slopes = np.concatenate([slope, -slope])[order, across].cumsum(axis=0)
        rises = (slopes[:-1] * np.diff(bends, axis=0)).cumsum(axis=0)
        reached = (lower.sum(axis=0) + rises <= capacity).sum(axis=0)  # bends after the first that are within capacity
        always = reached == len(rises)
        low = bends[reached, across]
        high = bends[np.minimum(reached + 1, len(rises)), across]
        # Between two bends the sum is a straight line; its slope is summed anew, for running sums lose digits.
        middle = (low + high) / 2
        growing = (begin < middle) & (end > middle)
        rest = np.where(growing, 0.0, np.where(end <= middle, np.maximum(slope * end, lower), lower)).sum(axis=0)
        rate = np.where(growing, slope, 0.0).sum(axis=0)
        level = low.copy()
        np.divide(capacity - rest, rate, out=level, where=rate > 0)
        return np.where(always, np.inf, np.clip(level, low, high))

    def _whole_amounts(self) -> Ints:
        """Everybody's part where it stopped, in whole units that are not more than there is."""
        for step in _STEPS_BACK:
            amounts = self._amounts_at(self.stop * (1 - step) / self.full)
            if (column_sums(amounts) <= self.capacity).all():
                break
        return amounts

    def _amounts_at(self, part: Floats) -> Ints:
        units = np.floor(self.demand / self.unit * part[:, None] + _CLOSE).astype(np.int64)
        amounts = np.where(part[:, None] >= _MET, self.demand, np.minimum(units * self.unit, self.demand))
        return np.maximum(amounts, self.lower)
