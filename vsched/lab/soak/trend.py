"""Whether a figure grows over time: the slope of a line through its measurements, compared with their scatter.

What fills up rises ever more slowly, what leaks goes on: so the last half has to rise as steeply as growth would, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
WARM_UP, WARM_UP_SECONDS = 0.25, 300.0
"""The part of the time at the beginning that is not judged, and its least length: caches and heaps have to fill."""
FEWEST = 12
"""Fewest measurements for a judgement."""
SIGMAS = 3.0


class Allowed(NamedTuple):
    """The rise over the whole time that does not count as growth: the larger of a share of the mean and an amount."""

    share: float
    amount: float
    pods: int = 0
    """Nothing is judged until so many pods have come."""


ALLOWED: Mapping[str, Allowed] = {
    # Names, Events and pods that were bound are remembered by the ten thousand.
    "rss_mb": Allowed(0.03, 4.0, pods=12_000),
    "fds": Allowed(0.05, 8.0),
    "tasks": Allowed(0.05, 8.0),
    "series": Allowed(0.05, 40.0),
}
"""What is measured of a daemon: memory, open files, tasks of its event loop, series of its metrics."""


class Trend(NamedTuple):
    """The trend of one figure."""

    first: float
    """Means of the first and of the last quarter of the judged measurements, or of all where none are judged."""
    last: float
    peak: float
    per_minute: float
    """The slope of the line."""
    rise: float
    """By the line, over the judged time."""
    judged: bool
    grows: bool

    def to_dict(self) -> dict[str, Any]:
        return {key: value if isinstance(value, bool) else round(value, 4) for key, value in self._asdict().items()}


def trend(seconds: Sequence[float], values: Sequence[float], allowed: Allowed, pods_per_minute: float = inf) -> Trend:
    """The trend of a figure with these times and values, while so many pods come; too few are not judged."""
    when, what = np.asarray(seconds, float), np.asarray(values, float)
    if not what.size:
        return Trend(0.0, 0.0, 0.0, 0.0, 0.0, judged=False, grows=False)
    warm_up = max(WARM_UP * (when[-1] - when[0]), WARM_UP_SECONDS, allowed.pods / pods_per_minute * 60)
    warm = when >= when[0] + warm_up
    enough = int(warm.sum()) >= FEWEST
    x, y = (when[warm] - when[warm][0], what[warm]) if enough else (when, what)
    quarter = max(1, y.size // 4)
    first, last, peak = float(y[:quarter].mean()), float(y[-quarter:].mean()), float(what.max())
    if not enough:
        return Trend(first, last, peak, 0.0, 0.0, judged=False, grows=False)
    slope, error = _line(x, y)
    half, _ = _line(x[x.size // 2 :], y[y.size // 2 :])
    rise, most = slope * float(x[-1]), max(allowed.share * float(y.mean()), allowed.amount)
    grows = min(slope, half) * float(x[-1]) > most and slope > SIGMAS * error
    return Trend(first, last, peak, slope * 60, rise, judged=True, grows=grows)


def _line(x: Values, y: Values) -> tuple[float, float]:
    """The slope of the line through these points, and its standard error."""
    spread = x - x.mean()
    slope = float((spread * (y - y.mean())).sum() / (spread**2).sum())
    left = y - y.mean() - slope * spread
    return slope, float(np.sqrt((left**2).sum() / (y.size - 2) / (spread**2).sum()))
