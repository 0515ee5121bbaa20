"""How sure a figure is that follows from periods, such as days: its interval from resampled periods (bootstrap)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 1000
OUTER = (2.5, 97.5)
"""The percentiles that an interval is between."""


class Interval95(NamedTuple):
    """95 in 100 resamples are within it."""

    low: float
    high: float


def draws(periods: int, seed: int) -> npt.NDArray[np.float64]:
    """How often each period is drawn, a row for each resample; equal seeds give equal draws."""
    generator = np.random.default_rng(seed)
    found: npt.NDArray[np.float64] = generator.multinomial(periods, np.full(periods, 1 / periods), RESAMPLES).astype(
        float
    )
    return found


def interval(measure: Callable[[npt.NDArray[np.float64]], float], periods: int, seed: int) -> Interval95:
    """The interval of a number that follows from how often each period counts."""
    low, high = np.percentile([measure(times) for times in draws(periods, seed)], OUTER)
    return Interval95(float(low), float(high))
