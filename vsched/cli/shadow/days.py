"""How sure the sums of a report are: their intervals from resampled days."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import to_builtins

from vsched.kernels.resampling import interval
from vsched.shadow.summary import Comparing, ShadowDay

LEAST_DAYS = 4
"""Fewer are too few to draw from."""
SEED = 1
FIGURES: Mapping[str, Callable[[ShadowDay], float]] = {
    "later": lambda day: day.later,
    "later_seconds": lambda day: day.later_seconds,
    "waits_here": lambda day: day.waits_here,
    "would_evict_pods": lambda day: day.would_evict_pods,
    "in_vain": lambda day: day.in_vain,
    "partials": lambda day: day.partials,
}


class SumOverDays(NamedTuple):
    """A figure over all days, and between which figures 95 in 100 resamples of the days are."""

    value: float
    low: float
    high: float


def sums_over_days(found: Comparing) -> dict[str, SumOverDays]:
    """By the name of the figure; nothing where there are too few days."""
    if len(found.days) < LEAST_DAYS:
        return {}
    return {name: _over([figure(day) for day in found.days]) for name, figure in FIGURES.items()}


def idle_over_days(found: Comparing) -> dict[str, SumOverDays]:
    """Node-seconds by resource; nothing where there are too few days."""
    if len(found.days) < LEAST_DAYS:
        return {}
    return {name: _over([day.idle.get(name, 0.0) for day in found.days]) for name in found.idle}


def shares_over_days(found: Comparing) -> dict[str, SumOverDays]:
    """The mean share of each queue, by name, of those that were seen on enough days; days without it are left out."""
    seen = (
        (one.queue, [day.queues[one.queue] for day in found.days if one.queue in day.queues]) for one in found.queues
    )
    return {
        name: _over([day.share_seconds for day in days], [day.seconds for day in days])
        for name, days in seen
        if len(days) >= LEAST_DAYS and all(day.seconds for day in days)
    }


def document(found: Comparing) -> dict[str, Any]:
    """A report as one document; with the intervals of its figures where it has enough days."""
    shown: dict[str, Any] = to_builtins(found)
    sums = _documents(sums_over_days(found))
    if not sums:
        return shown
    idle, queues = _documents(idle_over_days(found)), _documents(shares_over_days(found))
    return {**shown, "over_days": {**sums, "idle": idle, "queues": queues}}


def _documents(found: Mapping[str, SumOverDays]) -> dict[str, Any]:
    return {name: each._asdict() for name, each in found.items()}


def _over(values: Sequence[float], weights: Sequence[float] = ()) -> SumOverDays:
    """The sum of a figure by day, or what it comes to by weight where there are weights."""
    column, by = np.array(values, float), np.array(weights, float)

    def measure(times: npt.NDArray[np.float64]) -> float:
        return _sum(column, times) / (_sum(by, times) if weights else 1.0)

    return SumOverDays(measure(np.ones(len(column))), *interval(measure, len(column), SEED))


def _sum(column: npt.NDArray[np.float64], times: npt.NDArray[np.float64]) -> float:
    return float(column @ times)
