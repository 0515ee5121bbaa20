"""Dominant resource fairness in whole amounts: progressive filling by weight, from floors upwards (seed 001).

Ghodsi et al., Dominant Resource Fairness. Everybody's part grows along what it demands, so that ``dominant share /
weight`` of all rises together: that is the level. Once a resource is used up, nobody gets more of it, and a next round
deals the others in the same way: shares are then measured by the resources that are still free. So nothing is left that
anybody demands. (In the paper, who demands what is used up gets no more of anything else; but its users run tasks that
are all alike. A namespace that waits for a GPU has other pods as well.)

Amounts are exact: levels are floats, but whatever is dealt is a whole number of units, and sums are compared as
integers. A unit is one base unit, except of resources of which there is so much that a float cannot tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints

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

    Floors are together at most the capacity. Nobody gets less than its floor, nor more than floor and demand, whichever
    is larger; equal parties get the same. Of a resource that does not suffice, less than a unit a party remains.
    """
    dealt = np.maximum(wants.demand, wants.floor)
    scarce = column_sums(dealt) > capacity
    dealt[:, scarce] = wants.floor[:, scarce]
    units = np.array([1 << max(0, amount.bit_length() - _UNIT_BITS) for amount in total.tolist()], dtype=np.int64)
    free = total > 0
    while (open_ := np.flatnonzero(scarce & free)).size:
        shares = (wants.demand[:, free] / total[free]).max(axis=1)
        full = np.where(shares > 0, shares, 1.0) / wants.weights
        demand, lower, there = wants.demand[:, open_], dealt[:, open_], capacity[open_]
        levels = _last_levels(there.astype(np.float64), demand, lower, full)
        reached = min(levels.min(), full.max())
        dealt[:, open_] = _amounts_at(reached, full, there, units[open_], demand, lower)
        free[open_[levels <= reached]] = False
        if reached == full.max():
            break
    return dealt


def _amounts_at(level: float, full: Floats, capacity: Ints, unit: Ints, demand: Ints, lower: Ints) -> Ints:
    """Everybody's part at a level in whole units, no more than there is.

    ``full`` (float64[party]) are the levels at which all demands are met, ``lower`` is what each has already.
    """
    amounts, levels = lower, np.full(len(capacity), level)
    for step in _STEPS_BACK:
        units = np.floor(demand / unit * np.minimum(1.0, levels / full[:, None]) + _CLOSE)
        amounts = np.minimum(units.astype(np.int64) * unit, demand)
        amounts = np.maximum(np.where(levels >= full[:, None] * _MET, demand, amounts), lower)
        exceeding = column_sums(amounts) > capacity
        if not exceeding.any():
            break
        levels[exceeding] = level * (1 - step)
    return amounts


def _last_levels(capacity: Floats, demand: Ints, lower: Ints, full: Floats) -> Floats:
    """The level up to which each resource suffices, ``float64[resource]``; infinity where it always does.

    The sum by level is a line with bends: where somebody's part outgrows what it has already, and where it is all that
    is demanded.
    """
    slope = demand / full[:, None]
    begin = np.divide(lower, slope, out=np.full(demand.shape, np.inf), where=demand > 0)
    grows = begin < full[:, None]
    slope, begin = np.where(grows, slope, 0.0), np.where(grows, begin, 0.0)
    end = np.where(grows, full[:, None], 0.0)
    bends = np.concatenate([begin, end])
    order, across = bends.argsort(axis=0), np.arange(len(capacity))
    bends = bends[order, across]
    slopes = np.concatenate([slope, -slope])[order, across].cumsum(axis=0)
    rises = (slopes[:-1] * np.diff(bends, axis=0)).cumsum(axis=0)
    within = (lower.sum(axis=0, dtype=np.float64) + rises <= capacity).sum(axis=0)
    always = within == len(rises)
    low, high = bends[within, across], bends[np.minimum(within + 1, len(rises)), across]
    # Between two bends the sum is a straight line. Its slope is summed anew, for running sums lose digits.
    middle = (low + high) / 2
    growing = (begin < middle) & (end > middle)
    met = np.where(end <= middle, np.maximum(slope * end, lower), lower)
    rest = np.where(growing, 0.0, met).sum(axis=0)
    rate = np.where(growing, slope, 0.0).sum(axis=0)
    level = np.divide(capacity - rest, rate, out=low.copy(), where=rate > 0)
    return np.where(always, np.inf, np.clip(level, low, high))
