"""Measured usage of nodes: figures of one round of collection, as averages over periods.

A node, resource or period without data is absent; it never counts as 0. A ``Reading`` has the collected figures by
node. A ``UsageTable`` has the same figures by rows of a node table, for cycles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from vsched.model.pods.shape import Shape

STALE_SECONDS = 300.0
"""Figures are stale, and do not count, if their newest sample is older than this."""
DEFAULT_PERIOD = "5m"

_PERIOD = re.compile(r"([1-9][0-9]{0,5})(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def period_seconds(text: str) -> float | None:
    """The length in seconds of a period as written (``90s``, ``5m``, ``1h``); None where the text is no period."""
    found = _PERIOD.fullmatch(text)
    return None if found is None else int(found[1]) * _SECONDS[found[2]]


class Figures(msgspec.Struct, frozen=True):
    """Usage of one resource of a node over one period, in percent of the node's capacity."""

    average: float
    spread: float = 0.0
    """Standard deviation over the period, in percentage points; 0 where the source has none."""


class NodeUsage(msgspec.Struct, frozen=True):
    """The usage of one node."""

    measured: float
    """The time of the newest sample in the averages, seconds since the epoch."""
    cpu: dict[str, Figures] = {}
    """By period as written: ``5m``, ``1h``."""
    memory: dict[str, Figures] = {}


class Reading(msgspec.Struct, frozen=True):
    """One round of collection."""

    taken: float
    """Seconds since the epoch."""
    nodes: dict[str, NodeUsage]
    """Nodes without data are absent."""


_Floats = npt.NDArray[np.float64]
_Positions = npt.NDArray[np.intp]


class UsageColumn(NamedTuple):
    """One resource over one period, by row; NaN where unknown."""

    average: _Floats
    """float64[nodes], percent."""
    spread: _Floats
    """float64[nodes], percentage points."""


class Young(NamedTuple):
    """Pods whose load the averages do not contain, or only in part. One entry a pod, in no order."""

    rows: _Positions
    """intp[pods]: the row of the pod's node."""
    shapes: _Positions
    """intp[pods]: position in ``kinds``."""
    started: _Floats
    """float64[pods]: start times, seconds since the epoch; infinity where the pod does not run yet."""
    kinds: tuple[Shape, ...]


NOBODY = Young(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0), ())


class UsageTable(NamedTuple):
    """One reading by the rows of a node table; cycles share it and never write to it."""

    measured: _Floats
    """float64[nodes]: the time of the newest sample, seconds since the epoch; NaN for a node without data."""
    cpu: dict[str, UsageColumn]
    """By period as written."""
    memory: dict[str, UsageColumn]
    young: Young = NOBODY


def table_of(reading: Reading, names: Sequence[str]) -> UsageTable:
    """The table of a reading. A sample newer than the reading counts as taken with it, so figures cannot stay fresh."""
    found = [reading.nodes.get(name) for name in names]
    measured = np.array([np.nan if usage is None else min(usage.measured, reading.taken) for usage in found])
    return UsageTable(
        measured.astype(np.float64),
        _columns([{} if usage is None else usage.cpu for usage in found]),
        _columns([{} if usage is None else usage.memory for usage in found]),
    )


def reading_of(table: UsageTable, names: Sequence[str], now: float) -> Reading:
    """The reading of a table; ``taken`` is the time of its newest sample, or ``now`` where it has none."""
    nodes = {
        name: NodeUsage(measured, _figures(table.cpu, row), _figures(table.memory, row))
        for row, (name, measured) in enumerate(zip(names, table.measured.tolist(), strict=True))
        if not isnan(measured)
    }
    return Reading(max((usage.measured for usage in nodes.values()), default=now), nodes)


def _figures(columns: Mapping[str, UsageColumn], row: int) -> dict[str, Figures]:
    return {
        period: Figures(float(column.average[row]), float(column.spread[row]))
        for period, column in columns.items()
        if not isnan(column.average[row])
    }


def _columns(found: Sequence[dict[str, Figures]]) -> dict[str, UsageColumn]:
    periods = sorted({period for figures in found for period in figures})
    return {period: _column([figures.get(period) for figures in found]) for period in periods}


def _column(found: Sequence[Figures | None]) -> UsageColumn:
    def numbers(of: Callable[[Figures], float]) -> _Floats:
        values: Iterable[float] = (np.nan if figures is None else of(figures) for figures in found)
        return np.fromiter(values, dtype=np.float64, count=len(found))

    return UsageColumn(numbers(lambda figures: figures.average), numbers(lambda figures: figures.spread))
