"""The load of nodes and scores by load. The load is the measured usage plus the estimate for pods placed since.

Loads are [dimension, node] with cpu first and memory second, as fractions of 1. Functions for one row (``_row``) use
plain numbers and give the same results as the array functions, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.model.nodes.usage import UsageTable

View = Any
"""The ``data`` of a two-dimensional array: a memoryview, whose type stub only allows integers."""
DIMENSIONS = 2
LEFT_AT_PEAKS = 0.01
"""The part of a node's average free capacity that counts as free even if its peaks use all of it."""


class Risk(NamedTuple):
    """When nodes are at risk, so that a higher estimate of their load applies."""

    cpu: float
    """The weight of cpu in the load of a node."""
    memory: float
    """The weight of memory."""
    threshold: float
    """Nodes with at least this weighted sum of loads are at risk."""


def figures(table: UsageTable, period: str, resource: str, now: float, stale_seconds: float) -> tuple[Floats, Floats]:
    """Averages and spreads in percent by node.

    An average is NaN where it is unknown, not finite, or older than ``stale_seconds``. The spread is 0 where it is not
    finite, and NaN where the whole period is unknown.
    """
    columns = table.cpu if resource == "cpu" else table.memory
    column = columns.get(period)
    if column is None:
        unknown = np.full(len(table.measured), np.nan)
        return unknown, unknown
    fresh = now - table.measured <= stale_seconds
    average = np.where(fresh & np.isfinite(column.average), column.average, np.nan)
    return average, np.where(np.isfinite(column.spread), column.spread, 0.0)


def pressing(average: Floats, spread: Floats, factor: float) -> Floats:
    """The load to use, as a fraction of 1: the average plus ``factor`` times the spread; NaN where unknown.

    The load is at most 1. A node that is full only at its peaks gets slightly less than one that is always full: a
    small part of its average free capacity (``LEFT_AT_PEAKS``) is subtracted.
    """
    steady = np.clip(average / 100.0, 0.0, 1.0)
    peak = np.maximum((average + factor * np.maximum(spread, 0.0)) / 100.0, 0.0)
    load: Floats = np.minimum(peak, 1.0 - LEFT_AT_PEAKS * (1.0 - steady))
    return load


def lacking(started: Floats, measured: Floats, window_seconds: float) -> Floats:
    """The fraction of a load, started at ``started``, that an average over the window before ``measured`` misses."""
    part: Floats = np.clip((started - (measured - window_seconds)) / window_seconds, 0.0, 1.0)
    return part


def filled(amounts: Ints, has: Ints) -> Floats:
    """Amounts as fractions of the nodes' capacity, at most 1; 1 where a node has no capacity."""
    parts = np.divide(amounts, has, out=np.ones(amounts.shape), where=has > 0)
    return np.minimum(1.0, parts, out=parts)


class MeasuredUsage(NamedTuple):
    """What was measured of nodes; arrays are [dimension, node]."""

    load: Floats
    """Where it is unknown, the mean of the nodes of which it is known; NaN where it is known of none."""
    unknown: Mask


def measured_of(load: Floats) -> MeasuredUsage:
    """Measured loads, NaN where they are unknown: such a node is taken to have as much as the others on average."""
    unknown = np.isnan(load)
    known = (~unknown).sum(axis=1, keepdims=True)
    mean = np.where(unknown, 0.0, load).sum(axis=1, keepdims=True) / np.where(known, known, np.nan)
    return MeasuredUsage(np.where(unknown, mean, load), unknown)


def loads(measured: MeasuredUsage, coming: Ints, has: Ints, requested: Ints, risk: Risk) -> Floats:
    """The loads of nodes: measured plus coming; of a dimension that is unknown, the requests if they are more.

    The sum may exceed 1, so that of two overloaded nodes the fuller one is known.

    ``coming`` is [4, node]: estimates of cpu and memory not measured yet, then the same for nodes at risk.
    """
    guessed = np.fmax(measured.load, filled(requested, has))
    calm = np.where(measured.unknown, guessed, measured.load + filled(coming[:DIMENSIONS], has))
    at_most = np.minimum(1.0, calm)
    at_risk = at_most[0] * risk.cpu + at_most[1] * risk.memory >= risk.threshold
    if not at_risk.any():
        return calm
    tense = np.where(measured.unknown, guessed, measured.load + filled(coming[DIMENSIONS:], has))
    return np.where(at_risk, tense, calm)


class Views(NamedTuple):
    """The arrays of ``loads`` as their ``data``: reading an element costs a third of numpy's time."""

    measured: View
    unknown: View
    coming: View
    has: View
    requested: View


def loads_row(of: Views, risk: Risk, row: int) -> tuple[float, float]:
    """``loads`` of one node."""
    cpu, memory = _load_row(of, 0, 0, row), _load_row(of, 1, 1, row)
    if min(1.0, cpu) * risk.cpu + min(1.0, memory) * risk.memory < risk.threshold:
        return cpu, memory
    return _load_row(of, 0, 2, row), _load_row(of, 1, 3, row)


def _load_row(of: Views, dimension: int, kind: int, row: int) -> float:
    has, load = of.has[dimension, row], of.measured[dimension, row]
    if not of.unknown[dimension, row]:
        total: float = load + (min(1.0, of.coming[kind, row] / has) if has > 0 else 1.0)
        return total
    asked: float = min(1.0, of.requested[dimension, row] / has) if has > 0 else 1.0
    return load if load > asked else asked  # a load of NaN is not more


def idleness(load: Floats, cpu: float, memory: float, scale: float) -> Floats:
    """Scores: ``scale`` times the weighted free fraction; weights add up to 1. Negative for overloaded nodes."""
    scores: Floats = ((1.0 - load[0]) * cpu + (1.0 - load[1]) * memory) * scale
    return scores


def idleness_row(load: tuple[float, float], cpu: float, memory: float, scale: float) -> float:
    """``idleness`` of one node."""
    return ((1.0 - load[0]) * cpu + (1.0 - load[1]) * memory) * scale
