"""Whether a figure grows: a line through what was measured over time, and whether it rises more than it scatters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

WARM_UP, WARM_UP_SECONDS = 0.25, 300.0
"""The part of the time at the beginning that is not judged, and no less than this: caches and heaps find their size."""
FEWEST = 12
"""Measurements that are needed to judge."""
SIGMAS = 3.0


class Allowed(NamedTuple):
    """How far a figure may seem to rise over the whole time: the larger of a share of it and an amount."""

    share: float
    amount: float


ALLOWED: Mapping[str, Allowed] = {
    "rss_mb": Allowed(0.03, 4.0),
    "fds": Allowed(0.05, 8.0),
    "tasks": Allowed(0.05, 8.0),
    "series": Allowed(0.05, 40.0),
}
"""What is measured of a daemon: memory, open files and sockets, tasks of its event loop, series of its metrics."""


class Trend(NamedTuple):
    """How one figure went."""

    first: float
    """The mean of the first quarter of what is judged (of everything, where nothing is), and of the last one."""
    last: float
    peak: float
    per_minute: float
    """The slope of the line."""
    rise: float
    """By the line, from the beginning of what is judged to the end."""
    judged: bool
    grows: bool

    def to_dict(self) -> dict[str, Any]:
        return {key: value if isinstance(value, bool) else round(value, 4) for key, value in self._asdict().items()}


def trend(seconds: Sequence[float], values: Sequence[float], allowed: Allowed) -> Trend:
    """The trend of a figure measured at these times; with too few measurements it is told, but not judged."""
    when, what = np.asarray(seconds, float), np.asarray(values, float)
    if not what.size:
        return Trend(0.0, 0.0, 0.0, 0.0, 0.0, judged=False, grows=False)
    warm = when >= when[0] + max(WARM_UP * (when[-1] - when[0]), WARM_UP_SECONDS)
    enough = int(warm.sum()) >= FEWEST
    x, y = (when[warm] - when[warm][0], what[warm]) if enough else (when, what)
    quarter = max(1, y.size // 4)
    first, last, peak = float(y[:quarter].mean()), float(y[-quarter:].mean()), float(what.max())
    if not enough:
        return Trend(first, last, peak, 0.0, 0.0, judged=False, grows=False)
    spread = x - x.mean()
    slope = float((spread * (y - y.mean())).sum() / (spread**2).sum())
    left = y - y.mean() - slope * spread
    error = float(np.sqrt((left**2).sum() / (y.size - 2) / (spread**2).sum()))
    rise = slope * float(x[-1])
    most = max(allowed.share * float(y.mean()), allowed.amount)
    return Trend(first, last, peak, slope * 60, rise, judged=True, grows=rise > most and slope > SIGMAS * error)
