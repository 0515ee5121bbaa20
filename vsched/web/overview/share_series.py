"""Shares of queues over time as a document: the answer of ``/queue-history``, for the page and for commands."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from vsched.model.nodes.table import Mask
from vsched.web.overview.share_history import HELD, QUEUES_MAX, HistorySpan, ShareHistory, Values
from vsched.web.overview.shares import WHOLE, QueueShares

DIGITS = 4
WAITING = QueueShares._fields.index("waiting")

Points = tuple[float | None, ...]


class QueueSeries(msgspec.Struct, frozen=True):
    """Dominant shares of one queue with the queues below it, the oldest first; None where nothing is known."""

    queue: str
    """Empty for the whole cluster: what all pods hold, and what all wait for."""
    held: Points
    deserved: Points
    waiting: Points


class ShareSeries(msgspec.Struct, frozen=True):
    """Shares over one span. Each point is the mean over its step."""

    span: str
    """``hour`` or ``week``."""
    begins: float
    """When the first step began, seconds since the epoch; 0 where nothing is known yet."""
    step_seconds: float
    queues: tuple[QueueSeries, ...]
    """The cluster first, then by name."""
    left_out: int
    """How many queues have no history, because there are too many."""
    hourly: tuple[bool, ...] = ()
    """By point: whether it has means of hours, of the time before the daemon began to lead. They are from the usage
    history, which has only what was held. Empty where no point has any.
    """


def share_series(
    history: ShareHistory, span: HistorySpan, points: int, queue: str | None = None, most: int = QUEUES_MAX
) -> ShareSeries:
    """The shares over a span in at most so many points; of the busiest queues and of the cluster, or of one queue.

    Raises KeyError for a queue that has no history.
    """
    found = history.window(span, queue)
    steps = found.values.shape[2]
    every = -(-steps // points) if steps > points else 1
    numbers = np.arange(found.first, found.first + steps) // every
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))[-points:]
    first = int(numbers[starts[0]]) * every if steps else 0
    means = _means(found.values[..., starts[0] :], starts - starts[0]) if steps else found.values
    listed = [at for at in _busiest(means, found.queues, most) if not np.isnan(means[at]).all()]
    return ShareSeries(
        span=span.name,
        begins=first * span.step_seconds,
        step_seconds=every * span.step_seconds,
        queues=tuple(QueueSeries(found.queues[at], *map(_points, means[at])) for at in listed),
        left_out=history.left_out,
        hourly=_hourly(found.hourly[starts[0] :], starts - starts[0]) if found.hourly.any() else (),
    )


def _busiest(means: Values, queues: Sequence[str], most: int) -> list[int]:
    """Where the cluster is, and those of so many queues that held and waited for most."""
    if len(queues) <= most + 1:
        return list(range(len(queues)))
    work = np.nansum(means[:, [HELD, WAITING]], axis=(1, 2))
    ranked = sorted((at for at in range(len(queues)) if queues[at] != WHOLE), key=lambda at: (-work[at], queues[at]))
    return sorted([*(at for at in range(len(queues)) if queues[at] == WHOLE), *ranked[:most]])


def _means(values: Values, starts: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Values:
    """The means from each start to the next, over what is known."""
    known = ~np.isnan(values)
    sums = np.add.reduceat(np.where(known, values, np.float32(0.0)), starts, axis=2)
    counts = np.add.reduceat(known, starts, axis=2, dtype=np.int64)
    means = sums / np.maximum(counts, 1)
    return np.where(counts > 0, means, np.nan).astype(np.float32)


def _hourly(marks: Mask, starts: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[bool, ...]:
    marked: tuple[bool, ...] = tuple(np.logical_or.reduceat(marks, starts).tolist())
    return marked if any(marked) else ()


def _points(values: Values) -> Points:
    return tuple(None if value != value else round(value, DIGITS) for value in values.tolist())
