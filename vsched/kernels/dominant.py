"""Dominant resource fairness in integer amounts: progressive filling by weight, starting from floors.

The source is Ghodsi et al., Dominant Resource Fairness. The amounts of every party grow in proportion to its demand, so
that ``dominant share / weight`` rises equally for all parties; this common value is the level. When a resource is used
up, no party gets more of it, and the next round divides the remaining resources in the same way. Shares are then
measured by the resources that are still free. So no resource that is demanded is left over. (In the paper, a user who
demands a used-up resource gets no more of any resource, because all tasks of a user are alike there. Here, a namespace
that waits for a GPU has other pods as well.)

Amounts are exact: levels are floats, but each party gets a whole number of units, and sums are compared as integers. A
unit is one base unit; for resources with very large totals it is larger, because a float could not tell the difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints

LARGEST = 1 << 61
"""The largest amount allowed, so that the sum of any two fits into an int64."""

_UNIT_BITS = 42
"""A resource is divided in units of at most ``total / 2**41``: below 4Ti, memory is divided by the byte."""
_CLOSE = 0.0113
"""How many units a float may fall short of the exact whole number. This is more than the rounding error of a thousand
sums, and it is not a fraction that results from small weights."""
_MET = 1 - 1e-12
"""A party at this fraction of its full level gets its whole demand."""
_STEPS_BACK = (0.0, *(2.0**-exponent for exponent in range(40, 0, -1)), 1.0)
"""Fractions by which a level is lowered where rounding exceeds the capacity; the last one leaves only the floors."""


class DemandTable(NamedTuple):
    """The weights, demands and floors of all parties; amounts are ``int64[party, resource]``, from 0 to ``LARGEST``."""

    weights: Floats
    """float64[party], above zero."""
    demand: Ints
    floor: Ints
    """What a party gets in any case; it may exceed the demand."""


def column_sums(amounts: Ints) -> Ints:
    """Sums over all parties, ``int64[resource]``; a sum that is too large becomes twice ``LARGEST``."""
    written = amounts.sum(axis=0, dtype=np.float64) < 2 * LARGEST
    return np.where(written, amounts.sum(axis=0), 2 * LARGEST)


def cut_to_fit(floors: Ints, capacity: Ints) -> Ints:
    """The floors, reduced in proportion (rounded down) where their sum exceeds the capacity (``int64[resource]``)."""
    exceeding = np.flatnonzero(column_sums(floors) > capacity)
    if not len(exceeding):
        return floors
    fitting = floors.copy()
    for column in exceeding:
        values, most = floors[:, column].tolist(), int(capacity[column])
        together = sum(values)
        fitting[:, column] = [value * most // together for value in values]
    return fitting


def progressive_fill(capacity: Ints, total: Ints, wants: DemandTable) -> Ints:
    """Divide ``capacity`` among all parties; shares are fractions of ``total``. Both are ``int64[resource]``.

    The sum of the floors must not exceed the capacity. Each party gets at least its floor, and at most the larger of
    floor and demand. Equal parties get equal amounts. Of a scarce resource, less than one unit per party remains.
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
    """The amounts of all parties at a level, in whole units, within the capacity.

    ``full`` (float64[party]) is the level at which a party's demand is met; ``lower`` is what each party has already.
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
    """The highest level that the capacity of each resource allows, ``float64[resource]``; infinity where it allows any.

    The sum of all amounts is a piecewise linear function of the level. It bends where a party's amount begins to exceed
    what the party has already, and where it reaches the demand.
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
    # Between two bends the sum is linear. Its slope is summed again here, because running sums lose precision.
    middle = (low + high) / 2
    growing = (begin < middle) & (end > middle)
    met = np.where(end <= middle, np.maximum(slope * end, lower), lower)
    rest = np.where(growing, 0.0, met).sum(axis=0)
    rate = np.where(growing, slope, 0.0).sum(axis=0)
    level = np.divide(capacity - rest, rate, out=low.copy(), where=rate > 0)
    return np.where(always, np.inf, np.clip(level, low, high))
