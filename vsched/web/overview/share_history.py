"""Shares of queues over time: an hour by ten seconds and a week by ten minutes, in memory of a fixed size.

The event loop adds samples; pages read in other threads. A sample that comes while a page reads is left to the next
session, so that sessions never wait for pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vsched.model.nodes.table import Floats, Mask
from vsched.web.overview.past_shares import HourlyShares
from vsched.web.overview.shares import WHOLE, QueueShares

QUEUES_MAX = 500
"""The most queues that have a history. One more takes the place of the one that has been idle for longest."""
MEASURES = len(QueueShares._fields)
HELD = QueueShares._fields.index("held")
HALF_MAX = 60_000.0
"""The largest share that is kept; half-precision numbers end a little later."""

Halves = npt.NDArray[np.float16]
Values = npt.NDArray[np.float32]


class HistorySpan(NamedTuple):
    """One of the histories: how many steps of how many seconds."""

    name: str
    step_seconds: float
    steps: int


HOUR = HistorySpan("hour", 10.0, 360)
WEEK = HistorySpan("week", 600.0, 1008)
SPANS = {span.name: span for span in (HOUR, WEEK)}


class ShareWindow(NamedTuple):
    """All of one history, the oldest step first."""

    first: int
    """The number of the first step: it begins at this number times the seconds of a step, since the epoch."""
    queues: tuple[str, ...]
    values: Values
    """``float32[queues, held|deserved|waiting, steps]``; NaN where nothing is known."""
    hourly: Mask
    """By step: whether it has the mean of an hour, from the usage history."""


class _Ring:
    """Means of samples by step, as many steps as a span has."""

    def __init__(self, span: HistorySpan) -> None:
        self.span = span
        self.values: Halves = np.full((1, MEASURES, span.steps), np.nan, np.float16)
        self.first = self.last = -1
        """The numbers of the first step and of the last."""
        self.hourly: Mask = np.zeros(span.steps, np.bool_)
        """The steps that have the mean of an hour."""
        self._sums = np.zeros((1, MEASURES))
        self._counts = np.zeros((1, MEASURES))

    def grow(self, rows: int) -> None:
        more = ((0, rows - len(self.values)), (0, 0))
        self.values = np.pad(self.values, (more[0], (0, 0), (0, 0)), constant_values=np.nan)
        self._sums, self._counts = np.pad(self._sums, more), np.pad(self._counts, more)

    def forget(self, row: int) -> None:
        self.values[row] = np.nan
        self._sums[row] = self._counts[row] = 0.0

    def add(self, at: float, sample: Floats) -> None:
        """Add shares of all rows; those of a time before the last step are ignored, unless the clock was set back."""
        number, steps = int(at // self.span.step_seconds), self.span.steps
        if self.first < 0 or number <= self.last - steps or number >= self.last + steps:
            self.values[:] = np.nan
            self.hourly[:] = False
            self.first, self.last = number, number - 1
        if number < self.last:
            return
        if number > self.last:
            for passed in range(self.last + 1, number + 1):
                self.values[..., passed % steps] = np.nan
                self.hourly[passed % steps] = False
            self.last, self.first = number, max(self.first, number - steps + 1)
            self._sums[:] = self._counts[:] = 0.0
        known = ~np.isnan(sample)
        self._sums += np.where(known, sample, 0.0)
        self._counts += known
        with np.errstate(invalid="ignore"):
            self.values[..., number % steps] = self._sums / self._counts

    def fill(self, past: HourlyShares, rows: Mapping[str, int]) -> None:
        """Give steps whose middle is in a counted hour what was held then, where nothing is known of the cluster."""
        steps, seconds = self.span.steps, self.span.step_seconds
        places = np.fromiter(rows.values(), np.intp)[:, None]
        held = np.minimum(HALF_MAX, np.array([past.held[name] for name in rows]))
        for hour, (begin, end) in enumerate(zip(past.begins.tolist(), past.ends.tolist(), strict=True)):
            first, last = (ceil(at / seconds - 0.5) for at in (begin, end))
            numbers = np.arange(max(first, self.last - steps + 1), min(last, self.last))
            unknown = np.isnan(self.values[rows[WHOLE], HELD, numbers % steps])
            columns = numbers[unknown] % steps
            if not len(columns):
                continue
            self.values[places, HELD, columns[None]] = held[:, hour : hour + 1]
            self.hourly[columns] = True
            self.first = min(self.first, int(numbers[unknown][0]))

    def window(self, rows: list[int]) -> tuple[Values, Mask]:
        columns = np.arange(self.first, self.last + 1) % self.span.steps
        return self.values[rows][..., columns].astype(np.float32), self.hourly[columns]


class ShareHistory:
    """The shares of queues over the last hour and over the last week."""

    def __init__(self, queues_max: int = QUEUES_MAX) -> None:
        self._queues_max = queues_max
        self._rings = {span.name: _Ring(span) for span in SPANS.values()}
        self._rows: dict[str, int] = {WHOLE: 0}
        self._busy_at: dict[str, float] = {}
        """When each queue last held or waited for something; 0 where it never did."""
        self._left_out = 0
        self._sampled = -1
        self._lock = Lock()

    def is_due(self, now: float) -> bool:
        """Whether a step has begun that has no sample."""
        return int(now // HOUR.step_seconds) != self._sampled

    def add(self, now: float, shares: Mapping[str, QueueShares]) -> None:
        """Add the shares of a session; while a page reads, nothing happens."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._sampled = int(now // HOUR.step_seconds)
            self._add(now, shares)
        finally:
            self._lock.release()

    def _add(self, now: float, shares: Mapping[str, QueueShares]) -> None:
        busy = {name for name, found in shares.items() if found.held or found.waiting}
        for name in busy & self._rows.keys():
            self._busy_at[name] = now
        fresh = sorted(shares.keys() - self._rows.keys(), key=lambda name: (name not in busy, name))
        for name in fresh:
            if not self._admit(name, now, works=name in busy):
                break
        self._left_out = len(shares.keys() - self._rows.keys())
        sample = np.full((len(self._rings[HOUR.name].values), MEASURES), np.nan)
        for name, found in shares.items():
            row = self._rows.get(name)
            if row is not None:
                sample[row] = [np.nan if value is None else min(HALF_MAX, value) for value in found]
        for ring in self._rings.values():
            ring.add(now, sample)

    def restore(self, past: HourlyShares) -> bool:
        """Fill the week, where nothing is known of it, with what queues held by the hour; after the first sample.

        Returns False while a page reads: nothing happens then.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._restore(past)
        finally:
            self._lock.release()
        return True

    def _restore(self, past: HourlyShares) -> None:
        worked = {
            name: float(past.ends[hours[-1]])
            for name, held in past.held.items()
            if len(hours := np.flatnonzero(held)) and name != WHOLE
        }
        for name in sorted(worked, key=lambda name: (-worked[name], name)):
            if name in self._rows:
                self._busy_at[name] = max(self._busy_at.get(name, 0.0), worked[name])
            elif not self._admit(name, worked[name], works=True):
                break
        rows = {name: self._rows[name] for name in past.held if name in self._rows}
        if rows:
            self._rings[WEEK.name].fill(past, rows)

    def _admit(self, name: str, now: float, *, works: bool) -> bool:
        """Give a queue a row, if there is one, or if it is busy and another one is not; False where it gets none."""
        row = len(self._rows)
        if row > self._queues_max:
            idle = min(
                (other for other in self._rows if other != WHOLE), key=lambda other: self._busy_at.get(other, 0.0)
            )
            if not works or self._busy_at.get(idle, 0.0) >= now:
                return False
            row = self._rows.pop(idle)
            self._busy_at.pop(idle, None)
            for ring in self._rings.values():
                ring.forget(row)
        self._rows[name] = row
        if works:
            self._busy_at[name] = now
        for ring in self._rings.values():
            if row >= len(ring.values):
                ring.grow(min(2 * row, self._queues_max + 1))
        return True

    def window(self, span: HistorySpan, queue: str | None = None) -> ShareWindow:
        """One of the histories, of all queues and of the cluster, or of one of them.

        Raises KeyError for a queue that has none.
        """
        with self._lock:
            ring = self._rings[span.name]
            names = sorted(self._rows) if queue is None else [queue]
            rows = [self._rows[name] for name in names]
            if ring.first < 0:
                return ShareWindow(0, (), np.zeros((0, MEASURES, 0), np.float32), np.zeros(0, np.bool_))
            return ShareWindow(ring.first, tuple(names), *ring.window(rows))

    @property
    def left_out(self) -> int:
        """How many queues of the last sample have no history."""
        return self._left_out

    @property
    def size_bytes(self) -> int:
        """What the rings take."""
        return sum(ring.values.nbytes for ring in self._rings.values())
