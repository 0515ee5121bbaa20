"""How sure the sums of a report are: their intervals from resampled days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
    """The sum of a figure, and between which sums 95 in 100 resamples of the days are."""

    value: float
    low: float
    high: float


def sums_over_days(found: Comparing) -> dict[str, SumOverDays]:
    """By the name of the figure; nothing where there are too few days."""
    if len(found.days) < LEAST_DAYS:
        return {}
    columns = {name: np.array([figure(day) for day in found.days], float) for name, figure in FIGURES.items()}
    return {
        name: SumOverDays(float(column.sum()), *interval(partial(_sum, column), len(column), SEED))
        for name, column in columns.items()
    }


def document(found: Comparing) -> dict[str, Any]:
    """A report as one document; with the intervals of its sums where it has enough days."""
    shown: dict[str, Any] = to_builtins(found)
    sums = {name: each._asdict() for name, each in sums_over_days(found).items()}
    return {**shown, "over_days": sums} if sums else shown


def _sum(column: npt.NDArray[np.float64], times: npt.NDArray[np.float64]) -> float:
    return float(column @ times)
