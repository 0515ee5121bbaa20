"""Measures of replays: arithmetic on times, amounts and shares.

Pure. A figure over time is a list of moments, and its value from each of them until the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

PERCENTILES = {"p50": 50, "p90": 90, "p99": 99}
DIGITS = 4


def spread(values: Sequence[float]) -> dict[str, float]:
    """Count, mean, percentiles and maximum; zeros for no values.

    A percentile is the smallest value that at least so many of a hundred do not exceed (nearest rank).
    """
    if not values:
        return {"count": 0, "mean": 0.0, **dict.fromkeys(PERCENTILES, 0.0), "max": 0.0}
    found = np.sort(np.array(values, float))
    ranks = {name: float(found[max(0, -(-len(found) * part // 100) - 1)]) for name, part in PERCENTILES.items()}
    return {"count": len(values), "mean": round(float(found.mean()), DIGITS), **ranks, "max": float(found[-1])}


def nearest_rank(values: Floats, weights: Floats, percent: float) -> float:
    """The smallest value that at least so many of a hundred do not exceed, each value counted by its weight.

    The values are in their order, and some weight is more than 0.
    """
    below = np.cumsum(weights)
    # A little less than the exact part: sums of floats may fall short of it.
    return float(values[np.searchsorted(below, below[-1] * percent / 100 - 1e-9)])


def averages(moments: Sequence[float], values: Sequence[float], edges: Sequence[float] | Floats) -> Floats:
    """The time-weighted average of a figure between consecutive edges; ``moments`` begin at or before the first edge.

    Where two edges are equal, it is the value at that moment.
    """
    at, value, edge = (np.asarray(one, float) for one in (moments, values, edges))
    # The integral up to each moment, and from there up to each edge.
    sums = np.concatenate(([0.0], np.cumsum(value[:-1] * np.diff(at))))
    place = np.maximum(np.searchsorted(at, edge, side="right") - 1, 0)
    until = sums[place] + value[place] * (edge - at[place])
    lengths = np.diff(edge)
    result: Floats = np.where(lengths > 0, np.diff(until) / np.where(lengths > 0, lengths, 1.0), value[place[:-1]])
    return result


def peak(began: Floats, ended: Floats, amounts: Floats) -> float:
    """The most that is held at a time, of amounts that are held from a begin to an end each."""
    # Where one ends as another begins, the end is first.
    order = np.argsort(np.concatenate((ended, began)), kind="stable")
    return max(0.0, float(np.cumsum(np.concatenate((-amounts, amounts))[order]).max()))


def mean_and_extremes(
    moments: Sequence[float], values: Sequence[float], begin: float, end: float
) -> tuple[float, float, float]:
    """The average over time from ``begin`` to ``end``, and the least and the largest value in between."""
    at, value = np.asarray(moments, float), np.asarray(values, float)
    first = max(0, int(np.searchsorted(at, begin, side="right")) - 1)
    within = value[first : max(first + 1, int(np.searchsorted(at, end, side="right")))]
    mean = float(averages(moments, values, (begin, end))[0])
    return mean, float(within.min()), float(within.max())


def jain(values: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all values are equal or there are none, 1/n where one of n has everything.

    R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984.
    """
    total = sum(values)
    return total * total / (len(values) * sum(value * value for value in values)) if total else 1.0


def entitled(room: float, wanted: Mapping[str, float], weights: Mapping[str, float]) -> dict[str, float]:
    """Weighted max-min shares: room is divided by weight, and what one does not want goes to the others."""
    shares = dict.fromkeys(wanted, 0.0)
    left, asking = room, {name for name, amount in wanted.items() if amount > 0.0}
    while asking and left > 0.0:
        level = left / sum(weights[name] for name in asking)
        sated = {name for name in asking if wanted[name] <= level * weights[name]}
        if not sated:
            return shares | {name: level * weights[name] for name in asking}
        for name in sorted(sated):
            shares[name] = wanted[name]
            left -= wanted[name]
        asking -= sated
    return shares


def contentment(
    room: float, used: Mapping[str, float], wanted: Mapping[str, float], weights: Mapping[str, float]
) -> list[float]:
    """For each of those who want something, the part of its entitled share that it uses, at most 1."""
    shares = entitled(room, wanted, weights)
    return [min(1.0, used[name] / share) for name, share in sorted(shares.items()) if share > 0.0]
