"""What nodes really use: figures of one round of collection, as averages over periods.

Unknown is unknown: a node, a resource or a period without data is absent, never nought. A ``Reading`` is what was
collected, by node; a ``UsageTable`` is the same by rows of a node table, for cycles.
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
"""Figures whose newest sample is older than this say nothing of a node any more (reference 4.11)."""
DEFAULT_PERIOD = "5m"

_PERIOD = re.compile(r"([1-9][0-9]{0,5})(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def period_seconds(text: str) -> float | None:
    """The length of a period as written (``90s``, ``5m``, ``1h``); None where the text is none."""
    found = _PERIOD.fullmatch(text)
    return None if found is None else int(found[1]) * _SECONDS[found[2]]


class Figures(msgspec.Struct, frozen=True):
    """How much of a node's capacity of one resource was used over one period, in percent."""

    average: float
    spread: float = 0.0
    """Standard deviation over the period, in percentage points; 0 where the source has none."""


class NodeUsage(msgspec.Struct, frozen=True):
    """What one node uses."""

    measured: float
    """The newest sample that the averages rest on, in seconds since the epoch."""
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


class Column(NamedTuple):
    """One resource over one period, by row; NaN where unknown."""

    average: _Floats
    """float64[nodes], percent."""
    spread: _Floats
    """float64[nodes], percentage points."""


class Young(NamedTuple):
    """Pods whose load the averages lack, wholly or in part: an entry a pod, in no order."""

    rows: _Positions
    """intp[pods]: where each is."""
    shapes: _Positions
    """intp[pods]: position in ``kinds``."""
    started: _Floats
    """float64[pods]: seconds since the epoch; infinity where it does not run yet."""
    kinds: tuple[Shape, ...]


NOBODY = Young(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0), ())


class UsageTable(NamedTuple):
    """One reading by the rows of a node table; shared by cycles, never written to."""

    measured: _Floats
    """float64[nodes]: the newest sample, seconds since the epoch; NaN where nothing is known of the node."""
    cpu: dict[str, Column]
    """By period as written."""
    memory: dict[str, Column]
    young: Young = NOBODY


def table_of(reading: Reading, names: Sequence[str]) -> UsageTable:
    """A reading by row. A sample that claims to be newer than the reading was taken with it: nothing stays fresh."""
    found = [reading.nodes.get(name) for name in names]
    measured = np.array([np.nan if usage is None else min(usage.measured, reading.taken) for usage in found])
    return UsageTable(
        measured.astype(np.float64),
        _columns([{} if usage is None else usage.cpu for usage in found]),
        _columns([{} if usage is None else usage.memory for usage in found]),
    )


def reading_of(table: UsageTable, names: Sequence[str], now: float) -> Reading:
    """The reading that a table was made of; when it was taken is only known to within its newest sample."""
    nodes = {
        name: NodeUsage(measured, _figures(table.cpu, row), _figures(table.memory, row))
        for row, (name, measured) in enumerate(zip(names, table.measured.tolist(), strict=True))
        if not isnan(measured)
    }
    return Reading(max((usage.measured for usage in nodes.values()), default=now), nodes)


def _figures(columns: Mapping[str, Column], row: int) -> dict[str, Figures]:
    return {
        period: Figures(float(column.average[row]), float(column.spread[row]))
        for period, column in columns.items()
        if not isnan(column.average[row])
    }


def _columns(found: Sequence[dict[str, Figures]]) -> dict[str, Column]:
    periods = sorted({period for figures in found for period in figures})
    return {period: _column([figures.get(period) for figures in found]) for period in periods}


def _column(found: Sequence[Figures | None]) -> Column:
    def numbers(of: Callable[[Figures], float]) -> _Floats:
        values: Iterable[float] = (np.nan if figures is None else of(figures) for figures in found)
        return np.fromiter(values, dtype=np.float64, count=len(found))

    return Column(numbers(lambda figures: figures.average), numbers(lambda figures: figures.spread))
